#include <fmt/format.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/report/simulation_tables.h"
#include "src/support/printable.h"
#include "xflow/parallelize.h"

namespace xflow {
namespace {

using ParallelJson = nlohmann::ordered_json;

// What a split divides that is no dimension of the result.
const char* target_name(int axis) {
  switch (axis) {
    case -1:
      return "sum";
    case -2:
      return "copies";
    case -3:
      return "maximum";
    default:
      return "minimum";
  }
}

std::string split_text(const ParallelNode& node) {
  if (node.splits.empty()) return "whole";
  std::string text;
  for (const PlannedSplit& split : node.splits) {
    if (!text.empty()) text += ", ";
    if (split.stride == 0)
      text += fmt::format("axis {} in {} batches", split.axis, split.parts);
    else if (split.axis >= 0)
      text += fmt::format("axis {} / {}", split.axis, split.parts);
    else
      text += split.axis == -2 ? fmt::format("{} copies", split.parts) : fmt::format("{} / {}", target_name(split.axis), split.parts);
  }
  return text;
}

// How many nodes of an operator have the same splits and devices, in the order of the first one.
std::string plan_table(const ParallelizeResult& result) {
  const auto& devices = result.simulation.devices;
  std::map<std::string, std::size_t> known;
  std::vector<std::pair<std::string, std::size_t>> rows;
  for (const ParallelNode& node : result.nodes) {
    const std::string& first = devices[node.devices.front()].name;
    const std::string& last = devices[node.devices.back()].name;
    std::string row = fmt::format("{:<24}{:<40}{}", node.operator_name, split_text(node),
                                  node.devices.size() == 1 ? first : fmt::format("{} to {}", first, last));
    const auto [at, is_new] = known.emplace(row, rows.size());
    if (is_new) rows.emplace_back(std::move(row), 0);
    ++rows[at->second].second;
  }
  std::string text = fmt::format("\n{:>6} {:<24}{:<40}{}\n", "nodes", "operator", "parts", "devices");
  for (const auto& [row, count] : rows) text += fmt::format("{:>6} {}\n", count, row);
  return text;
}

void add_rewrites(const ParallelizeResult& result, const std::function<void(std::string_view, const std::string&)>& line) {
  const ParallelRewrites& own = *result.rewrites;
  const std::string graphs = fmt::format("{} graph{} planned", own.graphs, own.graphs == 1 ? "" : "s");
  if (!own.rules.empty()) {
    line("rewrites", fmt::format("step without them {:.4f} ms, {:.3f} times as long; {}", own.step_before.count() * kMilliseconds,
                                 own.step_before / result.simulation.step, graphs));
    for (const auto& [rule, count] : own.rules) line("", fmt::format("{} x {}", count, rule));
    return;
  }
  line("rewrites", (own.refused.empty() ? "none makes the step shorter; " : "none: " + own.refused + "; ") + graphs);
}

ParallelJson rewrites_json(const ParallelRewrites& own) {
  ParallelJson rules = ParallelJson::array();
  for (const auto& [rule, count] : own.rules) rules.push_back({{"rule", rule}, {"count", count}});
  return {{"rules", std::move(rules)},
          {"step_without_seconds", own.step_before.count()},
          {"graphs", own.graphs},
          {"brief_step_seconds", own.brief_before.count()},
          {"brief_step_of_one_device_seconds", own.brief_optimised.count()},
          {"refused", own.refused}};
}

ParallelJson node_json(const ParallelizeResult& result, const ParallelNode& node) {
  ParallelJson splits = ParallelJson::array();
  for (const PlannedSplit& split : node.splits) {
    ParallelJson axis = split.axis >= 0 ? ParallelJson(split.axis) : ParallelJson(target_name(split.axis));
    splits.push_back({{"axis", std::move(axis)}, {"parts", split.parts}, {"stride", split.stride}});
  }
  ParallelJson devices = ParallelJson::array();
  for (const std::size_t device : node.devices) devices.push_back(result.simulation.devices[device].name);
  return {{"node", node.name.empty() ? ParallelJson(node.number) : ParallelJson(node.name)},
          {"operator", node.operator_name},
          {"splits", std::move(splits)},
          {"devices", std::move(devices)}};
}

}  // namespace

std::string ParallelizeResult::to_text() const {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& content) { text += fmt::format("{:<12}{}\n", label, content); };
  const std::size_t count = simulation.devices.size();
  line("cluster", fmt::format("{}, {} device{}", simulation.cluster, count, count == 1 ? "" : "s"));
  line("objective", to_string(objective));
  if (pipeline) {
    line("load",
         fmt::format("{:.4f} ms between two samples, found by '{}'; at least {:.4f} ms (gap {:.1f} %)",
                     pipeline->load.count() * kMilliseconds, start, pipeline->bound.count() * kMilliseconds, 100 * pipeline->gap()));
    line("step", fmt::format("{:.4f} ms for one sample alone", simulation.step.count() * kMilliseconds));
  } else if (start == to_string(method)) {
    line("step", fmt::format("{:.4f} ms, found by the method '{}'", simulation.step.count() * kMilliseconds, start));
  } else {
    line("step", fmt::format("{:.4f} ms, found from the plan '{}'", simulation.step.count() * kMilliseconds, start));
  }
  if (measured)
    line("measured", fmt::format("{:.4f} ms, the median of its steps on this machine; {} plan{} run", measured->count() * kMilliseconds,
                                 measured_plans, measured_plans == 1 ? " was" : "s were"));
  const Seconds compared = measured.value_or(simulation.step);
  for (const auto& [name, step] : starts)
    line("", fmt::format("{:<24}{:.4f} ms, {:.2f} of the step", name, step.count() * kMilliseconds, step / compared));
  if (untried_starts > 0) line("", fmt::format("{} more pipelines were not tried: half of the time limit was over", untried_starts));
  if (const auto above = gap())
    line("bound", fmt::format("{:.4f} ms: no plan has a shorter step (gap {:.1f} %)", bound->count() * kMilliseconds, 100 * *above));
  if (rewrites) add_rewrites(*this, line);
  std::string steps = fmt::format("{} proposals, {} accepted", proposals, accepted);
  if (pipeline) steps = fmt::format("{} steps", proposals);
  if (groups > 0) steps = fmt::format("{} proposals for {} groups of nodes, {} up to the best", proposals, groups, best_after);
  line("search", fmt::format("{}, seed {}, ended by: {}", steps, seed, to_string(stop)));
  line("proofs", fmt::format("{} of {} claims on splits are proved; splits of the others are not used", proved, claims));
  if (!simulation.assumed_sizes.empty()) line("assumed", fmt::format("{}", fmt::join(simulation.assumed_sizes, ", ")));
  text += plan_table(*this) + device_table(simulation) + link_table(simulation);
  if (!simulation.estimated.empty()) text += "\nestimated by the bytes moved:\n";
  for (const auto& [node, reason] : simulation.estimated) text += fmt::format("  {}: {}\n", node, reason);
  if (!simulation.fits_memory()) text += '\n' + memory_lines(simulation);
  return text;
}

std::string ParallelizeResult::to_json() const {
  ParallelJson json;
  json["version"] = 1;
  json["cluster"] = simulation.cluster;
  json["objective"] = to_string(objective);
  json["method"] = to_string(method);
  json["step_seconds"] = simulation.step.count();
  json["start"] = start;
  if (pipeline)
    json["pipeline"] = {{"load_seconds", pipeline->load.count()}, {"bound_seconds", pipeline->bound.count()}, {"gap", pipeline->gap()}};
  json["starts"] = ParallelJson::array();
  for (const auto& [name, step] : starts) json["starts"].push_back({{"name", name}, {"step_seconds", step.count()}});
  json["untried_starts"] = untried_starts;
  json["measured_seconds"] = measured ? ParallelJson(measured->count()) : ParallelJson();
  if (groups > 0) json["placement"] = {{"groups", groups}, {"best_after", best_after}, {"measured_plans", measured_plans}};
  json["bound_seconds"] = bound ? ParallelJson(bound->count()) : ParallelJson();
  json["search"] = {{"proposals", proposals}, {"accepted", accepted}, {"seed", seed}, {"stop", to_string(stop)}};
  if (rewrites) json["rewrites"] = rewrites_json(*rewrites);
  json["claims"] = {{"decided", claims}, {"proved", proved}};
  json["nodes"] = ParallelJson::array();
  for (const ParallelNode& node : nodes) json["nodes"].push_back(node_json(*this, node));
  json["fits_memory"] = simulation.fits_memory();
  json["devices"] = ParallelJson::array();
  for (const SimulatedDevice& device : simulation.devices)
    json["devices"].push_back({{"name", device.name},
                               {"parts", device.nodes},
                               {"busy_seconds", device.busy.count()},
                               {"constant_bytes", device.resident},
                               {"peak_bytes", device.peak},
                               {"memory_bytes", device.memory}});
  json["links"] = ParallelJson::array();
  for (const SimulatedLink& link : simulation.links)
    json["links"].push_back({{"from", simulation.devices[link.from].name},
                             {"to", simulation.devices[link.to].name},
                             {"transfers", link.transfers},
                             {"bytes", link.bytes},
                             {"busy_seconds", link.busy.count()}});
  json["estimated"] = ParallelJson::array();
  for (const auto& [node, reason] : simulation.estimated) json["estimated"].push_back({{"node", node}, {"reason", reason}});
  json["assumed_sizes"] = simulation.assumed_sizes;
  return onnx_io::printable_json(json.dump(2, ' ', false, ParallelJson::error_handler_t::replace));
}

}  // namespace xflow
