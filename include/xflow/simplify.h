// Removes needless nodes of a model without changing what it computes. Measures nothing.
//
//   auto result = xflow::simplify(bytes_of_an_onnx_model);
//   if (!result) return report_error(result.error().text());
//   save(result->model);               // the original bytes if there is nothing to clean up
//   print(result->report.to_text());
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/input_shape.h>
#include <xflow/optimize.h>
#include <xflow/rules.h>
#include <xflow/time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

// The options of simplify.
struct SimplifyOptions {
  // How clean-ups may change floating point results: exact or rounding. With rounding, constants are also
  // folded if that takes arithmetic, and a BatchNormalization becomes part of the weights of the convolution
  // before it.
  Numerics numerics = Numerics::rounding;
  // Bytes that the model may grow by, as a fraction of its size, or max_growth_bytes if that is more.
  // Computed constants are stored within this bound.
  double max_growth = 0.05;
  std::uint64_t max_growth_bytes = 0;  // see max_growth
  // Folders or files of rules that replace the built-in ones. Each rule is proved when it is loaded. Only
  // rules that leave fewer operations are used (docs/onnx.md, *Clean-ups*).
  std::vector<std::string> rules;
  std::vector<std::string> skip_rules;  // names of rules that are not applied
  // Rules as text that replace the built-in ones and `rules`, as SearchOptions::rule_text.
  std::optional<std::string> rule_text;
  // More folders that may hold external data of the model, as InputOptions::allow_external.
  std::vector<std::string> allow_external;
  // As InputOptions::fixed_shapes.
  std::vector<InputShape> fixed_shapes;
  std::string save_as_external_data;  // as OutputOptions::save_as_external_data
  // Wall clock of the whole call. At the limit the model with the clean-ups so far is written. Default: 5
  // minutes.
  std::optional<Seconds> time_limit;
  // Cancels the call from another thread or a signal handler. finish() acts as the time limit. stop()
  // returns an error and writes nothing.
  CancellationToken cancel;
};

// The report of simplify.
struct SimplifyReport {
  // A rule or built-in simplification, and how often it was applied.
  struct Count {
    std::string rule;                             // its name, or that of a built-in simplification
    std::uint64_t applied = 0;                    // how often
    std::optional<FloatClass> float_class = {};   // empty for built-in simplifications
    std::vector<std::string> float_effects = {};  // reasons for the class, as RuleInfo::float_effects
  };
  bool simplified = false;   // false: the model is the original, byte for byte
  std::string reason;        // why the model is the original; empty if simplified
  std::string stopped;       // why the clean-ups ended early: "the time limit of 5 s is over"; otherwise empty
  std::vector<Count> rules;  // those that were applied
  // Nodes of the main graph, of local functions that are called, and of bodies in these at any depth.
  std::uint64_t nodes_before = 0;
  std::uint64_t nodes_after = 0;          // the same in the result
  std::uint64_t nodes_kept = 0;           // nodes written back byte for byte
  std::uint64_t stored_bytes_before = 0;  // bytes of initializers and Constant nodes in these graphs
  std::uint64_t stored_bytes_after = 0;   // the same in the result
  std::vector<std::string> opaque;        // "3 x no operator for com.microsoft.Foo": nodes that rewrites do not cross
  Seconds time{};                         // wall clock of the whole call

  // The report for people.
  XFLOW_API std::string to_text() const;
  // The report for programs.
  XFLOW_API std::string to_json() const;
};

// A model and the report of its simplification.
struct SimplifyResult {
  std::string model;      // ONNX bytes
  SimplifyReport report;  // what the simplification did
};

// Simplifies an ONNX model given as bytes. External data cannot be found from bytes: use simplify_file.
//
// Errors: unreadable (the model, a file of rules), syntax and ill_typed (a rule text), not_proved (a rule),
// invalid_argument (an option), limit ("cancelled" after CancellationToken::stop()).
XFLOW_API Result<SimplifyResult> simplify(std::string_view model, const SimplifyOptions& options = {});

// The same from file to file. optimize_file describes `input`, `output` and their errors. Without a clean-up
// the bytes of `input` are copied.
XFLOW_API Result<SimplifyReport> simplify_file(const std::string& input, const std::string& output, const SimplifyOptions& options = {});

}  // namespace xflow
