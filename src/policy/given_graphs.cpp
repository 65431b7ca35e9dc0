#include "src/policy/given_graphs.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "src/policy/policy_placement.h"

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
    XFLOW_TRY(graph.groups, open_environment(instance, objective, where));
    graph.clusters = coarse_environment(instance, objective, *graph.groups);
    graph.first = graph.best = graph.groups->devices();
    graph.first_value = graph.groups->value();
    graph.best_value = {graph.groups->value(), graph.groups->potential()};
    if (graph.clusters != nullptr) graph.first_of_clusters = graph.clusters->devices();
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
    PlacementEnvironment* const clusters = environment(number, true, false);
    PlacementEnvironment& groups = *environment(number, false, false);
    XFLOW_CHECK(begin_at_clusters(weights, clusters, groups, seed, unlimited));
    XFLOW_TRY(const parallel::GroupDevices devices, placement_of(weights, groups, seed, unlimited));
    groups.reset(devices);
    if (graph.first_value > 0) sum += std::log(groups.value() / graph.first_value) / static_cast<double>(size());
    take(number, false, devices);
  }
  return sum;
}

PlacementEnvironment* GivenGraphs::environment(std::size_t graph, bool has_clusters, bool from_best) {
  Graph& own = graphs_[graph];
  PlacementEnvironment* const result = (has_clusters ? own.clusters : own.groups).get();
  if (result == nullptr) return nullptr;
  if (!has_clusters) {
    result->reset(from_best ? own.best : own.first);
    return result;
  }
  const parallel::GroupDevices devices = clusters_of_groups(own.best, *own.groups, *own.clusters);
  result->reset(from_best && is_possible(devices, *own.clusters) ? devices : own.first_of_clusters);
  return result;
}

void GivenGraphs::take(std::size_t graph, bool has_clusters, const parallel::GroupDevices& devices) {
  Graph& own = graphs_[graph];
  own.groups->reset(has_clusters ? groups_of_clusters(*own.clusters, devices, *own.groups) : devices);
  const std::pair value(own.groups->value(), own.groups->potential());
  if (!(value < own.best_value)) return;
  own.best = own.groups->devices();
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
      if (is_possible(devices, *graphs_[number].groups)) take(number, false, devices);
    }
  }
}

}  // namespace xflow::policy
