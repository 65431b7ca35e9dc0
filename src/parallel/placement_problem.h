// The problem that methods search: groups of nodes that share a device, and the tensors that they exchange.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "src/parallel/instance.h"
#include "src/parallel/ordering.h"

namespace xflow::parallel {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The nodes of one colour class, or a node without one.
struct PlacementGroup {
  double cpu_time = 0;
  double accelerator_time = 0;
  double bytes = 0;
  bool on_accelerator = true;  // all nodes are supported, and an accelerator has the memory
};

// Outputs of one group with the same other groups as readers; their costs are added. An accelerator with
// some, but not all, of its groups pays the cost once: it sends the tensor or receives it.
struct GroupTensor {
  std::vector<std::uint32_t> groups;  // source and readers, at least two, ascending
  double cost = 0;                    // positive
};

struct PlacementProblem {
  std::uint32_t accelerators = 0;
  std::uint32_t cpus = 0;
  double memory = 0;
  std::vector<PlacementGroup> groups;
  std::vector<GroupTensor> tensors;
  std::vector<std::vector<std::uint32_t>> tensors_of;  // of each group, ascending
  // What contiguous placements respect: forward edges, and the reverse of edges of groups that have backward
  // nodes alone. May have cycles.
  std::vector<PlacementEdge> order;

  std::uint32_t size() const { return static_cast<std::uint32_t>(groups.size()); }
  std::uint32_t devices() const { return accelerators + cpus; }
  bool is_accelerator(std::uint32_t device) const { return device < accelerators; }
};

// Device of each group.
using GroupDevices = std::vector<std::uint32_t>;

// Group of each node, numbered by first nodes.
std::vector<std::uint32_t> groups_of_nodes(const PlacementInstance& instance);

// Merges nodes and tensors of an instance.
PlacementProblem merge(const PlacementInstance& instance, std::span<const std::uint32_t> group_of_node);

// Merges groups: `part` is the new group of each group. Tensors inside one new group disappear.
PlacementProblem merge(const PlacementProblem& problem, std::span<const std::uint32_t> part, std::uint32_t parts);

// A problem with an acyclic order whose contiguous placements include a best one of the original problem.
struct ContiguousProblem {
  PlacementProblem problem;
  std::vector<std::uint32_t> part;  // of each group of the original problem: its group here
};

// Merges cycles of the order, and groups without compute that have a single neighbour into this neighbour.
ContiguousProblem contiguous_problem(const PlacementProblem& problem);

}  // namespace xflow::parallel
