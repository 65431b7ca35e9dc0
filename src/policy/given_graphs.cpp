#include "src/policy/given_graphs.h"

#include <cmath>
#include <cstdint>
#include <utility>

namespace xflow::policy {
namespace {

// The devices of clusters that the groups with the most time in them have.
parallel::GroupDevices clusters_of_groups(const parallel::GroupDevices& devices, const PlacementEnvironment& groups,
                                          const PlacementEnvironment& clusters) {
  parallel::GroupDevices result(clusters.groups());
  std::vector<double> most(clusters.groups(), -1);
  for (std::size_t node = 0; node < groups.group_of_node().size(); ++node) {
    const std::uint32_t group = groups.group_of_node()[node];
    const std::uint32_t cluster = clusters.group_of_node()[node];
    const parallel::PlacementGroup& own = groups.problem().groups[group];
    const double time = own.on_accelerator ? own.accelerator_time : own.cpu_time;
    if (!(time > most[cluster])) continue;
    most[cluster] = time;
    result[cluster] = devices[group];
  }
  return result;
}

}  // namespace

Result<std::unique_ptr<GivenGraphs>> GivenGraphs::open(std::span<const parallel::PlacementInstance> instances, PlacementObjective objective,
                                                       const std::string& where) {
  auto result = std::make_unique<GivenGraphs>();
  for (const parallel::PlacementInstance& instance : instances) {
    Graph graph;
    XFLOW_TRY(graph.levels, open_levels(instance, objective, where));
    for (const auto& level : graph.levels) graph.first.push_back(level->devices());
    graph.best = graph.first.back();
    graph.first_value = graph.groups().value();
    graph.best_value = {graph.groups().value(), graph.groups().potential()};
    result->graphs_.push_back(std::move(graph));
  }
  return result;
}

Result<double> GivenGraphs::score(std::span<const Matrix> weights) {
  const std::uint64_t seed = PlaceOptions().seed;
  double sum = 0;
  for (std::size_t number = 0; number < size(); ++number) {
    Graph& graph = graphs_[number];
    parallel::SearchBudget unlimited;
    XFLOW_TRY(const parallel::GroupDevices devices, placement_of_levels(weights, graph.levels, {}, seed, unlimited));
    graph.groups().reset(devices);
    if (graph.first_value > 0) sum += std::log(graph.groups().value() / graph.first_value) / static_cast<double>(size());
    take(number, graph.levels.size() - 1, devices);
  }
  return sum;
}

PlacementEnvironment& GivenGraphs::environment(std::size_t graph, std::size_t level, bool from_best) {
  Graph& own = graphs_[graph];
  PlacementEnvironment& result = *own.levels[level];
  result.reset(own.first[level]);
  if (!from_best) return result;
  const parallel::GroupDevices best = clusters_of_groups(own.best, own.groups(), result);
  if (is_possible(best, result)) result.reset(best);
  return result;
}

void GivenGraphs::take(std::size_t graph, std::size_t level, const parallel::GroupDevices& devices) {
  Graph& own = graphs_[graph];
  own.groups().reset(in_level(own.groups(), *own.levels[level], devices));
  const std::pair value(own.groups().value(), own.groups().potential());
  if (!(value < own.best_value)) return;
  own.best = own.groups().devices();
  own.best_value = value;
}

std::vector<parallel::GroupDevices> GivenGraphs::placements() const {
  std::vector<parallel::GroupDevices> result;
  result.reserve(graphs_.size());
  for (const Graph& graph : graphs_) result.push_back(graph.best);
  return result;
}

void GivenGraphs::restore(std::span<const parallel::GroupDevices> placements) {
  for (std::size_t number = 0; number < size(); ++number) {
    for (const parallel::GroupDevices& devices : placements) {
      if (is_possible(devices, graphs_[number].groups())) take(number, levels(number) - 1, devices);
    }
  }
}

}  // namespace xflow::policy
