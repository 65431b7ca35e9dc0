#include "xflow/simulate.h"

#include <fmt/format.h>
#include <xflow/report.h>

#include <array>
#include <filesystem>
#include <memory>

#include "src/cli/command.h"
#include "src/cli/measured_clusters.h"

namespace xflow::cli {
namespace {

struct SimulateArguments {
  std::string model;
  std::string policy;
  std::vector<std::string> shapes;
  std::string out;
  std::string timeline;
  std::string trace;
  std::string out_model;
  SimulateOptions options;
};

PlanPolicy policy_of(const std::string& name) {
  for (const PlanPolicy policy : {PlanPolicy::round_robin, PlanPolicy::chain}) {
    if (name == to_string(policy)) return policy;
  }
  return PlanPolicy::single;
}

// Refuses files that would overwrite one that is read or another result.
Result<void> check_outputs(const SimulateArguments& a) {
  const std::array<const std::string*, 4> outputs = {&a.out, &a.timeline, &a.trace, &a.out_model};
  std::error_code ignored;
  bool has_standard_output = false;
  if (a.model == "-" && !a.out_model.empty())
    return fail(ErrorCode::invalid_argument, "--out-model reads the model again, so it cannot be standard input");
  for (const std::string* output : outputs) {
    if (output->empty()) continue;
    for (const std::string& input : {a.model, a.options.cluster, a.options.plan}) {
      if (std::filesystem::equivalent(*output, input, ignored))
        return fail(ErrorCode::invalid_argument, "the result would overwrite a file that is read", *output);
    }
    for (const std::string* other : outputs) {
      if (other != output && *other == *output) return fail(ErrorCode::invalid_argument, "two results have the same file", *output);
    }
    if (is_standard_output(*output) && std::exchange(has_standard_output, true))
      return fail(ErrorCode::invalid_argument, "two results have the same file", *output);
  }
  return {};
}

Result<SimulationResult> result_of_simulation(SimulateArguments& a) {
  XFLOW_CHECK(find_measured_cluster(a.options.cluster));
  XFLOW_CHECK(check_outputs(a));
  for (const std::string& text : a.shapes) {
    XFLOW_TRY(InputShape shape, parse_input_shape(text));
    a.options.shapes.push_back(std::move(shape));
  }
  if (!a.policy.empty()) a.options.policy = policy_of(a.policy);
  a.options.warning = warn;
  return simulate(a.model, a.options);
}

ExitCode run_simulation(SimulateArguments& a) {
  const auto result = result_of_simulation(a);
  if (!result) return report(result.error());
  const auto is_shown = [](const std::string& path) { return !path.empty() && is_standard_output(path); };
  print(result->to_text(), is_shown(a.out) || is_shown(a.timeline) || is_shown(a.trace) || is_shown(a.out_model));
  const auto write = [](const std::string& path, const std::string& text) {
    return path.empty() ? Result<void>{} : write_report(path, text);
  };
  if (const auto written = write(a.out, a.out.empty() ? "" : result->to_json()); !written) return report(written.error());
  if (const auto written = write(a.timeline, a.timeline.empty() ? "" : result->to_svg()); !written) return report(written.error());
  if (const auto written = write(a.trace, a.trace.empty() ? "" : result->to_trace()); !written) return report(written.error());
  if (!a.out_model.empty()) {
    if (const auto written = write_plan_model(a.model, *result, a.out_model, a.options.allow_external); !written)
      return report(written.error());
  }
  return result->fits_memory() ? ExitCode::done : ExitCode::negative;
}

}  // namespace

void add_simulate(CLI::App& sub, Command& command) {
  auto a = std::make_shared<SimulateArguments>();
  sub.add_option("MODEL", a->model, "ONNX model; - is standard input")->required();
  sub.add_option("--cluster", a->options.cluster, fmt::format("{}, cpu-N, or a file (docs/parallel.md)", fmt::join(cluster_names(), ", ")))
      ->required();
  CLI::Option* plan = sub.add_option("--plan", a->options.plan, "JSON file with a device for each node (docs/plan.schema.json)");
  sub.add_option("--policy", a->policy, "devices without a plan: single, round-robin or chain")
      ->check(CLI::IsMember({"single", "round-robin", "chain"}))
      ->excludes(plan);
  sub.add_option("--shape", a->shapes, "sizes of a dynamic input: x:1,3,48,192 (repeat for each)")->take_all();
  add_allow_external(sub, a->options.allow_external);
  sub.add_option("--costs", a->options.cost_database, "file of measured costs, for devices that are this CPU");
  sub.add_option("--out", a->out, "also write the result as JSON to this file; - is standard output");
  sub.add_option("--timeline", a->timeline, "write a picture of the step as SVG to this file");
  sub.add_option("--trace", a->trace, "write the step as a Chrome trace, which Perfetto opens, to this file");
  sub.add_option("--out-model", a->out_model, "write the model with the plan to this file (docs/multi-device.md)");
  group(sub, "Input", {"--shape", "--allow-external"});
  group(sub, "Devices", {"--cluster", "--plan", "--policy", "--costs"});
  group(sub, "Output", {"--out", "--timeline", "--trace", "--out-model"});
  sub.footer(
      "Each node runs on its device, transfers run beside compute, and every device, link and port serves\n"
      "one task at a time. Without --plan and --policy, the plan is the multi-device configuration of the\n"
      "model; without one, all nodes are on the first device. The exit code is 1 if a device does\n"
      "not have the memory that the step needs.\n\n" +
      examples({"xflow simulate model.onnx --cluster dgx-h100 --policy chain --timeline step.svg",
                "xflow simulate model.onnx --cluster pair.json --plan plan.json --out result.json",
                "xflow simulate model.onnx --cluster pair.json --policy chain --out-model plan.onnx",
                "xflow simulate plan.onnx --cluster pair.json"}));
  sub.callback([a, &command] { command.run = [a] { return run_simulation(*a); }; });
}

}  // namespace xflow::cli
