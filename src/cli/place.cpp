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
  PlaceOptions options;
};

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

Result<PlacementResult> result_of(PlaceArguments& a) {
  XFLOW_CHECK(check_json_path(a));
  a.options.objective = objective_of(a.objective);
  a.options.method = method_of(a.method);
  a.options.search_after = !a.then.empty();
  if (!a.split.empty()) return evaluate_split_files(a.input, a.split, a.options.objective);
  // A number of steps alone is a result that does not depend on the machine.
  if (a.options.steps) a.options.budget = Seconds(std::numeric_limits<double>::infinity());
  if (!a.budget.empty()) {
    const auto budget = read_duration(a.budget);
    if (!budget) return fail(ErrorCode::invalid_argument, fmt::format("budget '{}' is not of the form 300s, 500ms or 5m", a.budget));
    a.options.budget = *budget;
  }
  finish_on_signals(a.options.cancel);
  return place_file(a.input, a.options);
}

ExitCode run(PlaceArguments& a) {
  const auto result = result_of(a);
  if (!result) return report(result.error());
  print(result->to_text(), !a.json.empty() && is_standard_output(a.json));
  if (!a.json.empty()) {
    if (const auto written = write_report(a.json, result->to_json()); !written) return report(written.error());
  }
  return ExitCode::done;
}

}  // namespace

void add_place(CLI::App& sub, Command& command) {
  auto a = std::make_shared<PlaceArguments>();
  sub.add_option("FILE", a->input, "instance to read (docs/parallel.md); - is standard input")->required();
  sub.add_option("--objective", a->objective, "max-load (of a pipeline) or latency (of one sample)")
      ->capture_default_str()
      ->check(CLI::IsMember({"max-load", "latency"}));
  CLI::Option* split = sub.add_option("--split", a->split, "placement to evaluate instead of a search");
  sub.add_option("--method", a->method, "auto, local; max-load: orders, ideals, milp; latency: greedy, list")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "orders", "ideals", "local", "milp", "greedy", "list"}))
      ->excludes(split);
  CLI::Option* policy = sub.add_option("--policy", a->options.policy, "policy that places the nodes (xflow train-policy)")->excludes(split);
  sub.add_option("--then", a->then, "after the policy: local-search")->check(CLI::IsMember({"local-search"}))->needs(policy);
  sub.add_option("--budget", a->budget, "time limit: 300s, 500ms, 5m; else 10s, or none with --steps")->excludes(split);
  sub.add_option("--steps", a->options.steps, "limit of steps; the same number gives the same result")
      ->check(CLI::Range(0.0, 1e15))
      ->excludes(split);
  add_seed(sub, a->options.seed, "seed of the search")->excludes(split);
  sub.add_option("--json", a->json, "also write the result as JSON to this file; - is standard output");
  group(sub, "Search", {"--method", "--policy", "--then", "--budget", "--steps", "--seed"});
  group(sub, "Output", {"--json"});
  sub.footer(
      "auto runs all methods for the objective and keeps the best placement. ideals finds the best\n"
      "contiguous one. milp proves bounds by mixed integer programs, where xflow is built with Cbc. The max\n"
      "load is the largest load of a device: the time between two samples in a full pipeline. The bound\n"
      "holds for every placement.\n\n" +
      examples({"xflow place instance.json --objective max-load --budget 10s --json placement.json",
                "xflow place instance.json --objective latency --seed 7", "xflow place instance.json --split placement.json",
                "xflow place instance.json --policy policy.npz --then local-search --budget 5s"}));
  sub.callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
