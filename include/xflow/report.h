// The report of an optimisation: rewrites, measurements, stop reasons; and functions that write it.
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/rules.h>
#include <xflow/time.h>
#include <xflow/trace.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

// Assumptions about sizes that the model leaves open, for costs and runs.
struct SizesReport {
  std::vector<std::string> assumed;  // "x: [1, 3, 128, 128]", for inputs without a size from the caller
  // "r of node 'nms' (NonMaxSuppression): [128, 3]": results of opaque nodes whose sizes follow neither from
  // shape inference nor from their readers.
  std::vector<std::string> assumed_inner;
  std::string refused;  // why the defaults 1 and 128 were not assumed; empty if they were
  // Contradictory declarations of the model, by the names of values and dimensions. No rewrite relies on
  // them.
  std::vector<std::string> contradictions;
};

// Predicted times of one run: the sums of the measured times of the kernels.
struct PredictedTimes {
  Nanoseconds before{};  // of the original
  Nanoseconds after{};   // of the result, even if the gate found it slower and the original is kept
};

// A rewrite on the path to the result.
struct RewriteStep {
  std::string rule;    // its name, or that of a built-in simplification
  std::string where;   // "node 'conv1' (Conv)": the replaced node of the original, or the origin of the value
  Nanoseconds gain{};  // predicted time saved; negative for a step that pays later
};

// How often a rule or a built-in simplification was used (docs/search.md, *The report*).
struct RuleCount {
  std::string rule;                             // its name, or that of a built-in simplification
  std::uint64_t matched = 0;                    // occurrences found
  std::uint64_t improved = 0;                   // occurrences that saved time when first costed
  std::uint64_t applied = 0;                    // steps on the path to the result
  std::optional<FloatClass> float_class = {};   // empty for built-in simplifications
  std::vector<std::string> float_effects = {};  // reasons for the class, as RuleInfo::float_effects
  std::string equation = {};                    // as RuleInfo::equation; empty for built-in simplifications
};

// How far the result may be from the best that the rules reach. All graphs that rewrites inside a part of
// the model reach were visited, whatever they cost; parts do not overlap. A part with too many of them for
// the budget is open, and counts as if it took no time. Rewrites and kernels across parts are left out.
struct GapReport {
  std::string reason = {};       // why there is no bound; empty if there is one
  Nanoseconds lower_bound{};     // predicted, with the bodies as they are in the result
  std::uint64_t parts = 0;       // number of parts
  std::uint64_t open_parts = 0;  // parts with too many graphs for the budget
  Nanoseconds open_time{};       // predicted time of the open parts in the original
  std::uint64_t states = 0;      // number of graphs costed for it, beside SearchReport::states
  Nanoseconds body_time{};       // predicted time of the bodies, which is part of the lower bound

  // How far a predicted time is above the lower bound, as a fraction of the bound: 0.031 is 3.1 %. 0 if it
  // is below, by rewrites across parts. Nothing without a bound, and if it is more than 1.
  XFLOW_API std::optional<double> above(Nanoseconds time) const;
};

// Why a search ended.
enum class StopReason : std::uint8_t {
  exhausted,      // every graph within alpha of the best was expanded
  ended,          // the strategy returned (SearchOptions::strategy, own_strategy)
  replayed,       // the rewrites of a trace were applied (SearchOptions::replay)
  max_states,     // SearchOptions::max_states was reached
  max_time,       // SearchOptions::max_time was reached
  costs_changed,  // kernels were timed again, and nothing was left to search with their new times
  time_limit,     // the search's share of OptimizeOptions::time_limit was used up
  memory_limit,   // OptimizeOptions::max_memory was reached
  search_memory,  // no state was left but those dropped because of SearchOptions::max_bytes
  cancelled,      // by OptimizeOptions::cancel
};
// Returns the reason, for people.
constexpr const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::exhausted:
      return "no state left within alpha of the best";
    case StopReason::ended:
      return "end of the strategy";
    case StopReason::replayed:
      return "end of the trace";
    case StopReason::max_states:
      return "budget of states used up";
    case StopReason::max_time:
      return "budget of time used up";
    case StopReason::costs_changed:
      return "costs changed";
    case StopReason::time_limit:
      return "time limit";
    case StopReason::memory_limit:
      return "memory limit";
    case StopReason::search_memory:
      return "no state left in the memory of the search";
    case StopReason::cancelled:
      return "interrupted";
  }
  return "";
}

// A graph that was the best so far when the search found it.
struct BestGraph {
  Seconds time{};            // since the start of the search, without timing kernels
  std::uint64_t states = 0;  // number of graphs costed until then
  Nanoseconds predicted{};   // time of a run
};

// What the rewrites of a part of the main graph gain. Parts do not overlap, and are those of the kernels:
// two kernels are in one part if one reads what the other computes, or both compute equal values.
struct PartGain {
  std::vector<std::size_t> steps;  // numbers of the steps in SearchReport::steps at the part
  PredictedTimes time;             // of the kernels in which original and result differ
  // The interval that has the gain, time.before - time.after, with a probability of 90 %. Prices that were
  // measured have an error of 1 %, those of a model the error that it has for kernels which it does not
  // know.
  Nanoseconds low{};           // its lower end
  Nanoseconds high{};          // its upper end
  double sureness = 1;         // the probability that the gain is positive
  std::uint64_t kernels = 0;   // different kernels in which original and result differ
  std::uint64_t modelled = 0;  // those of them that were not timed, but have the price of a model
};

// A rewrite that was left out because its gain is not sure (SearchOptions::confidence).
struct UnsureRewrite {
  std::string rule;     // its name
  std::string where;    // as RewriteStep::where
  Nanoseconds gain{};   // predicted, of the part of the graph
  double sureness = 0;  // the probability that this gain is positive
};

// What the search did.
struct SearchReport {
  std::uint64_t states = 0;               // number of graphs costed
  std::uint64_t expanded = 0;             // number of graphs whose rewrites were all tried
  std::optional<StopReason> stop_reason;  // empty if no search was begun
  std::vector<RewriteStep> steps;         // the rewrites that lead to the result, in their order
  std::vector<RuleCount> rules;           // rules that matched
  std::vector<PartGain> gains;            // of the rewritten parts, the surest first
  std::vector<UnsureRewrite> unsure;      // rewrites that were left out
  std::optional<GapReport> gap = {};      // of the main graph's first search
  // The best graphs over time of the main graph's first search, the original first. Of more than 200 some
  // are left out. Times measured later may differ from those that a graph had when it was found.
  std::vector<BestGraph> best;
  Seconds time{};  // of the main graph's searches, without timing kernels
};

// The kernels whose times the search used.
struct KernelReport {
  std::uint64_t measured = 0;           // kernels timed for the first time in this run
  std::uint64_t known = 0;              // kernels found in the cost database
  std::uint64_t with_interference = 0;  // measured or known kernels timed under interference of more than a tenth
  std::uint64_t timed_again = 0;        // kernels with interference that were timed again in this run
  std::uint64_t provisional = 0;        // kernels with interference without a better time so far; a later run tries again
  Seconds time{};                       // time spent on timing kernels, which the search budget does not count
  std::uint64_t samples = 0;            // samples of all timings
  std::uint64_t outliers = 0;           // samples that were interrupted or took at least 1.5 times the median
  std::uint64_t recorded = 0;           // with a profile: kernels with a recorded time
  std::uint64_t modelled = 0;           // with a profile: kernels with a modelled time
  std::uint64_t left_out = 0;           // kernels that were not timed, since their expected times decided
  std::uint64_t refused = 0;            // measured and known kernels that the device cannot run; the search avoids them
  std::uint64_t failed = 0;             // refused kernels for lack of time or memory, or after the device was lost
  std::string failure = {};             // the message of the first failed kernel
  std::uint64_t device_bytes = 0;       // peak memory of a GPU in use, runs of whole models included
};

// The launches of a kernel in a run of the main graph, and their predicted times.
struct KernelChange {
  std::string kernel;        // its text (docs/cost.md, *Kernels*)
  std::uint64_t before = 0;  // launches in a run of the original
  std::uint64_t after = 0;   // launches in a run of the result
  PredictedTimes time;       // of all launches
};

// Nodes of the main graph.
struct NodeCounts {
  std::uint64_t before = 0;  // in the original
  std::uint64_t after = 0;   // in the result
  std::uint64_t kept = 0;    // nodes written back byte for byte
  std::uint64_t merged = 0;  // nodes merged with an equal node
};

// How many nodes of the main graph have an operator.
struct OperatorChange {
  std::string op;            // "Conv", or "com.microsoft.Gelu" outside of ONNX's own domain
  std::uint64_t before = 0;  // nodes in the original
  std::uint64_t after = 0;   // nodes in the result
};

// Bytes of all constants.
struct ConstantBytes {
  std::uint64_t before = 0;  // in the original
  std::uint64_t after = 0;   // in the result
};

// Bytes of the model and of its external data.
struct StoredBytes {
  std::uint64_t before = 0;  // of the original
  std::uint64_t after = 0;   // of the result
};

// Number of elements of all initializers, those of bodies included.
struct ParameterCounts {
  std::uint64_t before = 0;  // in the original
  std::uint64_t after = 0;   // in the result
};

// A node of a rewritten part.
struct PartNode {
  std::string name;                  // may be empty
  std::string op;                    // as OperatorChange::op
  std::vector<std::string> inputs;   // names of values; "" for an omitted one
  std::vector<std::string> outputs;  // likewise
};

// Nodes of the main graph that the result does not have, and what it has in their place. Nodes that only
// read another value, because the one that they read is made elsewhere, are not listed. Two nodes are in one
// part if one reads what the other computes, or both compute the same value.
struct RewrittenPart {
  std::vector<PartNode> before;    // of the original
  std::vector<PartNode> after;     // of the result
  std::vector<std::size_t> steps;  // numbers of the steps in SearchReport::steps at one of these nodes
};

// The comparison of a rewritten value with the value that it replaces.
struct CheckedRegion {
  std::string value;                 // its name in the original, or "inside node 'bn1' (BatchNormalization)"
  bool agrees = true;                // within tolerance at all sizes
  std::string message;               // the difference, or why the value could not be evaluated
  std::uint64_t checked_values = 0;  // number of elements compared
  std::uint64_t values = 0;          // number of elements of the value; larger than checked_values for a sample
  // Largest difference, relative to the largest magnitude of the reference (absolute if that is 0).
  double error = 0;
};

// A rewrite that was withdrawn because its result did not agree with the part that it replaced. The search
// continued without it.
struct WithdrawnRewrite {
  std::string rule;     // its name
  std::string where;    // as RewriteStep::where
  std::string value;    // the value that differs
  std::string message;  // the difference
};

// The checks of rewritten parts against the parts that they replace.
struct RegionsReport {
  std::vector<CheckedRegion> checked;  // in the order of the checks
  // The sizes of the checks: "x: [1, 3, 128, 128]", or "the declared sizes" if the model leaves none open.
  std::vector<std::string> sizes;
  std::vector<std::string> skipped_sizes;   // sizes without checks, with the reason
  std::vector<WithdrawnRewrite> withdrawn;  // rewrites that did not agree
  Seconds time{};                           // of checking regions of the main graph
};

// The gate's verdict on a result (docs/cost.md, *The gate*).
enum class GateVerdict : std::uint8_t {
  faster,     // by the sign test
  equal,      // no difference by the sign test, and the interval of the ratio ends below 1.02
  slower,     // by the sign test
  undecided,  // too few pairs, or too much noise to exclude that it is slower
  failed,     // one of the models could not be run
};
// Returns the name of a verdict: "faster", "undecided".
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

// Why a comparison of the gate ended.
enum class GateStop : std::uint8_t {
  decided,         // by the sign test
  not_reproduced,  // not faster after both models were set up again
  pairs,           // all pairs were run
  time,            // ValidationOptions::max_measure_time was used up
  unconfirmed,     // the same, after the result was faster in its first set-up
  failure,         // GateComparison::failure
};
// Returns the reason, for people.
constexpr const char* to_string(GateStop stop) {
  switch (stop) {
    case GateStop::decided:
      return "decided by the sign test";
    case GateStop::not_reproduced:
      return "it was not faster when both had been set up again";
    case GateStop::pairs:
      return "all pairs were run";
    case GateStop::time:
      return "the budget of time was used up";
    case GateStop::unconfirmed:
      return "the budget of time was used up before both could be set up again";
    case GateStop::failure:
      return "failure";
  }
  return "";
}

// The clock that measures runs of whole models.
enum class Clock : std::uint8_t {
  wall_time,        // includes time in which other processes have the processor
  cpu_time,         // processor time of a process
  thread_cpu_time,  // processor time of one thread
  device_time,      // the clock of a GPU
};
// Returns the name of a clock: "wall time".
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

// Times of the result and the original in pairs of runs, by one clock.
struct PairedTimes {
  std::uint64_t faster = 0;  // pairs in which the result took less time than the original
  std::uint64_t slower = 0;  // pairs in which it took more
  double ratio = 1;          // median over the pairs of the result's time divided by the original's
  double low = 1;            // lower end of the 95 % interval of the ratio
  double high = 1;           // upper end
  double p_value = 1;        // p-value of the sign test
  // Ratios of the confirmations of a faster result, each with both models set up again.
  std::vector<double> confirmations;
  Nanoseconds original{};  // median time of one run
  Nanoseconds result{};    // median time of one run
};

// The comparison at one choice of sizes. The inherited times are by GateReport::clock.
struct GateComparison : PairedTimes {
  std::string sizes;                             // sizes of all inputs, as in SizesReport::assumed
  GateVerdict verdict = GateVerdict::undecided;  // of the comparison
  std::uint64_t pairs = 0;                       // number of pairs of samples
  std::uint64_t repeats = 1;                     // runs in a sample
  // Processor time of all threads, if the runner gives it beside the wall clock. The result must be faster
  // by one clock and not slower by the other.
  std::optional<PairedTimes> processor;
  GateStop stop_reason = GateStop::pairs;  // why it ended
  std::string failure;                     // empty unless the verdict is failed
};

// Runs of the whole model in pairs with the original.
struct GateReport {
  bool run = false;                         // whether whole models were run
  std::string reason;                       // why nothing was timed; empty if `run`
  std::string device;                       // "onnxruntime 1.31.1, CPUExecutionProvider, ..., 1 thread"
  Clock clock = Clock::wall_time;           // that the comparisons use
  std::vector<GateComparison> comparisons;  // one for each choice of sizes
  // Rejected candidates, with reasons: those before the written one or, if none was written, those after the
  // first.
  std::vector<std::string> others;
  // Comparisons of later results, each with the result before it: "0.942 of the time of the result before
  // [0.931, 0.957] in 39 pairs".
  std::vector<std::string> later;
  // Number of values with declared shapes, and the gain at each choice of sizes:
  // "214, 0.942 of the time without [0.931, 0.957] in 39 pairs". Empty if no shapes are declared.
  std::string declared;
  // Share of the operations that did not run, because they are opaque or the device lacks them. The parts
  // between them ran.
  double share_not_run = 0;
  Seconds time{};  // wall clock of the gate
};

// The body of an If, Loop or Scan, which is optimised as a separate graph.
struct BodyReport {
  std::string place;               // "body of node 'loop' (Loop)"
  std::uint64_t runs = 1;          // runs of the body in one run of the model; an unknown trip count counts as 1
  PredictedTimes predicted;        // of one run of the body; the model's times include `runs` times as much
  std::uint64_t nodes_before = 0;  // in the original
  std::uint64_t nodes_after = 0;   // in the result
  bool improved = false;           // whether the body was rewritten
  std::string reason = {};         // why the body stays as it is
  // Gate results of the body alone, if it was run: "0.942 of the time of the body [0.931, 0.957] in 39
  // pairs".
  std::vector<std::string> run = {};
};

// Savings by the clean-ups of <xflow/simplify.h>, applied to the faster model, or to the original if there
// is none.
struct CleanUpReport {
  std::uint64_t nodes = 0;         // removed nodes, out of `nodes_before`
  std::uint64_t nodes_before = 0;  // bodies of nodes included; 0 if nothing was tried or nothing can be removed
  std::uint64_t bytes = 0;         // removed bytes of stored constants
  bool written = false;            // with Accept::smaller: the smaller model was written
  std::string reason = {};         // with Accept::smaller: why it was not; or why the clean-ups did not finish
};

// What an optimisation did.
struct OptimizeReport {
  bool improved = false;     // false: the model is the original, byte for byte
  std::string reason;        // why the original was kept; empty if improved
  std::string device;        // "cpu: ..., 1 thread, oneDNN 2.6.3"
  SizesReport sizes;         // assumptions about open sizes
  PredictedTimes predicted;  // of one run of the model
  SearchReport search;       // of the main graph
  KernelReport kernels;      // whose times were used
  // The kernels of the main graph that the device can run, the longest before first. What built-in
  // simplifications remove is not among them. Empty with `replayed`.
  std::vector<KernelChange> kernel_changes;
  NodeCounts nodes;                       // of the main graph
  std::vector<OperatorChange> operators;  // sorted by name; empty for a graph built in code
  std::vector<RewrittenPart> parts;       // in the order of the original; empty for a graph built in code
  ConstantBytes constant_bytes;           // of the model
  StoredBytes file_bytes;                 // 0 for a graph built in code; `after` is 0 for a result on standard output
  ParameterCounts parameters;             // 0 for a graph built in code
  std::vector<std::string> opaque;        // "3 x no operator for com.microsoft.Foo": nodes that rewrites do not cross
  RegionsReport regions;                  // checks of rewritten parts
  GateReport gate;                        // runs of whole models
  std::vector<BodyReport> bodies;         // of If, Loop and Scan
  CleanUpReport clean_ups;                // needless nodes that were removed
  bool replayed = false;                  // the rewrites are those of a trace: nothing was searched or timed, and all times are 0
  Trace trace;                            // what SearchOptions::replay needs to make the result again
  std::string command;                    // the command line that repeats the run; empty if no command was run
  Seconds time{};                         // wall clock of the whole call

  // The report for people.
  XFLOW_API std::string to_text() const;
  // The report for programs (docs/optimize-report.schema.json).
  XFLOW_API std::string to_json() const;
  // The report as a page for browsers: one file of HTML and CSS that loads nothing. Rewritten parts are
  // drawn by the program dot of Graphviz, which is looked for in PATH; without it they are lines of text.
  XFLOW_API std::string to_html() const;
};

// The inverse of OptimizeReport::to_json. Errors: invalid_argument for any other text.
XFLOW_API Result<OptimizeReport> parse_report(std::string_view json);

// Whether the path `output` is standard output, which then must carry the model alone.
XFLOW_API bool is_standard_output(const std::string& output);

// Checks before the work begins that the report can be written, and that it does not replace the input, the
// output or external data of either. Links to these files are recognised, and so are files that do not exist
// yet. `external_data`: as OutputOptions::save_as_external_data of <xflow/optimize.h>. `allow_external`: as
// InputOptions::allow_external. Errors: invalid_argument if the report would replace one of the files; io if
// it cannot be written.
XFLOW_API Result<void> check_report_path(const std::string& report, const std::string& input, const std::string& output,
                                         const std::string& external_data, const std::vector<std::string>& allow_external);

// Whether a report with this path is a page (OptimizeReport::to_html): it ends with .html or .htm.
XFLOW_API bool is_page(const std::string& path);

// Writes a report (OptimizeReport::to_json or to_html) to a file in one step. Errors: io.
XFLOW_API Result<void> write_report(const std::string& path, const std::string& report);

}  // namespace xflow
