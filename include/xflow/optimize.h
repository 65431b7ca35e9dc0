// Makes a model cheaper without changing what it computes.
//
//   xflow::OptimizeOptions options;
//   auto result = xflow::optimize(bytes_of_an_onnx_model, options);
//   if (!result) return report_error(result.error().text());
//   save(result->model);               // the original bytes where nothing was gained
//   print(result->report.to_text());
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/export.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

// The size of a dynamic input for costs and runs: all its dimensions. The model keeps its dynamic dimensions.
struct InputShape {
  std::string input;
  std::vector<std::int64_t> dims;
};
// "NAME:1,3,48,192". Error::invalid_argument for anything else.
XFLOW_API Result<InputShape> parse_input_shape(std::string_view text);

// Which results are written.
enum class Accept : std::uint8_t {
  faster,   // those that are faster
  smaller,  // also those that the clean-ups of <xflow/simplify.h> leave smaller, as long as nothing is measured slower
};

struct OptimizeOptions {
  // Where costs are measured: "cpu"; "cuda:N", a GPU (see devices() of <xflow/device.h>); "runner", the program of `runner`; or
  // "profile:FILE", a device that is not here (docs/cost.md, Profiles), on which nothing is run. Empty: in the runner if there is one, else
  // "cpu".
  std::string device;
  bool tf32 = false;                                      // on a GPU products and convolutions of float may round their operands to 10 bits
  std::uint64_t gpu_workspace = std::uint64_t{32} << 20;  // bytes that a kernel's library may use on a GPU beside its tensors
  // Threads of one kernel.
  int threads = 1;
  // What the caches of this CPU hold when a kernel is timed (docs/cost.md): "warm", all that it needs; "4MiB", "16MiB" or "64MiB", what is
  // left after a run through so much memory; "auto", whichever of these fits to the model.
  std::string caches = "auto";
  // Sizes of dynamic inputs. Without one an unknown first dimension is 1 and any other 128, which the report says. An input may be named
  // several times: costs are those at the first of its sizes, and at none of the others may the result be slower.
  std::vector<InputShape> shapes;
  // Files of inputs on which rewritten parts and whole models are run: .npz (arrays NAME or in__NAME, in2__NAME for a second set), .pb (a
  // TensorProto each), or folders of .pb files. Every set has the inputs without defaults, and its sizes are a choice of sizes, in the
  // place of `shapes`. None: seeded values.
  std::vector<std::string> inputs;
  // The search stops at the first budget that is used up. With a budget of states the search does the same in every
  // run; whether its result is shipped is measured (see gate).
  std::optional<double> max_seconds;        // wall clock; without any budget: 30 s
  std::optional<std::uint64_t> max_states;  // graphs costed
  // Of the whole call, which begins before the model is read: reading, lifting, pricing, searching, checking and running whole models. When
  // it ends, the best result that was checked and passed the gate is written, otherwise the original. Without: 5 minutes, or 10 times
  // max_seconds where that is more.
  std::optional<double> max_total_seconds;
  // Ends the call from another thread or a signal handler.
  CancellationToken cancel;
  // Bytes. No tensor larger than this is made, and the search ends where the process has more in memory. Without: half of what the machine
  // or the control group of this process has. 0: no limit.
  std::optional<std::uint64_t> max_memory;
  double alpha = 1.05;       // graphs that cost more than alpha times the best are not followed
  double max_growth = 0.05;  // of the bytes of all constants, as a factor of the original's
  // Folders or files of rules instead of those that are built in. Each rule is proved when it is loaded. A rule that is not proved is an
  // error (not_proved, which names the rule and says what was found instead), and nothing is optimised.
  std::vector<std::string> rules;
  std::vector<std::string> skip_rules;  // by name
  // What rules may do to floating point results: "exact" the same bits of each element, "rounding" the same up to rounding where inputs and
  // results are finite, "any" also infinities and not-a-number may change.
  std::string numbers = "rounding";
  bool fast_math = false;  // the same as numbers = "any"
  // The original and the result are run in turns, and the result is only shipped if it is faster. False: nothing is run from end to end,
  // and that the result is faster is predicted.
  bool gate = true;
  Accept accept = Accept::faster;
  // The program that runs models (docs/runner.md), as a command of the shell. Empty: the device runs them, by the kernels that were timed.
  std::string runner;
  double max_kernel_seconds = 300;  // wall clock, of timing kernels in the runner; what is not timed by then counts as not measurable
  double max_measure_seconds = 60;  // wall clock, of running whole models in turns
  // Folders that may hold external data of the model beside its own: what the model names by a symbolic link, an absolute path or ".." is
  // read where it leads to a regular file below one of them. Without them it is an error.
  std::vector<std::string> allow_external;
  // A file name relative to the folder of the output: all tensors of 1 KiB and more, and all external data of the model, are written to
  // that file. Empty: external data stays in its files, and only new tensors may go to a file of their own (docs/files.md).
  std::string save_as_external_data;
  // The file of measured costs; empty: measured anew, in memory.
  std::string cost_database;
  // Told what is odd but no error: a rule without proof, a cost database that cannot be written.
  std::function<void(const std::string&)> warning;
};

struct OptimizeProgress {
  std::string phase;         // "measuring", "searching", "checking", "running"
  std::uint64_t states = 0;  // graphs costed
  double original_nanoseconds = 0;
  double best_nanoseconds = 0;
  double seconds = 0;       // since the start
  double seconds_left = 0;  // until the time limit of the call

  XFLOW_API std::string to_text() const;  // one line
};
// Called a few times a second from the calling thread.
using ProgressCallback = std::function<void(const OptimizeProgress&)>;

// What was done, how it was measured, and why it stopped.
struct OptimizeReport {
  struct Step {
    std::string rule;
    std::string where;            // "node 'conv1' (Conv)": what it replaced in the original, or where the value came from
    double gain_nanoseconds = 0;  // negative: a step that costs and pays later
  };
  struct RuleCount {
    std::string rule;
    std::uint64_t matched = 0;
    std::uint64_t improved = 0;
    std::uint64_t applied = 0;
    std::string numbers = {};  // what the rule does to floating point results: "exact", "rounding: re-associates"; empty if built in
  };
  // A value that a rewrite made, executed against the value that it replaced.
  struct Region {
    std::string value;                 // its name in the original, or "inside node 'bn1' (BatchNormalization)"
    bool agrees = true;                // within tolerance at all sizes that were run
    std::string message;               // where it does not agree, or why it could not be executed
    std::uint64_t checked_values = 0;  // elements compared
    std::uint64_t values = 0;          // elements that it has; more than were compared where these are a sample
    double error = 0;                  // largest, relative to the largest magnitude of the reference (absolute where that is 0)
  };

  // The kernels whose times the search used.
  struct Kernels {
    std::uint64_t measured = 0;      // timed in this run for the first time
    std::uint64_t known = 0;         // found in the cost database
    std::uint64_t disturbed = 0;     // of both, timed while something slowed the machine by more than a tenth
    std::uint64_t again = 0;         // of these, timed again in this run
    std::uint64_t provisional = 0;   // of these, still not timed undisturbed: a later run will try
    double seconds = 0;              // that timing took, which the budget does not count
    std::uint64_t samples = 0;       // of timing; a kernel's time is the median of the best round of some
    std::uint64_t outliers = 0;      // of these, interrupted or half as long again as the median
    std::uint64_t recorded = 0;      // of a profile: answered with a measurement
    std::uint64_t modelled = 0;      // of a profile: by its model, because it does not hold them
    std::uint64_t refused = 0;       // measured and known ones that the device cannot run: the search does without them
    std::uint64_t failed = 0;        // of these, only because time was over, memory was short or the device was lost
    std::string failure = {};        // what the first of these was told
    std::uint64_t device_bytes = 0;  // the most memory of a GPU that was in use at a time, by runs of whole models as well
  };

  // The whole model, run in turns with the original.
  struct EndToEnd {
    // By one clock.
    struct Times {
      std::uint64_t faster = 0;  // pairs in which the result took less time than the original
      std::uint64_t slower = 0;
      double ratio = 1;  // of the result's time to the original's: the median of the pairs, and its 95 % interval
      double low = 1;
      double high = 1;
      double chance = 1;          // by the sign test, that a model which is not faster does so well
      std::vector<double> again;  // what was faster is run again with both set up anew: the ratios of these pairs alone
      double original_nanoseconds = 0;
      double result_nanoseconds = 0;
    };
    struct Comparison : Times {   // by `clock`
      std::string sizes;          // as in assumed_sizes, of all inputs
      std::string verdict;        // "faster", "equal", "slower", "undecided", "failed"
      std::uint64_t pairs = 0;    // of a sample of each
      std::uint64_t repeats = 1;  // runs of one sample
      // By the processor time of all threads, beside the wall clock and where it is known: the result is faster by one, not slower by the
      // other.
      std::optional<Times> processor;
      std::string stop_reason;
      std::string failure;  // empty unless it failed
    };
    bool run = false;
    std::string reason;  // why nothing was timed; empty if something was
    std::string device;  // "onnxruntime 1.31.1, CPUExecutionProvider, ..., 1 thread"
    std::string clock;   // "CPU time" or "wall time"
    std::vector<Comparison> comparisons;
    // Why other results were not shipped that were run, too: those before the one that was, or, if none was, those after the first.
    std::vector<std::string> others;
    // What later results were run against, each the one before it: "0.942 of the time of the result before [0.931, 0.957] in 39 pairs".
    std::vector<std::string> later;
    // Of how many values shapes were declared, and what that gained at each choice of sizes: "214, 0.942 of the time without
    // [0.931, 0.957] in 39 pairs". Empty where none are.
    std::string declared;
    // The share of the operations that were not run, because they are opaque or nothing here runs them; what is between them was.
    double share_not_run = 0;
    double seconds = 0;
  };

  // A rewrite that was taken back, because the part that it made did not agree with what it replaced. The search went on without it.
  struct Withdrawn {
    std::string rule;
    std::string where;    // as of a step
    std::string value;    // of the region
    std::string message;  // the difference
  };

  // The body of an If, Loop or Scan, optimised as a graph of its own.
  struct Body {
    std::string place;              // "body of node 'loop' (Loop)"
    std::uint64_t runs = 1;         // in one run of the model, where trip counts are known; one for each count that is not
    double before_nanoseconds = 0;  // of one run of the body, predicted; the model's own times have `runs` times as much of it
    double after_nanoseconds = 0;   // of the result, also where the body was left as it is
    std::uint64_t nodes_before = 0;
    std::uint64_t nodes_after = 0;
    bool improved = false;
    std::string reason = {};            // why it was left as it is
    std::vector<std::string> run = {};  // of the result by itself, where it was: "0.942 of the time of the body [0.931, 0.957] in 39 pairs"
  };

  // What the clean-ups of <xflow/simplify.h> remove from the model that is faster, or from the original where none is.
  struct Smaller {
    std::uint64_t nodes = 0;         // of `nodes_before`, which include bodies of nodes
    std::uint64_t nodes_before = 0;  // 0: the clean-ups were not tried, or leave the model as it is
    std::uint64_t bytes = 0;         // of stored constants
    bool written = false;            // with Accept::smaller
    std::string reason = {};         // why not, with Accept::smaller; or why the clean-ups did not end
  };

  bool improved = false;                   // false: the model is the original, byte for byte
  std::string reason;                      // why the original was kept; empty if improved
  std::string device;                      // "cpu: ..., 1 thread, oneDNN 2.6.3"
  std::vector<std::string> assumed_sizes;  // "x: [1, 3, 128, 128]" where the caller gave none
  // "r of node 'nms' (NonMaxSuppression): [128, 3]": results of opaque nodes with sizes that neither shape inference nor their readers
  // tell.
  std::vector<std::string> assumed_inner_sizes;
  // Declarations of the model that do not fit together, by the names of values and dimensions. No rewrite relies on them.
  std::vector<std::string> contradictions;
  std::string refused_sizes;      // why 1 and 128 were not assumed: what the model asks for; empty where they were
  double before_nanoseconds = 0;  // predicted time of one run: the sum of its kernels' measured times
  double after_nanoseconds = 0;   // of the result, also where it was slower when it was run and the original is kept
  std::uint64_t states = 0;       // graphs costed
  std::uint64_t expanded = 0;     // graphs whose rewrites were found
  std::string stop_reason;
  Kernels kernels;
  std::vector<Step> steps;
  std::vector<RuleCount> rules;    // those that matched
  std::uint64_t nodes_before = 0;  // of the main graph
  std::uint64_t nodes_after = 0;
  std::uint64_t nodes_kept = 0;    // written back byte for byte
  std::uint64_t nodes_merged = 0;  // equal to another node
  std::uint64_t constant_bytes_before = 0;
  std::uint64_t constant_bytes_after = 0;
  std::vector<std::string> opaque;  // "3 x no operator for com.microsoft.Foo": nodes that were not crossed
  std::vector<Region> regions;      // rewritten parts that were executed against what they replace
  std::vector<Withdrawn> withdrawn;
  std::vector<Body> bodies;
  std::vector<std::string>
      checked_sizes;  // at which they were: "x: [1, 3, 128, 128]", or "the declared sizes" where the model leaves none open
  std::vector<std::string> skipped_sizes;  // at which they could not be, with the reason
  EndToEnd end_to_end;
  Smaller smaller;
  double seconds = 0;

  XFLOW_API std::string to_text() const;  // for people
  XFLOW_API std::string to_json() const;  // the same, for programs
};

struct OptimizeResult {
  std::string model;  // ONNX bytes
  OptimizeReport report;
};

// Optimises an ONNX model given as bytes. External data cannot be found from bytes: use optimize_file. Errors: unreadable (the model, a
// file of inputs), invalid_argument (an option), unsupported (device).
XFLOW_API Result<OptimizeResult> optimize(std::string_view model, const OptimizeOptions& options = {},
                                          const ProgressCallback& progress = {});

// The same from file to file. `input` may be "-", standard input, and `output` "-", standard output, a pipe or a device. Whether `output`
// can be written is checked before the work begins; it is replaced in one step together with its external data, or left alone on any error
// (docs/files.md). A symbolic link as output is followed. Without an improvement the bytes of `input` are copied, but for the locations of
// external data that has to move. Errors as above; io, of the operating system; invalid_argument where `output` is external data of the
// model.
XFLOW_API Result<OptimizeReport> optimize_file(const std::string& input, const std::string& output, const OptimizeOptions& options = {},
                                               const ProgressCallback& progress = {});

}  // namespace xflow
