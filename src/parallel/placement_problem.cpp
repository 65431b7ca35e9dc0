#include "src/parallel/placement_problem.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace xflow::parallel {
namespace {

void sort_unique(std::vector<std::uint32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Tensors by source and sorted readers.
using TensorCosts = std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, double>;

void add_tensors(PlacementProblem& problem, const TensorCosts& costs) {
  problem.tensors_of.resize(problem.groups.size());
  // Sources do not matter any more: a tensor costs the same for its source as for a reader.
  std::map<std::vector<std::uint32_t>, double> by_groups;
  for (const auto& [key, cost] : costs) {
    std::vector<std::uint32_t> groups = key.second;
    groups.push_back(key.first);
    sort_unique(groups);
    by_groups[groups] += cost;
  }
  for (const auto& [groups, cost] : by_groups) {
    if (!(cost > 0)) continue;
    for (const std::uint32_t group : groups) problem.tensors_of[group].push_back(static_cast<std::uint32_t>(problem.tensors.size()));
    problem.tensors.push_back({groups, cost});
  }
}

// A group that no accelerator can hold is not for accelerators.
void exclude_large_groups(PlacementProblem& problem) {
  for (PlacementGroup& group : problem.groups) {
    if (problem.accelerators == 0 || group.bytes > problem.memory) group.on_accelerator = false;
  }
}

// The edges that contiguous placements respect.
std::vector<PlacementEdge> order_of(const PlacementInstance& instance, std::span<const std::uint32_t> group_of_node, std::size_t groups) {
  std::vector<bool> has_forward(groups);
  for (std::size_t k = 0; k < instance.nodes.size(); ++k) {
    if (!instance.nodes[k].is_backward) has_forward[group_of_node[k]] = true;
  }
  std::vector<PlacementEdge> order;
  for (const PlacementEdge& edge : instance.edges) {
    const bool from_backward = instance.nodes[edge.from].is_backward;
    const bool to_backward = instance.nodes[edge.to].is_backward;
    const std::uint32_t from = group_of_node[edge.from];
    const std::uint32_t to = group_of_node[edge.to];
    if (from == to) continue;
    if (!from_backward && !to_backward) order.push_back({from, to});
    if (from_backward && to_backward && !(has_forward[from] && has_forward[to])) order.push_back({to, from});
  }
  std::sort(order.begin(), order.end());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  return order;
}

// Neighbours of each group by tensors and order.
std::vector<std::vector<std::uint32_t>> neighbours_of(const PlacementProblem& problem) {
  std::vector<std::vector<std::uint32_t>> neighbours(problem.groups.size());
  for (const GroupTensor& tensor : problem.tensors) {
    for (const std::uint32_t group : tensor.groups) {
      // Two are enough to know that there is more than one.
      std::size_t others = 0;
      for (const std::uint32_t other : tensor.groups) {
        if (other == group) continue;
        neighbours[group].push_back(other);
        if (++others == 2) break;
      }
    }
  }
  for (const PlacementEdge& edge : problem.order) {
    neighbours[edge.from].push_back(edge.to);
    neighbours[edge.to].push_back(edge.from);
  }
  for (auto& list : neighbours) sort_unique(list);
  return neighbours;
}

// New numbers of groups after each was merged into `into` of itself (itself: not merged). Follows chains.
std::uint32_t renumber(std::vector<std::uint32_t>& into) {
  for (std::size_t k = 0; k < into.size(); ++k) {
    std::uint32_t root = into[k];
    while (into[root] != root) root = into[root];
    into[k] = root;
  }
  std::vector<std::uint32_t> number(into.size());
  std::uint32_t roots = 0;
  for (std::uint32_t k = 0; k < into.size(); ++k) {
    if (into[k] == k) number[k] = roots++;
  }
  for (std::uint32_t& root : into) root = number[root];
  return roots;
}

// One round of merging groups without compute into their only neighbours; false if there are none.
bool merge_free_groups(ContiguousProblem& current) {
  const PlacementProblem& problem = current.problem;
  const double all_bytes =
      std::accumulate(problem.groups.begin(), problem.groups.end(), 0.0, [](double sum, const PlacementGroup& g) { return sum + g.bytes; });
  const bool memory_matters = problem.accelerators > 0 && all_bytes > problem.memory;
  const auto neighbours = neighbours_of(problem);
  std::vector<std::uint32_t> into(problem.groups.size());
  std::iota(into.begin(), into.end(), 0U);
  std::vector<bool> is_target(problem.groups.size());
  bool merged = false;
  for (std::uint32_t k = 0; k < problem.groups.size(); ++k) {
    const PlacementGroup& group = problem.groups[k];
    if (group.cpu_time > 0 || group.accelerator_time > 0 || !group.on_accelerator) continue;
    if (group.bytes > 0 && memory_matters) continue;
    if (neighbours[k].size() != 1 || is_target[k]) continue;
    const std::uint32_t target = neighbours[k][0];
    if (into[target] != target) continue;
    into[k] = target;
    is_target[target] = true;
    merged = true;
  }
  if (!merged) return false;
  const std::uint32_t parts = renumber(into);
  current.problem = merge(problem, into, parts);
  for (std::uint32_t& part : current.part) part = into[part];
  return true;
}

}  // namespace

std::vector<std::uint32_t> groups_of_nodes(const PlacementInstance& instance) {
  std::vector<std::uint32_t> result;
  std::unordered_map<std::int64_t, std::uint32_t> group_of_colour;
  std::uint32_t groups = 0;
  for (const PlacementNode& node : instance.nodes) {
    if (node.colour) {
      const auto [at, is_new] = group_of_colour.emplace(*node.colour, groups);
      groups += is_new ? 1 : 0;
      result.push_back(at->second);
    } else {
      result.push_back(groups++);
    }
  }
  return result;
}

PlacementProblem merge(const PlacementInstance& instance, std::span<const std::uint32_t> group_of_node) {
  PlacementProblem problem;
  problem.accelerators = instance.accelerators;
  problem.cpus = instance.cpus;
  problem.memory = instance.memory;
  for (std::size_t k = 0; k < instance.nodes.size(); ++k) {
    if (group_of_node[k] >= problem.groups.size()) problem.groups.resize(group_of_node[k] + std::size_t{1});
    PlacementGroup& group = problem.groups[group_of_node[k]];
    const PlacementNode& node = instance.nodes[k];
    group.cpu_time += node.cpu_time;
    group.accelerator_time += node.accelerator_time;
    group.bytes += node.bytes;
    group.on_accelerator = group.on_accelerator && node.on_accelerator;
  }
  exclude_large_groups(problem);
  TensorCosts costs;
  for (std::size_t k = 0; k < instance.edges.size();) {
    const std::uint32_t from = instance.edges[k].from;
    std::vector<std::uint32_t> readers;
    for (; k < instance.edges.size() && instance.edges[k].from == from; ++k) {
      const std::uint32_t reader = group_of_node[instance.edges[k].to];
      if (reader != group_of_node[from]) readers.push_back(reader);
    }
    if (readers.empty()) continue;
    sort_unique(readers);
    costs[{group_of_node[from], readers}] += instance.output_cost[from];
  }
  add_tensors(problem, costs);
  problem.order = order_of(instance, group_of_node, problem.groups.size());
  return problem;
}

PlacementProblem merge(const PlacementProblem& problem, std::span<const std::uint32_t> part, std::uint32_t parts) {
  PlacementProblem merged;
  merged.accelerators = problem.accelerators;
  merged.cpus = problem.cpus;
  merged.memory = problem.memory;
  merged.groups.resize(parts);
  for (std::size_t k = 0; k < problem.groups.size(); ++k) {
    const PlacementGroup& group = problem.groups[k];
    PlacementGroup& into = merged.groups[part[k]];
    into.cpu_time += group.cpu_time;
    into.accelerator_time += group.accelerator_time;
    into.bytes += group.bytes;
    into.on_accelerator = into.on_accelerator && group.on_accelerator;
  }
  exclude_large_groups(merged);
  TensorCosts costs;
  for (const GroupTensor& tensor : problem.tensors) {
    std::vector<std::uint32_t> groups;
    groups.reserve(tensor.groups.size());
    for (const std::uint32_t group : tensor.groups) groups.push_back(part[group]);
    sort_unique(groups);
    if (groups.size() > 1) costs[{groups[0], groups}] += tensor.cost;
  }
  add_tensors(merged, costs);
  for (const PlacementEdge& edge : problem.order) {
    if (part[edge.from] != part[edge.to]) merged.order.push_back({part[edge.from], part[edge.to]});
  }
  std::sort(merged.order.begin(), merged.order.end());
  merged.order.erase(std::unique(merged.order.begin(), merged.order.end()), merged.order.end());
  return merged;
}

ContiguousProblem contiguous_problem(const PlacementProblem& problem) {
  ContiguousProblem result;
  result.part = components(problem.size(), problem.order);
  const std::uint32_t parts = result.part.empty() ? 0 : *std::max_element(result.part.begin(), result.part.end()) + 1;
  result.problem = merge(problem, result.part, parts);
  // A round takes time that is linear in the size, and a long chain would take a round for each group.
  constexpr int kMostRounds = 64;
  for (int k = 0; k < kMostRounds && merge_free_groups(result); ++k) {
  }
  return result;
}

}  // namespace xflow::parallel
