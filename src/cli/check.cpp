#include "xflow/check.h"

#include <fmt/format.h>

#include <memory>

#include "src/cli/command.h"
#include "src/cli/duration_text.h"
#include "src/cli/print_options.h"

namespace xflow::cli {
namespace {

struct CheckArguments {
  std::string a;
  std::string b;
  std::vector<std::string> shapes;
  std::string time_limit = "300s";
  PrintOptions printing;
  CheckOptions options;
};

ExitCode run(CheckArguments& arguments) {
  for (const std::string& text : arguments.shapes) {
    auto shape = parse_input_shape(text);
    if (!shape) return report(shape.error());
    arguments.options.shapes.push_back(*std::move(shape));
  }
  const auto limit = read_duration(arguments.time_limit);
  if (!limit)
    return report(
        {ErrorCode::invalid_argument, fmt::format("time limit '{}' is not of the form 300s, 500ms or 5m", arguments.time_limit), {}});
  arguments.options.time_limit = *limit;
  Result<CheckReport> result = fail(ErrorCode::internal, "not run");
  {
    ProgressLine line(arguments.printing.quiet);
    arguments.options.progress = [&](const CheckProgress& progress) { line.show(progress.message); };
    result = check_files(arguments.a, arguments.b, arguments.options);
  }
  if (!result) return report(result.error());
  print_report(*result, arguments.printing);
  return result->equal ? ExitCode::done : ExitCode::negative;
}

}  // namespace

void add_check(CLI::App& sub, Command& command) {
  auto arguments = std::make_shared<CheckArguments>();
  sub.add_option("A", arguments->a, "reference ONNX model; - is standard input")->required();
  sub.add_option("B", arguments->b, "ONNX model to compare with it")->required();
  CLI::Option* inputs = sub.add_option("--inputs", arguments->options.inputs, "input values: .npz, .pb, or a folder of .pb files");
  sub.add_option("--shape", arguments->shapes, "sizes of a dynamic input: x:1,3,48,192 (repeat for each)")->take_all()->excludes(inputs);
  add_seed(sub, arguments->options.seed, "seed of generated inputs")->excludes(inputs);
  sub.add_option("--runs", arguments->options.runs, "number of seeds for each choice of sizes")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->excludes(inputs);
  sub.add_option("--runner", arguments->options.runner, "command of a program that runs both models (docs/runner.md)");
  sub.add_option("--time-limit", arguments->time_limit, "time limit of the comparison: 300s, 500ms, 5m")->capture_default_str();
  add_allow_external(sub, arguments->options.allow_external);
  add_print_options(sub, arguments->printing);
  group(sub, "Input", {"--inputs", "--shape", "--seed", "--runs", "--allow-external"});
  group(sub, "Comparison", {"--runner", "--time-limit"});
  sub.footer(
      "xflow runs the models itself. A runner also runs models with operators that xflow does not evaluate.\n"
      "An archive has arrays NAME or in__NAME, and a .pb file a TensorProto. A comparison that the time\n"
      "limit ends has exit code 3.\n\n"
      "B is equal if its error against A's result in double precision is at most 4 times A's own error\n"
      "in float plus 1e-5 of the output's largest magnitude. Integers and booleans must be those of A in\n"
      "double or in float, strings must be identical, and NaN must be where A has NaN. With --runner the\n"
      "bound is 4 times the change of A's result when its inputs are perturbed by rounding, plus 1e-3 of\n"
      "that magnitude (5e-2 in half precision).\n\n" +
      examples({"xflow check model.onnx faster.onnx", "xflow check model.onnx faster.onnx --shape x:1,3,48,192 --runs 3",
                "xflow check model.onnx faster.onnx --inputs inputs.npz",
                "xflow check model.onnx faster.onnx --runner 'python3 -m xflow_onnx.runner_ort'",
                "xflow check model.onnx faster.onnx --inputs test_data_set_0"}));
  sub.callback([arguments, &command] { command.run = [arguments] { return run(*arguments); }; });
}

}  // namespace xflow::cli
