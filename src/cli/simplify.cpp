#include "xflow/simplify.h"

#include <fmt/format.h>
#include <xflow/report.h>

#include <memory>

#include "src/cli/command.h"
#include "src/cli/duration_text.h"
#include "src/cli/growth_text.h"
#include "src/cli/interrupt.h"
#include "src/cli/model_options.h"
#include "src/cli/print_options.h"

namespace xflow::cli {
namespace {

struct SimplifyArguments {
  std::string input;
  std::string output;
  std::string report;
  std::string time_limit;
  std::string numerics = "rounding";
  std::string max_growth = "5%";
  ModelOptions model;
  PrintOptions printing;
  SimplifyOptions options;
};

ExitCode run(SimplifyArguments& a) {
  if (const auto checked = check_model_options(a.model, a.input, a.output); !checked) return report(checked.error());
  if (a.model.inspect) return inspect(a.input, a.options.allow_external);
  const auto fixed = fixed_shapes(a.model);
  if (!fixed) return report(fixed.error());
  a.options.fixed_shapes = *fixed;
  const auto numerics = parse_numerics(a.numerics);
  if (!numerics) return report(numerics.error());
  a.options.numerics = *numerics;
  const auto growth = read_growth(a.max_growth);
  if (!growth) return report(growth.error());
  a.options.max_growth = growth->share;
  a.options.max_growth_bytes = growth->bytes;
  if (!a.time_limit.empty()) {
    a.options.time_limit = read_duration(a.time_limit);
    if (!a.options.time_limit)
      return report({ErrorCode::invalid_argument, fmt::format("time limit '{}' is not of the form 300s, 500ms or 5m", a.time_limit), {}});
  }
  if (!a.report.empty()) {
    const auto checked = check_report_path(a.report, a.input, a.output, a.options.save_as_external_data, a.options.allow_external);
    if (!checked) return report(checked.error());
  }
  finish_on_signals(a.options.cancel);
  const auto result = simplify_file(a.input, a.output, a.options);
  if (!result) return report(result.error());
  const bool to_error = is_standard_output(a.output);
  print_report(*result, a.printing, to_error);
  if (!a.report.empty()) {
    if (const auto written = write_report(a.report, result->to_json()); !written) return report(written.error());
  }
  return check_written(a.model, a.input, a.output, {}, a.options.allow_external, to_error || a.printing.json || a.printing.quiet);
}

}  // namespace

void add_simplify(CLI::App& sub, Command& command) {
  auto a = std::make_shared<SimplifyArguments>();
  add_in_and_out(sub, a->input, a->output);
  add_model_options(sub, a->model);
  add_allow_external(sub, a->options.allow_external);
  sub.add_option("--numbers", a->numerics, "allowed changes in floating point: exact or rounding")
      ->capture_default_str()
      ->check(CLI::IsMember({"exact", "rounding"}));
  sub.add_option("--max-growth", a->max_growth, "growth of the model by stored constants: 5%, 64KiB, or both")->capture_default_str();
  sub.add_option("--rules", a->options.rules, "folder or file of rules instead of the built-in ones")->take_all();
  sub.add_option("--skip", a->options.skip_rules, "name of a rule not to use")->take_all();
  sub.add_option("--time-limit", a->time_limit, "time limit: 300s, 500ms, 5m");
  add_save_as_external_data(sub, a->options.save_as_external_data);
  sub.add_option("--report", a->report, "also write the report as JSON to this file");
  group(sub, "Input", {"--allow-external"});
  group(sub, "Clean-ups", {"--numbers", "--max-growth", "--rules", "--skip", "--time-limit"});
  group(sub, "Output", {"--report", "--save-as-external-data"});
  add_checks(sub, a->model);
  add_print_options(sub, a->printing);
  sub.footer(
      "With --numbers rounding constants are folded and batch normalisation is merged into weights. Without\n"
      "--time-limit a run ends after 5 minutes, and writes the clean-ups that were made by then.\n\n" +
      examples({"xflow simplify model.onnx smaller.onnx", "xflow simplify model.onnx smaller.onnx --numbers exact"}));
  sub.callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
