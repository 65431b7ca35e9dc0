#include "src/cli/model_options.h"

#include <xflow/check.h>
#include <xflow/model.h>
#include <xflow/verify_models.h>

#include <algorithm>

namespace xflow::cli {

void add_in_and_out(CLI::App& sub, std::string& input, std::string& output) {
  sub.add_option("IN", input, "ONNX model to read; - is standard input")->required();
  sub.add_option("OUT", output, "ONNX model to write, else a copy of IN; - is standard output");
}

void add_model_options(CLI::App& sub, ModelOptions& options) {
  sub.add_option("--overwrite-input-shape", options.fixed, "sizes that OUT declares for a dynamic input: x:1,3,224,224")
      ->take_all()
      ->group("Input");
  sub.add_flag("--inspect", options.inspect, "describe IN and write nothing")->group("Input");
}

void add_checks(CLI::App& sub, ModelOptions& options) {
  sub.add_option("--check-n", options.checks, "compare IN and OUT on so many random inputs, after OUT is written")
      ->check(CLI::Range(1, 1000000))
      ->group("Output");
  sub.add_flag("--prove", options.prove, "prove that OUT computes what IN does, as xflow verify")->group("Output");
}

Result<void> check_model_options(const ModelOptions& options, const std::string& input, const std::string& output) {
  if (options.inspect) return {};
  if (output.empty()) return fail(ErrorCode::invalid_argument, "OUT is required");
  const char* named = options.checks > 0 ? "--check-n" : options.prove ? "--prove" : nullptr;
  if (named != nullptr && (input == "-" || output == "-"))
    return fail(ErrorCode::invalid_argument, std::string(named) + " needs files, not standard input or output");
  if (options.prove && !options.fixed.empty())
    return fail(ErrorCode::invalid_argument, "--prove excludes --overwrite-input-shape, which makes another model");
  return {};
}

Result<std::vector<InputShape>> fixed_shapes(const ModelOptions& options) {
  std::vector<InputShape> shapes;
  for (const std::string& text : options.fixed) {
    XFLOW_TRY(InputShape shape, parse_input_shape(text));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

ExitCode inspect(const std::string& input, const std::vector<std::string>& allow_external) {
  const auto info = inspect_model(input, allow_external);
  if (!info) return report(info.error());
  print(info->to_text());
  return ExitCode::done;
}

ExitCode check_written(const ModelOptions& options, const std::string& input, const std::string& output,
                       const std::vector<InputShape>& shapes, const std::vector<std::string>& allow_external, bool to_error) {
  if (options.checks > 0) {
    CheckOptions how;
    how.runs = options.checks;
    how.allow_external = allow_external;
    const auto fixed = fixed_shapes(options);
    if (!fixed) return report(fixed.error());
    how.shapes = *fixed;
    for (const InputShape& shape : shapes)
      if (std::ranges::find(how.shapes, shape.input, &InputShape::input) == how.shapes.end()) how.shapes.push_back(shape);
    const auto compared = check_files(input, output, how);
    if (!compared) return report(compared.error());
    print(compared->to_text(), to_error);
    if (!compared->equal) return ExitCode::negative;
  }
  if (!options.prove) return ExitCode::done;
  VerifyModelsOptions how;
  how.shapes = shapes;
  how.allow_external = allow_external;
  const auto proof = verify_files(input, output, how);
  if (!proof) return report(proof.error());
  print(proof->to_text(), to_error);
  return proof->verdict == Verdict::proved ? ExitCode::done : ExitCode::negative;
}

}  // namespace xflow::cli
