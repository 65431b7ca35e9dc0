#include "xflow/place.h"

#include <fmt/format.h>
#include <xflow/report.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "src/cli/command.h"
#include "src/cli/duration_text.h"
#include "src/cli/interrupt.h"
#include "xflow/place_step.h"

namespace xflow::cli {
namespace {

struct PlaceArguments {
  std::string input;
  std::string split;
  std::string objective = "max-load";
  std::string method = "auto";
  std::string budget;
  std::string json;
  std::string then;
  std::string cluster;
  bool has_no_fusions = false;
  PlaceOptions options;
};

constexpr const char* kStep = "step";  // the objective of place_step()

PlacementObjective objective_of(const std::string& name) {
  return name == to_string(PlacementObjective::latency) ? PlacementObjective::latency : PlacementObjective::max_load;
}

PlacementMethod method_of(const std::string& name) {
  for (const PlacementMethod method : {PlacementMethod::orders, PlacementMethod::ideals, PlacementMethod::local, PlacementMethod::milp,
                                       PlacementMethod::greedy, PlacementMethod::list}) {
    if (name == to_string(method)) return method;
  }
  return PlacementMethod::automatic;
}

Result<void> check_json_path(const PlaceArguments& a) {
  std::error_code ignored;
  for (const std::string& input : {a.input, a.split, a.options.policy}) {
    if (!a.json.empty() && std::filesystem::equivalent(a.json, input, ignored))
      return fail(ErrorCode::invalid_argument, "the result would overwrite a file that is read", a.json);
  }
  return {};
}

// Options that only one of the objectives has.
Result<void> check_objective(const PlaceArguments& a) {
  const auto refuse = [](std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); };
  const bool is_of_step = a.method == to_string(StepMethod::heft) || a.method == to_string(StepMethod::intervals);
  if (a.objective == kStep) {
    if (!a.split.empty()) return refuse("--split is for the objectives max-load and latency");
    if (is_of_step || a.method == to_string(StepMethod::automatic) || a.method == to_string(StepMethod::local)) return {};
  } else {
    if (!a.cluster.empty()) return refuse("--cluster is for the objective step");
    if (a.has_no_fusions) return refuse("--no-fusions is for the objective step");
    if (!is_of_step) return {};
  }
  return refuse(fmt::format("the objective {} has no method '{}'", a.objective, a.method));
}

Result<void> read_options(PlaceArguments& a) {
  XFLOW_CHECK(check_json_path(a));
  XFLOW_CHECK(check_objective(a));
  a.options.objective = objective_of(a.objective);
  a.options.method = method_of(a.method);
  a.options.search_after = !a.then.empty();
  // A number of steps alone is a result that does not depend on the machine.
  if (a.options.steps) a.options.budget = Seconds(std::numeric_limits<double>::infinity());
  if (!a.budget.empty()) {
    const auto budget = read_duration(a.budget);
    if (!budget) return fail(ErrorCode::invalid_argument, fmt::format("budget '{}' is not of the form 300s, 500ms or 5m", a.budget));
    a.options.budget = *budget;
  }
  finish_on_signals(a.options.cancel);
  return {};
}

StepMethod step_method_of(const std::string& name) {
  for (const StepMethod method : {StepMethod::heft, StepMethod::local, StepMethod::intervals}) {
    if (name == to_string(method)) return method;
  }
  return StepMethod::automatic;
}

Result<PlacedStep> step_of(const PlaceArguments& a) {
  PlaceStepOptions options;
  if (!a.cluster.empty()) options.cluster = a.cluster;
  options.method = step_method_of(a.method);
  options.fuses = !a.has_no_fusions;
  options.budget = a.options.budget;
  options.steps = a.options.steps;
  options.seed = a.options.seed;
  options.policy = a.options.policy;
  options.search_after = a.options.search_after;
  options.cancel = a.options.cancel;
  return place_step_file(a.input, options);
}

Result<PlacementResult> placement_of(const PlaceArguments& a) {
  if (!a.split.empty()) return evaluate_split_files(a.input, a.split, a.options.objective);
  return place_file(a.input, a.options);
}

template <typename Found>
ExitCode show(const PlaceArguments& a, const Found& result) {
  if (!result) return report(result.error());
  print(result->to_text(), !a.json.empty() && is_standard_output(a.json));
  if (!a.json.empty()) {
    if (const auto written = write_report(a.json, result->to_json()); !written) return report(written.error());
  }
  return ExitCode::done;
}

ExitCode run(PlaceArguments& a) {
  if (const auto read = read_options(a); !read) return report(read.error());
  if (a.objective == kStep) return show(a, step_of(a));
  return show(a, placement_of(a));
}

}  // namespace

void add_place(CLI::App& sub, Command& command) {
  auto a = std::make_shared<PlaceArguments>();
  sub.add_option("FILE", a->input, "instance to read (docs/parallel.md); - is standard input")->required();
  sub.add_option("--objective", a->objective, "max-load (of a pipeline), latency (of one sample) or step")
      ->capture_default_str()
      ->check(CLI::IsMember({"max-load", "latency", kStep}));
  sub.add_option("--cluster", a->cluster, "of a step: a cluster, or its file (default dgx-h100)");
  sub.add_flag("--no-fusions", a->has_no_fusions, "of a step: fuse no nodes");
  CLI::Option* split = sub.add_option("--split", a->split, "placement to evaluate instead of a search");
  sub.add_option("--method", a->method, "auto, local, orders, ideals, milp, greedy, list, heft or intervals")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "orders", "ideals", "local", "milp", "greedy", "list", "heft", "intervals"}))
      ->excludes(split);
  CLI::Option* policy =
      sub.add_option("--policy", a->options.policy, "policy that places the nodes: a file, shipped:max-load, ...")->excludes(split);
  sub.add_option("--then", a->then, "after the policy: local-search")->check(CLI::IsMember({"local-search"}))->needs(policy);
  sub.add_option("--budget", a->budget, "time limit: 300s, 500ms, 5m; else 10s, or none with --steps")->excludes(split);
  sub.add_option("--steps", a->options.steps, "limit of steps; the same number gives the same result")
      ->check(CLI::Range(0.0, 1e15))
      ->excludes(split);
  add_seed(sub, a->options.seed, "seed of the search")->excludes(split);
  sub.add_option("--json", a->json, "also write the result as JSON to this file; - is standard output");
  group(sub, "Step", {"--cluster", "--no-fusions"});
  group(sub, "Search", {"--method", "--policy", "--then", "--budget", "--steps", "--seed"});
  group(sub, "Output", {"--json"});
  sub.footer(
      "The max load is the largest load of a device, the time between two samples in a full pipeline. It\n"
      "has the methods orders, ideals (the best contiguous placement), milp (bounds by mixed integer\n"
      "programs, where xflow is built with Cbc) and local. The latency of a sample has greedy, list and\n"
      "local. auto runs all of them and keeps the best placement. The bound holds for every placement.\n\n"
      "A step is simulated on a cluster; its plan has an order of the nodes and which of them are fused:\n"
      "methods heft, intervals and local. auto is local, and for 10,000 nodes and more the policy\n"
      "shipped:go before it.\n\n" +
      examples({"xflow place instance.json --objective max-load --budget 10s --json placement.json",
                "xflow place instance.json --objective latency --seed 7", "xflow place instance.json --split placement.json",
                "xflow place instance.json --policy shipped:max-load --then local-search --budget 5s",
                "xflow place instance.json --objective step --cluster dgx-h100 --json plan.json"}));
  sub.callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
