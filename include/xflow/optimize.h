// Makes a model cheaper without changing what it computes.
//
//   xflow::OptimizeOptions options;
//   auto result = xflow::optimize(bytes_of_an_onnx_model, options);
//   if (!result) return report_error(result.error().text());
//   save(result->model);               // the original bytes if nothing was gained
//   print(result->report.to_text());
#pragma once

#include <xflow/cancel.h>
#include <xflow/device.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/input_shape.h>
#include <xflow/numerics.h>
#include <xflow/report.h>
#include <xflow/search_strategy.h>
#include <xflow/time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

// How the model is read and which inputs it runs on.
struct InputOptions {
  // Sizes of dynamic inputs. By default an unknown first dimension is 1 and any other 128, and the report
  // says so. An input may be named several times: costs are computed at the first of its sizes, and the
  // result must not be slower at any of the others.
  std::vector<InputShape> shapes;
  // Files of inputs for the checks of rewritten parts and the runs of whole models: .npz (arrays NAME or
  // in__NAME, in2__NAME for a second set), .pb (one TensorProto each), or folders of .pb files. Each set
  // must contain all inputs without defaults. Its sizes are a choice of sizes and replace `shapes`. Empty:
  // seeded values.
  std::vector<std::string> files;
  // More folders that may hold external data of the model. A symbolic link, an absolute path or ".." in the
  // model is admitted if it leads to a regular file below one of the folders, and is an error otherwise
  // (docs/files.md).
  std::vector<std::string> allow_external;
  // Sizes that the result declares for dynamic inputs. The model is rewritten with them first, so that it is
  // optimised for them and takes no others. An input may be named once.
  std::vector<InputShape> fixed_shapes;
};

// How the search goes on, and which rewrites it has.
struct SearchOptions {
  // The search stops when the first budget is used up. With a budget of states the search is the same in
  // every run. The gate measures whether its result is written (ValidationOptions::gate).
  std::optional<Seconds> max_time;          // wall clock, without timing kernels; 30 s if there is no budget at all
  std::optional<std::uint64_t> max_states;  // number of graphs costed
  Strategy strategy = Strategy::automatic;  // the order in which rewrites are tried
  // A strategy of the caller, used instead of `strategy`. It is called from the calling thread, once for
  // each search of a graph (a result is searched again, and so are the bodies of nodes).
  std::shared_ptr<SearchStrategy> own_strategy = nullptr;
  // The rewrites of an earlier call, applied instead of a search (docs/search.md, *Traces*). Nothing is
  // timed. The result is written after the rewritten parts have been executed.
  std::optional<Trace> replay = {};
  // Graphs that cost more than alpha times the best are dropped. At least 1.
  double alpha = 1.05;
  // Bytes that all constants together may grow by: this fraction of the original's, or this number,
  // whichever is more. At least 0.
  double max_growth = 0.05;
  std::uint64_t max_growth_bytes = 64U << 10U;  // see max_growth
  // Memory in bytes for the states of the search and its cached rewrites. When they take more, the expensive
  // half of the states to expand is dropped; an own_strategy ends then. OptimizeOptions::max_memory bounds
  // the process as a whole.
  std::uint64_t max_bytes = 1U << 30U;
  // Folders or files of rules that replace the built-in ones. Each rule is proved when it is loaded. A rule
  // that is not proved is an error (not_proved, with the rule and the verdict), and nothing is optimised.
  std::vector<std::string> rules;
  std::vector<std::string> skip_rules;  // names of rules that are not applied
  // Rules as text (docs/rules.md) that replace the built-in ones and `rules`, with the same guarantee. To
  // use rules together with the built-in ones, put RuleSet::shipped()->text() of <xflow/rules.h> in front.
  std::optional<std::string> rule_text;
  Numerics numerics = Numerics::rounding;  // how rewrites may change floating point results
  // The probability, above 0.5 and below 1, with which the predicted gain of each rewritten part must be
  // positive (PartGain::sureness). Rewrites of other parts are left out, and the search goes on without
  // them. Nothing: each gain counts as it is predicted.
  std::optional<double> confidence = {};
  // Whether a bound on the best graph is looked for (SearchReport::gap): as many graphs again as max_states
  // are costed for it, or the last tenth of max_time is spent on it. Nothing: where the device has a price
  // for every kernel and none has to be measured, which is a profile.
  std::optional<bool> gap = {};
  // Threads that visit the parts of this bound, from 1 to 1024. The result is the same with every number of
  // them, but with a budget of time more threads may visit more. More than one are used with a profile only:
  // other devices are not called from several threads.
  int threads = 1;
};

// How a result is measured before it is written.
struct ValidationOptions {
  // True: the original and the result run in pairs, and the result is written only if it is faster. False:
  // whole models are not run, and the predicted time decides.
  bool gate = true;
  Seconds max_measure_time{60};  // wall clock for running whole models
};

// The condition for writing a result.
enum class Accept : std::uint8_t {
  faster,   // the result is faster
  smaller,  // also if the clean-ups of <xflow/simplify.h> make it smaller and it is not measured to be slower
};

// Which results are written, and where external data goes.
struct OutputOptions {
  Accept accept = Accept::faster;  // the condition for writing a result
  // File name relative to the folder of the output. All tensors of 1 KiB and more and all external data of
  // the model are written to this file. Empty: external data stays in its files, and new tensors may go to
  // another file (docs/files.md).
  std::string save_as_external_data;
};

// The options of optimize.
struct OptimizeOptions {
  InputOptions input;            // the model and its inputs
  SearchOptions search;          // the search
  DeviceOptions device;          // kernel times and runs
  ValidationOptions validation;  // measuring the result
  OutputOptions output;          // writing the result
  // Wall clock of the whole call, from reading the model to running whole models. At the limit the best
  // result that was checked and passed the gate is written, otherwise the original. Default: 5 minutes, or
  // 10 times search.max_time if that is more.
  std::optional<Seconds> time_limit;
  // Bytes. No larger tensor is created, and the search ends when the process uses more. Default: half of the
  // memory of the machine or of the control group of this process. 0: no limit.
  std::optional<std::uint64_t> max_memory;
  // Cancels the call from another thread or a signal handler.
  CancellationToken cancel;
  // Receives warnings, one line each: a cost database that cannot be read or written, assumed sizes that
  // make a matrix product 1 x 1. A rule without proof is no warning but an error (SearchOptions::rules).
  std::function<void(const std::string&)> warning;
};

// What an optimisation is doing.
enum class Phase : std::uint8_t {
  measuring,  // timing kernels for the search
  searching,
  checking,  // comparing rewritten parts with the parts that they replace
  running,   // running whole models in pairs
};
// Returns the name of a phase: "measuring", "searching", "checking", "running".
constexpr const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::measuring:
      return "measuring";
    case Phase::searching:
      return "searching";
    case Phase::checking:
      return "checking";
    case Phase::running:
      return "running";
  }
  return "";
}

// How far an optimisation is.
struct OptimizeProgress {
  Phase phase = Phase::measuring;  // what it is doing
  // The used part of the phase's bound, from 0 to 1: of the search budget while measuring and searching, of
  // the time limit while checking, of max_measure_time while running. A phase may end before 1.
  double fraction = 0;
  std::uint64_t states = 0;  // number of graphs costed
  PredictedTimes predicted;  // of the original and of the best graph so far
  Seconds time{};            // since the start
  Seconds time_left{};       // until the time limit of the call

  // One line of text.
  XFLOW_API std::string to_text() const;
};
// Called a few times per second from the calling thread.
using ProgressCallback = std::function<void(const OptimizeProgress&)>;

// A model and the report of its optimisation.
struct OptimizeResult {
  std::string model;      // ONNX bytes
  OptimizeReport report;  // what the optimisation did
};

// Optimises an ONNX model given as bytes. External data cannot be found from bytes: use optimize_file. Calls
// `progress` if it is not empty.
//
// Errors: unreadable (the model, a file of inputs or of rules), syntax and ill_typed (a rule text),
// not_proved (a rule), invalid_argument (an option, or fixed_shapes that the model contradicts), unsupported
// (the device), limit ("cancelled" after CancellationToken::stop()). With SearchOptions::replay: unsupported
// if the trace is of another model, of other rules, or has a rewrite that is not possible.
XFLOW_API Result<OptimizeResult> optimize(std::string_view model, const OptimizeOptions& options = {},
                                          const ProgressCallback& progress = {});

// The same from file to file. `input` may be "-" (standard input). `output` may be "-" (standard output), a
// pipe or a device, and a symbolic link is followed.
//
// The call checks that `output` can be written before the work begins. It replaces `output` in one step
// together with its external data, or leaves it alone on any error (docs/files.md). Without an improvement
// it copies the bytes of `input`, except for the locations of external data that moves and for
// InputOptions::fixed_shapes.
//
// Errors: those of optimize; io; invalid_argument if `output` is external data of the model.
XFLOW_API Result<OptimizeReport> optimize_file(const std::string& input, const std::string& output, const OptimizeOptions& options = {},
                                               const ProgressCallback& progress = {});

}  // namespace xflow
