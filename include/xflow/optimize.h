// Makes a model cheaper without changing what it computes.
//
//   xflow::OptimizeOptions options;
//   auto result = xflow::optimize(bytes_of_an_onnx_model, options);
//   if (!result) return report_error(result.error().text());
//   save(result->model);               // the original bytes where nothing was gained
//   print(result->report.to_text());
#pragma once

#include <xflow/cancel.h>
#include <xflow/device.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/report.h>
#include <xflow/time.h>

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

// The model that is read, and what it is run on.
struct InputOptions {
  // Sizes of dynamic inputs. Without one an unknown first dimension is 1 and any other 128, which the report says. An
  // input may be named several times: costs are those at the first of its sizes, and at none of the others may the
  // result be slower.
  std::vector<InputShape> shapes;
  // Files of inputs on which rewritten parts and whole models are run: .npz (arrays NAME or in__NAME, in2__NAME for a
  // second set), .pb (a TensorProto each), or folders of .pb files. Every set has the inputs without defaults, and its
  // sizes are a choice of sizes, in the place of `shapes`. None: seeded values.
  std::vector<std::string> files;
  // Folders that may hold external data of the model beside its own: what the model names by a symbolic link, an
  // absolute path or ".." is read where it leads to a regular file below one of them. Without them it is an error.
  std::vector<std::string> allow_external;
};

// What rewrites may do to floating point results (docs/rules.md, Numbers).
enum class Numerics : std::uint8_t {
  exact,     // the same bits of each element
  rounding,  // the same up to rounding where inputs and results are finite
  any,       // infinities and not-a-number may change as well
};
constexpr const char* to_string(Numerics numerics) {
  switch (numerics) {
    case Numerics::exact:
      return "exact";
    case Numerics::rounding:
      return "rounding";
    case Numerics::any:
      return "any";
  }
  return "";
}
// The inverse of to_string. Error::invalid_argument for other texts.
XFLOW_API Result<Numerics> parse_numerics(std::string_view text);

struct SearchOptions {
  // The search stops at the first budget that is used up. With a budget of states the search does the same in every
  // run; whether its result is shipped is measured (ValidationOptions::gate).
  std::optional<Seconds> max_time;          // wall clock; without any budget: 30 s
  std::optional<std::uint64_t> max_states;  // graphs costed
  double alpha = 1.05;                      // at least 1: graphs that cost more than alpha times the best are not followed
  double max_growth = 0.05;                 // of the bytes of all constants, as a factor of the original's; at least 0
  // Folders or files of rules instead of those that are built in. Each rule is proved when it is loaded. A rule that is
  // not proved is an error (not_proved, which names the rule and says what was found instead), and nothing is optimised.
  std::vector<std::string> rules;
  std::vector<std::string> skip_rules;  // by name
  // Rules as text (docs/rules.md) in the place of the built-in ones and of `rules`, with the same guarantee. To use rules
  // beside the built-in ones, put RuleSet::shipped()->text() of <xflow/rules.h> in front.
  std::optional<std::string> rule_text;
  Numerics numerics = Numerics::rounding;
};

struct ValidationOptions {
  // The original and the result are run in turns, and the result is only shipped if it is faster. False: nothing is run
  // from end to end, and that the result is faster is predicted.
  bool gate = true;
  Seconds max_measure_time{60};  // wall clock, of running whole models in turns
};

// Which results are written.
enum class Accept : std::uint8_t {
  faster,   // those that are faster
  smaller,  // also those that the clean-ups of <xflow/simplify.h> leave smaller, as long as nothing is measured slower
};

struct OutputOptions {
  Accept accept = Accept::faster;
  // A file name relative to the folder of the output: all tensors of 1 KiB and more, and all external data of the model,
  // are written to that file. Empty: external data stays in its files, and only new tensors may go to a file of their
  // own (docs/files.md).
  std::string save_as_external_data;
};

struct OptimizeOptions {
  InputOptions input;
  SearchOptions search;
  DeviceOptions device;
  ValidationOptions validation;
  OutputOptions output;
  // Of the whole call, which begins before the model is read: reading, lifting, pricing, searching, checking and running
  // whole models. When it ends, the best result that was checked and passed the gate is written, otherwise the original.
  // Without: 5 minutes, or 10 times search.max_time where that is more.
  std::optional<Seconds> time_limit;
  // Bytes. No tensor larger than this is made, and the search ends where the process has more in memory. Without: half
  // of what the machine or the control group of this process has. 0: no limit.
  std::optional<std::uint64_t> max_memory;
  // Ends the call from another thread or a signal handler.
  CancellationToken cancel;
  // Told what is odd but no error: a rule without proof, a cost database that cannot be written.
  std::function<void(const std::string&)> warning;
};

enum class Phase : std::uint8_t {
  measuring,  // kernels, for the search
  searching,
  checking,  // rewritten parts against what they replace
  running,   // whole models in turns
};
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

struct OptimizeProgress {
  Phase phase = Phase::measuring;
  // How much is used up of what bounds the phase, from 0 to 1: the budget of the search while it measures and searches,
  // the time limit while it checks, the budget of runs while it runs. A phase may end before it is 1.
  double fraction = 0;
  std::uint64_t states = 0;  // graphs costed
  PredictedTimes predicted;  // of the original, and of the best graph so far
  Seconds time{};            // since the start
  Seconds time_left{};       // until the time limit of the call

  XFLOW_API std::string to_text() const;  // one line
};
// Called a few times a second from the calling thread.
using ProgressCallback = std::function<void(const OptimizeProgress&)>;

struct OptimizeResult {
  std::string model;  // ONNX bytes
  OptimizeReport report;
};

// Optimises an ONNX model given as bytes. External data cannot be found from bytes: use optimize_file. Errors:
// unreadable (the model, a file of inputs), invalid_argument (an option), unsupported (device).
XFLOW_API Result<OptimizeResult> optimize(std::string_view model, const OptimizeOptions& options = {},
                                          const ProgressCallback& progress = {});

// The same from file to file. `input` may be "-", standard input, and `output` "-", standard output, a pipe or a device.
// Whether `output` can be written is checked before the work begins; it is replaced in one step together with its
// external data, or left alone on any error (docs/files.md). A symbolic link as output is followed. Without an
// improvement the bytes of `input` are copied, but for the locations of external data that has to move. Errors as above;
// io, of the operating system; invalid_argument where `output` is external data of the model.
XFLOW_API Result<OptimizeReport> optimize_file(const std::string& input, const std::string& output, const OptimizeOptions& options = {},
                                               const ProgressCallback& progress = {});

}  // namespace xflow
