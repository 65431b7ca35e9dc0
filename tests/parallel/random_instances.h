// Random instances that are small enough to try all placements, and slow evaluators that follow definitions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "src/parallel/evaluate.h"
#include "src/parallel/instance.h"
#include "src/parallel/placement_problem.h"
#include "src/parallel/random_numbers.h"

namespace xflow::parallel {

inline constexpr double kTolerance = 1e-6;  // sums in another order differ in their last digits

struct InstanceShape {
  std::uint32_t most_nodes = 7;
  bool has_backward = true;
  bool has_colours = true;
  bool needs_cpu = false;  // at least one CPU
};

// Nodes in a topological order, times of whole numbers, some of them 0; memory that sometimes matters.
inline PlacementInstance random_instance(std::uint64_t seed, const InstanceShape& shape = {}) {
  RandomNumbers random(seed);
  PlacementInstance instance;
  instance.accelerators = 1 + random.below(3);
  instance.cpus = random.below(2) + (shape.needs_cpu ? 1 : 0);
  const std::uint32_t nodes = 2 + random.below(shape.most_nodes - 1);
  const std::uint32_t forward = shape.has_backward && random.below(2) == 0 ? (nodes + 1) / 2 : nodes;
  double bytes = 0;
  for (std::uint32_t k = 0; k < nodes; ++k) {
    PlacementNode node;
    node.id = 100 - 3 * static_cast<std::int64_t>(k);
    node.cpu_time = random.below(4) == 0 ? 0 : random.below(30);
    node.accelerator_time = random.below(4) == 0 ? 0 : random.below(10);
    node.bytes = random.below(5);
    node.on_accelerator = instance.cpus == 0 || random.below(8) != 0;
    node.is_backward = k >= forward;
    if (shape.has_colours && random.below(2) == 0) node.colour = random.below(4);
    bytes += node.bytes;
    instance.nodes.push_back(node);
  }
  instance.memory = random.below(2) == 0 ? bytes : bytes / 2 + 3;
  for (std::uint32_t k = 0; k < nodes; ++k) {
    instance.output_cost.push_back(random.below(4) == 0 ? 0 : random.below(8));
    for (std::uint32_t to = k + 1; to < nodes; ++to) {
      if (random.below(3) == 0) instance.edges.push_back({k, to});
    }
  }
  return instance;
}

// Loads from the definition, node by node and device by device.
inline double literal_max_load(const PlacementInstance& instance, const NodeDevices& devices) {
  double most = 0;
  for (std::uint32_t device = 0; device < instance.devices(); ++device) {
    double load = 0;
    for (std::uint32_t k = 0; k < instance.nodes.size(); ++k) {
      const bool is_here = devices[k] == device;
      bool reader_here = false;
      bool reader_elsewhere = false;
      for (const PlacementEdge& edge : instance.edges) {
        if (edge.from != k) continue;
        (devices[edge.to] == device ? reader_here : reader_elsewhere) = true;
      }
      if (device >= instance.accelerators) {
        load += is_here ? instance.nodes[k].cpu_time : 0;
      } else if (is_here) {
        load += instance.nodes[k].accelerator_time + (reader_elsewhere ? instance.output_cost[k] : 0);
      } else {
        load += reader_here ? instance.output_cost[k] : 0;
      }
    }
    most = std::max(most, load);
  }
  return most;
}

// The latency by recursion from node to node; nothing if a part waits for itself.
inline std::optional<double> literal_latency(const PlacementInstance& instance, const NodeDevices& devices) {
  bool waits = false;
  const std::function<double(std::uint32_t, std::set<std::uint32_t>)> end_of = [&](std::uint32_t node, std::set<std::uint32_t> open) {
    const std::uint32_t device = devices[node];
    const bool on_accelerator = device < instance.accelerators;
    if (on_accelerator && !open.insert(device).second) waits = true;
    if (waits) return 0.0;
    double start = 0;
    double time = 0;
    std::set<std::uint32_t> inputs;
    std::set<std::uint32_t> outputs;
    for (const PlacementEdge& edge : instance.edges) {
      const bool from_part = on_accelerator ? devices[edge.from] == device : edge.from == node;
      const bool to_part = on_accelerator ? devices[edge.to] == device : edge.to == node;
      if (from_part && !to_part) outputs.insert(edge.from);
      if (!from_part && to_part) inputs.insert(edge.from);
    }
    for (const std::uint32_t input : inputs) {
      start = std::max(start, end_of(input, open));
      time += on_accelerator ? instance.output_cost[input] : 0;
    }
    for (const std::uint32_t output : outputs) time += on_accelerator ? instance.output_cost[output] : 0;
    for (std::uint32_t k = 0; k < instance.nodes.size(); ++k) {
      if (on_accelerator && devices[k] == device) time += instance.nodes[k].accelerator_time;
    }
    return start + time + (on_accelerator ? 0 : instance.nodes[node].cpu_time);
  };
  double last = 0;
  for (std::uint32_t k = 0; k < instance.nodes.size(); ++k) last = std::max(last, end_of(k, {}));
  if (waits) return std::nullopt;
  return last;
}

// Calls `visit` with each placement of the groups that is valid.
inline void for_each_placement(const PlacementInstance& instance,
                               const std::function<void(const GroupDevices&, const NodeDevices&)>& visit) {
  const std::vector<std::uint32_t> group_of_node = groups_of_nodes(instance);
  GroupDevices devices(*std::max_element(group_of_node.begin(), group_of_node.end()) + std::size_t{1}, 0);
  for (;;) {
    const NodeDevices of_nodes = node_devices(group_of_node, devices);
    if (is_valid(instance, of_nodes)) visit(devices, of_nodes);
    std::size_t k = 0;
    while (k < devices.size() && ++devices[k] == instance.devices()) devices[k++] = 0;
    if (k == devices.size()) return;
  }
}

// Whether the parts have an order in which each edge of the problem's order leads to the same or a later
// part.
inline bool is_contiguous(const PlacementProblem& problem, const GroupDevices& devices) {
  std::vector<PlacementEdge> edges;
  for (const PlacementEdge& edge : problem.order) {
    if (devices[edge.from] != devices[edge.to]) edges.push_back({devices[edge.from], devices[edge.to]});
  }
  return !node_of_cycle(problem.devices(), edges);
}

// The smallest values of all placements.
struct BruteForce {
  double load = std::numeric_limits<double>::infinity();
  double contiguous_load = std::numeric_limits<double>::infinity();
  double latency = std::numeric_limits<double>::infinity();
};
inline BruteForce brute_force(const PlacementInstance& instance) {
  BruteForce best;
  const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
  for_each_placement(instance, [&](const GroupDevices& groups, const NodeDevices& nodes) {
    const double load = literal_max_load(instance, nodes);
    best.load = std::min(best.load, load);
    if (is_contiguous(problem, groups)) best.contiguous_load = std::min(best.contiguous_load, load);
    if (const auto latency = literal_latency(instance, nodes)) best.latency = std::min(best.latency, *latency);
  });
  return best;
}

}  // namespace xflow::parallel
