// What an optimisation did, how that was measured and why it stopped; and where its report may go.
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xflow {

// Sizes that the model leaves open, and what was assumed of them for costs and runs.
struct SizesReport {
  std::vector<std::string> assumed;  // "x: [1, 3, 128, 128]" where the caller gave none
  // "r of node 'nms' (NonMaxSuppression): [128, 3]": results of opaque nodes with sizes that neither shape inference
  // nor their readers tell.
  std::vector<std::string> assumed_inner;
  std::string refused;  // why 1 and 128 were not assumed: what the model asks for; empty where they were
  // Declarations of the model that do not fit together, by the names of values and dimensions. No rewrite relies on
  // them.
  std::vector<std::string> contradictions;
};

// A time before and after, of one run, predicted: the sum of its kernels' measured times.
struct PredictedTimes {
  Nanoseconds before{};
  Nanoseconds after{};  // of the result, also where it was slower when it was run and the original is kept
};

// One rewrite of the result.
struct RewriteStep {
  std::string rule;
  std::string where;   // "node 'conv1' (Conv)": what it replaced in the original, or where the value came from
  Nanoseconds gain{};  // negative: a step that costs and pays later
};

struct RuleCount {
  std::string rule;
  std::uint64_t matched = 0;
  std::uint64_t improved = 0;
  std::uint64_t applied = 0;
  std::string numbers = {};  // what the rule does to floating point results: "exact", "rounding: re-associates"; empty if built in
};

struct SearchReport {
  std::uint64_t states = 0;    // graphs costed
  std::uint64_t expanded = 0;  // graphs whose rewrites were found
  std::string stop_reason;
  std::vector<RewriteStep> steps;
  std::vector<RuleCount> rules;  // those that matched
};

// The kernels whose times the search used.
struct KernelReport {
  std::uint64_t measured = 0;      // timed in this run for the first time
  std::uint64_t known = 0;         // found in the cost database
  std::uint64_t disturbed = 0;     // of both, timed while something slowed the machine by more than a tenth
  std::uint64_t again = 0;         // of these, timed again in this run
  std::uint64_t provisional = 0;   // of these, still not timed undisturbed: a later run will try
  Seconds time{};                  // that timing took, which the budget does not count
  std::uint64_t samples = 0;       // of timing; a kernel's time is the median of the best round of some
  std::uint64_t outliers = 0;      // of these, interrupted or half as long again as the median
  std::uint64_t recorded = 0;      // of a profile: answered with a measurement
  std::uint64_t modelled = 0;      // of a profile: by its model, because it does not hold them
  std::uint64_t refused = 0;       // measured and known ones that the device cannot run: the search does without them
  std::uint64_t failed = 0;        // of these, only because time was over, memory was short or the device was lost
  std::string failure = {};        // what the first of these was told
  std::uint64_t device_bytes = 0;  // the most memory of a GPU that was in use at a time, by runs of whole models as well
};

// Nodes of the main graph.
struct NodeCounts {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::uint64_t kept = 0;    // written back byte for byte
  std::uint64_t merged = 0;  // equal to another node
};

// Bytes of all constants.
struct ConstantBytes {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

// A value that a rewrite made, executed against the value that it replaced.
struct CheckedRegion {
  std::string value;                 // its name in the original, or "inside node 'bn1' (BatchNormalization)"
  bool agrees = true;                // within tolerance at all sizes that were run
  std::string message;               // where it does not agree, or why it could not be executed
  std::uint64_t checked_values = 0;  // elements compared
  std::uint64_t values = 0;          // elements that it has; more than were compared where these are a sample
  double error = 0;                  // largest, relative to the largest magnitude of the reference (absolute where that is 0)
};

// A rewrite that was taken back, because the part that it made did not agree with what it replaced. The search went on
// without it.
struct WithdrawnRewrite {
  std::string rule;
  std::string where;    // as of a step
  std::string value;    // of the region
  std::string message;  // the difference
};

// Rewritten parts that were executed against what they replace.
struct RegionsReport {
  std::vector<CheckedRegion> checked;
  // At which sizes: "x: [1, 3, 128, 128]", or "the declared sizes" where the model leaves none open.
  std::vector<std::string> sizes;
  std::vector<std::string> skipped_sizes;  // at which they could not be, with the reason
  std::vector<WithdrawnRewrite> withdrawn;
};

enum class GateVerdict : std::uint8_t {
  faster,     // the sign test says so
  equal,      // neither faster nor slower, and hardly slower as far as the interval says
  slower,     // the sign test says so
  undecided,  // too few pairs, or too much noise to exclude that it is slower
  failed,     // one of the two could not be run
};
constexpr const char* to_string(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::faster:
      return "faster";
    case GateVerdict::equal:
      return "equal";
    case GateVerdict::slower:
      return "slower";
    case GateVerdict::undecided:
      return "undecided";
    case GateVerdict::failed:
      return "failed";
  }
  return "";
}

// What measures the runs of whole models.
enum class Clock : std::uint8_t {
  wall_time,        // goes on while others have the processor
  cpu_time,         // of a process
  thread_cpu_time,  // of one thread
  device_time,      // of a GPU's own clock
};
constexpr const char* to_string(Clock clock) {
  switch (clock) {
    case Clock::wall_time:
      return "wall time";
    case Clock::cpu_time:
      return "CPU time";
    case Clock::thread_cpu_time:
      return "thread CPU time";
    case Clock::device_time:
      return "device time";
  }
  return "";
}

// The result and the original, run in pairs, by one clock.
struct PairedTimes {
  std::uint64_t faster = 0;  // pairs in which the result took less time than the original
  std::uint64_t slower = 0;
  double ratio = 1;  // of the result's time to the original's: the median of the pairs, and its 95 % interval
  double low = 1;
  double high = 1;
  double p_value = 1;         // of the sign test: the chance that a model which is not faster does so well
  std::vector<double> again;  // what was faster is confirmed with both set up again: the ratios of these pairs alone
  Nanoseconds original{};     // the median of one run
  Nanoseconds result{};
};

// At one choice of sizes.
struct GateComparison : PairedTimes {  // by GateReport::clock
  std::string sizes;                   // as in SizesReport::assumed, of all inputs
  GateVerdict verdict = GateVerdict::undecided;
  std::uint64_t pairs = 0;    // of a sample of each
  std::uint64_t repeats = 1;  // runs of one sample
  // By the processor time of all threads, beside the wall clock and where it is known: the result is faster by one, not
  // slower by the other.
  std::optional<PairedTimes> processor;
  std::string stop_reason;
  std::string failure;  // empty unless it failed
};

// The whole model, run in turns with the original.
struct GateReport {
  bool run = false;
  std::string reason;  // why nothing was timed; empty if something was
  std::string device;  // "onnxruntime 1.31.1, CPUExecutionProvider, ..., 1 thread"
  Clock clock = Clock::wall_time;
  std::vector<GateComparison> comparisons;
  // Why other results were not shipped that were run, too: those before the one that was, or, if none was, those after
  // the first.
  std::vector<std::string> others;
  // What later results were run against, each the one before it: "0.942 of the time of the result before
  // [0.931, 0.957] in 39 pairs".
  std::vector<std::string> later;
  // Of how many values shapes were declared, and what that gained at each choice of sizes: "214, 0.942 of the time
  // without [0.931, 0.957] in 39 pairs". Empty where none are.
  std::string declared;
  // The share of the operations that were not run, because they are opaque or nothing here runs them; what is between
  // them was.
  double share_not_run = 0;
  Seconds time{};
};

// The body of an If, Loop or Scan, optimised as a graph of its own.
struct BodyReport {
  std::string place;         // "body of node 'loop' (Loop)"
  std::uint64_t runs = 1;    // in one run of the model, where trip counts are known; one for each count that is not
  PredictedTimes predicted;  // of one run of the body; the model's own times have `runs` times as much of it
  std::uint64_t nodes_before = 0;
  std::uint64_t nodes_after = 0;
  bool improved = false;
  std::string reason = {};            // why it was left as it is
  std::vector<std::string> run = {};  // of the result by itself, where it was: "0.942 of the time of the body [0.931, 0.957] in 39 pairs"
};

// What the clean-ups of <xflow/simplify.h> remove from the model that is faster, or from the original where none is.
struct CleanUpReport {
  std::uint64_t nodes = 0;         // of `nodes_before`, which include bodies of nodes
  std::uint64_t nodes_before = 0;  // 0: the clean-ups were not tried, or leave the model as it is
  std::uint64_t bytes = 0;         // of stored constants
  bool written = false;            // with Accept::smaller
  std::string reason = {};         // why not, with Accept::smaller; or why the clean-ups did not end
};

struct OptimizeReport {
  bool improved = false;  // false: the model is the original, byte for byte
  std::string reason;     // why the original was kept; empty if improved
  std::string device;     // "cpu: ..., 1 thread, oneDNN 2.6.3"
  SizesReport sizes;
  PredictedTimes predicted;
  SearchReport search;
  KernelReport kernels;
  NodeCounts nodes;
  ConstantBytes constant_bytes;
  std::vector<std::string> opaque;  // "3 x no operator for com.microsoft.Foo": nodes that were not crossed
  RegionsReport regions;
  GateReport gate;
  std::vector<BodyReport> bodies;
  CleanUpReport clean_ups;
  Seconds time{};

  XFLOW_API std::string to_text() const;  // for people
  XFLOW_API std::string to_json() const;  // the same, for programs
};

// Whether a model that is written to `output` goes to standard output, so that everything else must not.
XFLOW_API bool is_standard_output(const std::string& output);

// Checks before the work that the report can be written and takes the place of nothing that the run reads or writes: the input and its
// external data, the output and its external data; through links as well, and also where a file does not exist yet. `external_data`: as
// OutputOptions::save_as_external_data of <xflow/optimize.h>, and `allow_external`: as InputOptions::allow_external. Errors:
// invalid_argument; io where it cannot be written.
XFLOW_API Result<void> check_report_path(const std::string& report, const std::string& input, const std::string& output,
                                         const std::string& external_data, const std::vector<std::string>& allow_external);

// Writes the report, as JSON, in one step. Errors: io.
XFLOW_API Result<void> write_report(const std::string& path, const std::string& json);

}  // namespace xflow
