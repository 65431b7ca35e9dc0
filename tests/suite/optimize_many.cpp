// Optimises many models in one process, for the judges in Python beside it:
//
//   optimize_many [--states N] [--device DEVICE]
//
// Each line of standard input is a task, a JSON object: {"task": "optimize", "in": PATH, "out": PATH, "shapes": {NAME: [SIZE...]}} or
// {"task": "check", "a": PATH, "b": PATH, "inputs": [FILE...]}. Each answer is one line of JSON on standard output, in the same order.
// Whole models are never timed, and with a profile as the device nothing is: the same task has the same answer
// everywhere. All tasks share a context.
#include <fmt/format.h>
#include <xflow/check.h>
#include <xflow/context.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "xflow/optimize.h"

namespace {

using nlohmann::json;
using xflow::OptimizeOptions;
using xflow::OptimizeReport;

json optimize(xflow::Context& context, const json& task, OptimizeOptions options) {
  if (task.contains("shapes"))
    for (const auto& [input, dims] : task["shapes"].items()) options.input.shapes.push_back({input, dims.get<std::vector<std::int64_t>>()});
  const auto report = xflow::optimize_file(context, task["in"], task["out"], options);
  if (!report) return {{"error", report.error().text()}};
  std::uint64_t checked = 0;
  for (const xflow::CheckedRegion& region : report->regions.checked) checked += region.checked_values;
  json rules = json::array();
  for (const xflow::RewriteStep& step : report->search.steps) rules.push_back(step.rule);
  json withdrawn = json::array();
  for (const xflow::WithdrawnRewrite& taken : report->regions.withdrawn)
    withdrawn.push_back(fmt::format("{}: {}", taken.rule, taken.message));
  return {{"improved", report->improved},         {"reason", report->reason},          {"rules", std::move(rules)},
          {"withdrawn", std::move(withdrawn)},    {"states", report->search.states},   {"checked_values", checked},
          {"nodes_before", report->nodes.before}, {"nodes_after", report->nodes.after}};
}

json check(const json& task) {
  xflow::CheckOptions options;
  if (task.contains("inputs")) options.inputs = task["inputs"].get<std::vector<std::string>>();
  const auto report = xflow::check_files(task["a"], task["b"], options);
  if (!report) return {{"error", report.error().text()}};
  return {{"equal", report->equal}, {"difference", report->difference}, {"runs", report->runs.size()}};
}

}  // namespace

int main(int argc, char** argv) {
  OptimizeOptions options;
  options.validation.gate = false;
  options.search.max_states = 300;
  options.search.max_growth_bytes = 0;  // sizes are compared, and second runs
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string_view name = argv[k];
    if (name == "--states") {
      options.search.max_states = std::strtoull(argv[k + 1], nullptr, 10);
    } else if (name == "--device") {
      options.device.name = argv[k + 1];
    } else {
      std::fprintf(stderr, "optimize_many: unknown option '%s'\n", argv[k]);
      return 64;
    }
  }
  xflow::Context context;  // so that the rules are read once
  for (std::string line; std::getline(std::cin, line);) {
    const json task = json::parse(line, nullptr, false);
    if (!task.is_object()) {
      std::fprintf(stderr, "optimize_many: no task: %s\n", line.c_str());
      return 64;
    }
    const auto start = std::chrono::steady_clock::now();
    json answer = task["task"] == "check" ? check(task) : optimize(context, task, options);
    answer["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    // Names of models need not be UTF-8.
    std::puts(answer.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
    std::fflush(stdout);
  }
  return 0;
}
