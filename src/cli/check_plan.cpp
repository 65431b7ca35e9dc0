#include "xflow/check_plan.h"

#include <xflow/report.h>

#include <filesystem>
#include <memory>
#include <string>

#include "src/cli/command.h"

namespace xflow::cli {
namespace {

struct CheckPlanArguments {
  std::string model;
  std::string json;
  CheckPlanOptions options;
};

ExitCode run_check_plan(const CheckPlanArguments& a) {
  std::error_code ignored;
  if (!a.json.empty() && std::filesystem::equivalent(a.json, a.model, ignored))
    return report({ErrorCode::invalid_argument, "the result would overwrite a file that is read", a.json});
  const auto check = check_plan(a.model, a.options);
  if (!check) return report(check.error());
  print(check->to_text(), !a.json.empty() && is_standard_output(a.json));
  if (!a.json.empty()) {
    if (const auto written = write_report(a.json, check->to_json()); !written) return report(written.error());
  }
  return check->consistent() ? ExitCode::done : ExitCode::negative;
}

}  // namespace

void add_check_plan(CLI::App& sub, Command& command) {
  auto a = std::make_shared<CheckPlanArguments>();
  sub.add_option("MODEL", a->model, "ONNX model; - is standard input")->required();
  add_allow_external(sub, a->options.allow_external);
  sub.add_option("--json", a->json, "also write the result as JSON to this file; - is standard output");
  group(sub, "Input", {"--allow-external"});
  group(sub, "Output", {"--json"});
  sub.footer(
      "Checks what IR version 11 says about devices: configurations, devices and shards of each tensor,\n"
      "whether the inputs of a node are divided alike, and pipeline stages (docs/multi-device.md). The exit\n"
      "code is 1 if there are faults. A model without a multi-device configuration has none.\n\n" +
      examples({"xflow check-plan plan.onnx", "xflow check-plan plan.onnx --json faults.json"}));
  sub.callback([a, &command] { command.run = [a] { return run_check_plan(*a); }; });
}

}  // namespace xflow::cli
