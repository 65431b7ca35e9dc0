#include "xflow/parallelize.h"

#include <fmt/format.h>
#include <xflow/report.h>

#include <array>
#include <filesystem>
#include <limits>
#include <memory>

#include "src/cli/command.h"
#include "src/cli/duration_text.h"
#include "src/cli/interrupt.h"
#include "src/cli/measured_clusters.h"
#include "src/cli/print_options.h"

namespace xflow::cli {
namespace {

struct ParallelizeArguments {
  std::string model;
  std::string objective = "latency";
  std::string method = "auto";
  std::string reward = "simulated";
  std::string budget;
  std::vector<std::string> shapes;
  std::string out;
  std::string timeline;
  std::string trace;
  std::string then;
  bool is_quiet = false;
  ParallelizeOptions options;
};

// Refuses files that would overwrite one that is read or another result.
Result<void> check_paths(const ParallelizeArguments& a) {
  const std::array<const std::string*, 4> outputs = {&a.options.out_model, &a.out, &a.timeline, &a.trace};
  std::error_code ignored;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k]->empty()) continue;
    for (const std::string& input : {a.model, a.options.cluster, a.options.policy}) {
      if (std::filesystem::equivalent(*outputs[k], input, ignored))
        return fail(ErrorCode::invalid_argument, "the result would overwrite a file that is read", *outputs[k]);
    }
    for (std::size_t other = 0; other < k; ++other)
      if (*outputs[other] == *outputs[k]) return fail(ErrorCode::invalid_argument, "two results have the same file", *outputs[k]);
  }
  return {};
}

Result<ParallelizeResult> plan_of(ParallelizeArguments& a) {
  XFLOW_CHECK(find_measured_cluster(a.options.cluster));
  XFLOW_CHECK(check_paths(a));
  for (const std::string& text : a.shapes) {
    XFLOW_TRY(InputShape shape, parse_input_shape(text));
    a.options.shapes.push_back(std::move(shape));
  }
  for (const ParallelObjective objective : {ParallelObjective::throughput, ParallelObjective::training_step})
    if (a.objective == to_string(objective)) a.options.objective = objective;
  for (const ParallelMethod method : {ParallelMethod::local, ParallelMethod::colocrl, ParallelMethod::placeto, ParallelMethod::go})
    if (a.method == to_string(method)) a.options.method = method;
  if (a.reward == to_string(ParallelReward::measured)) a.options.reward = ParallelReward::measured;
  // A number of steps alone is a result that does not depend on the machine.
  if (a.options.steps) a.options.budget = Seconds(std::numeric_limits<double>::infinity());
  if (!a.budget.empty()) {
    const auto budget = read_duration(a.budget);
    if (!budget) return fail(ErrorCode::invalid_argument, fmt::format("budget '{}' is not of the form 300s, 500ms or 5m", a.budget));
    a.options.budget = *budget;
  }
  a.options.search_after = !a.then.empty();
  a.options.warning = warn;
  finish_on_signals(a.options.cancel);
  ProgressLine line(a.is_quiet);
  a.options.progress = [&](std::uint64_t proposals, Seconds step) {
    line.show(fmt::format("{} proposals, best step {:.4f} ms", proposals, step.count() * 1e3));
  };
  return parallelize(a.model, a.options);
}

ExitCode run_parallelize(ParallelizeArguments& a) {
  const auto result = plan_of(a);
  if (!result) return report(result.error());
  const auto is_shown = [](const std::string& path) { return !path.empty() && is_standard_output(path); };
  if (!a.is_quiet) print(result->to_text(), is_shown(a.options.out_model) || is_shown(a.out) || is_shown(a.timeline) || is_shown(a.trace));
  const auto write = [](const std::string& path, const std::string& text) {
    return path.empty() ? Result<void>{} : write_report(path, text);
  };
  if (const auto written = write(a.out, a.out.empty() ? "" : result->to_json()); !written) return report(written.error());
  if (const auto written = write(a.timeline, a.timeline.empty() ? "" : result->simulation.to_svg()); !written)
    return report(written.error());
  if (const auto written = write(a.trace, a.trace.empty() ? "" : result->simulation.to_trace()); !written) return report(written.error());
  return result->simulation.fits_memory() ? ExitCode::done : ExitCode::negative;
}

}  // namespace

void add_parallelize(CLI::App& sub, Command& command) {
  auto a = std::make_shared<ParallelizeArguments>();
  sub.add_option("MODEL", a->model, "ONNX model; - is standard input")->required();
  sub.add_option("OUT", a->options.out_model, "write the model with the plan for IR version 11 to this file");
  sub.add_option("--cluster", a->options.cluster, fmt::format("{}, cpu-N, or a file (docs/parallel.md)", fmt::join(cluster_names(), ", ")))
      ->required();
  sub.add_option("--devices", a->options.devices, "use only so many devices of the cluster, the first ones");
  sub.add_option("--objective", a->objective, "latency, throughput (of a pipeline) or training-step")
      ->capture_default_str()
      ->check(CLI::IsMember({"latency", "throughput", "training-step"}));
  sub.add_option("--method", a->method, "auto, or for whole nodes local, colocrl, placeto or go")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "local", "colocrl", "placeto", "go"}));
  sub.add_option("--reward", a->reward, "steps of local and colocrl: simulated, or measured on this machine")
      ->capture_default_str()
      ->check(CLI::IsMember({"simulated", "measured"}));
  sub.add_option("--shape", a->shapes, "sizes of a dynamic input: x:1,3,48,192 (repeat for each)")->take_all();
  add_allow_external(sub, a->options.allow_external);
  sub.add_option("--costs", a->options.cost_database, "file of measured costs, for devices that are this CPU");
  sub.add_option("--budget", a->budget, "time limit: 300s, 500ms, 5m; else 10s, or none with --steps");
  sub.add_option("--steps", a->options.steps, "limit of proposals; the same number gives the same plan")->check(CLI::Range(0.0, 1e15));
  add_seed(sub, a->options.seed, "seed of the proposals");
  sub.add_option("--threads", a->options.threads, "threads of colocrl, which uses 1 or 2; else as many as processors")
      ->check(CLI::Range(1, 1024));
  sub.add_flag("--rewrite", a->options.rewrite, "also rewrite the model by proved rules where that is faster");
  CLI::Option* policy = sub.add_option("--policy", a->options.policy, "policy that places whole nodes: a file, shipped:step, ...");
  sub.add_option("--then", a->then, "after the policy: local-search")->check(CLI::IsMember({"local-search"}))->needs(policy);
  sub.add_option("--out", a->out, "also write the plan as JSON to this file; - is standard output");
  sub.add_option("--parts", a->options.out_parts, "write a model for each device and stage to this folder (xflow run)");
  sub.add_option("--timeline", a->timeline, "write a picture of the step as SVG to this file");
  sub.add_option("--trace", a->trace, "write the step as a Chrome trace, which Perfetto opens, to this file");
  add_quiet(sub, a->is_quiet);
  group(sub, "Input", {"--shape", "--allow-external"});
  group(sub, "Devices", {"--cluster", "--devices", "--costs"});
  group(sub, "Search",
        {"--objective", "--method", "--reward", "--budget", "--steps", "--seed", "--threads", "--rewrite", "--policy", "--then"});
  group(sub, "Output", {"--out", "--parts", "--timeline", "--trace"});
  sub.footer(
      "Each node of the model is split along dimensions of its result, along the sum of a product, or not\n"
      "at all; only splits that are proved are used. By the simulated step, the plan is at least as good as\n"
      "one device, data parallel, and the experts' plans. The exit code is 1 if a device does not have the\n"
      "memory that the step needs.\n\n" +
      examples({"xflow parallelize model.onnx plan.onnx --cluster dgx-h100 --budget 60s --timeline plan.svg",
                "xflow parallelize model.onnx --cluster slow-16 --objective training-step --shape x:64,3,224,224"}));
  sub.callback([a, &command] { command.run = [a] { return run_parallelize(*a); }; });
}

}  // namespace xflow::cli
