// Cleans a model up without changing what it computes: fewer nodes, and nothing is measured.
//
//   auto result = xflow::simplify(bytes_of_an_onnx_model);
//   if (!result) return report_error(result.error().text());
//   save(result->model);               // the original bytes where there is nothing to clean up
//   print(result->report.to_text());
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/optimize.h>
#include <xflow/time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

struct SimplifyOptions {
  // What clean-ups may do to floating point results: exact or rounding. With rounding constants are also folded if that
  // takes arithmetic, and a BatchNormalization becomes part of the weights of the convolution before it.
  Numerics numerics = Numerics::rounding;
  // Bytes that the model may grow by, as a factor of what it has: constants that a model computes are stored as far as there is room.
  double max_growth = 0.05;
  // Folders or files of rules instead of those that are built in. Each rule is proved when it is loaded. Of all rules only those are used
  // that leave fewer operations (docs/onnx.md, Clean-ups).
  std::vector<std::string> rules;
  std::vector<std::string> skip_rules;  // by name
  // Rules as text in the place of the built-in ones and of `rules`, as SearchOptions::rule_text.
  std::optional<std::string> rule_text;
  // Folders that may hold external data of the model beside its own, as InputOptions::allow_external.
  std::vector<std::string> allow_external;
  std::string save_as_external_data;  // as OutputOptions::save_as_external_data
  // Of the whole call. When it ends, what was cleaned up by then is written. Without: 5 minutes.
  std::optional<Seconds> time_limit;
  // Ends the call from another thread or a signal handler: finish() as the time limit does, stop() with an error and nothing written.
  CancellationToken cancel;
};

// What was done.
struct SimplifyReport {
  // A clean-up, by the name of its rule or of the built-in simplification, and how often it was done.
  struct Count {
    std::string rule;
    std::uint64_t applied = 0;
    std::string numbers = {};  // what the rule does to floating point results: "exact", "rounding: re-associates"; empty if built in
  };
  bool simplified = false;  // false: the model is the original, byte for byte
  std::string reason;       // why it is; empty if simplified
  std::string stopped;      // why the clean-ups ended before nothing was left to do: "the time limit of 5 s is over"; otherwise empty
  std::vector<Count> rules;
  std::uint64_t nodes_before = 0;  // of the main graph, of local functions that are called and of bodies in these, at any depth
  std::uint64_t nodes_after = 0;
  std::uint64_t nodes_kept = 0;           // written back byte for byte
  std::uint64_t stored_bytes_before = 0;  // of these graphs' initializers and Constant nodes
  std::uint64_t stored_bytes_after = 0;
  std::vector<std::string> opaque;  // "3 x no operator for com.microsoft.Foo": nodes that were not crossed
  Seconds time{};

  XFLOW_API std::string to_text() const;  // for people
  XFLOW_API std::string to_json() const;  // the same, for programs
};

struct SimplifyResult {
  std::string model;  // ONNX bytes
  SimplifyReport report;
};

// Simplifies an ONNX model given as bytes. External data cannot be found from bytes: use simplify_file. Errors: unreadable (the model, a
// file of rules), invalid_argument (an option), not_proved (a rule).
XFLOW_API Result<SimplifyResult> simplify(std::string_view model, const SimplifyOptions& options = {});

// The same from file to file; see optimize_file for `input`, `output` and the errors of both. Without a clean-up the bytes of `input` are
// copied.
XFLOW_API Result<SimplifyReport> simplify_file(const std::string& input, const std::string& output, const SimplifyOptions& options = {});

}  // namespace xflow
