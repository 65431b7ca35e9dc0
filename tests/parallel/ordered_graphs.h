// Random steps whose order is planned, and a slow simulator that follows the definition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/parallel/ordered_step.h"
#include "src/parallel/random_numbers.h"

namespace xflow::parallel {

// A problem that owns its parts. Times are multiples of 1/8, so that sums are exact in any order.
struct OrderedCase {
  DeviceCluster cluster;
  Workload workload;
  std::vector<FusionChoice> fusions;
  OrderedProblem problem() const { return {workload, cluster, fusions}; }
};

inline OrderedCase random_ordered_case(RandomNumbers& random, std::uint32_t most_nodes, std::uint32_t most_devices = 5) {
  OrderedCase made;
  made.cluster = {"random", {}, 1 + random.below(3), {random.below(3) / 4.0, 2}, {random.below(8) / 8.0, 0.5}};
  const std::uint32_t devices = 1 + random.below(most_devices);
  for (std::uint32_t k = 0; k < devices; ++k)
    made.cluster.devices.push_back(
        {std::to_string(k), "x", random.below(made.cluster.hosts), 1.0 * random.below(4 * most_nodes), {0, 1, 1}});
  const std::uint32_t nodes = 1 + random.below(most_nodes);
  std::vector<std::uint32_t> only_reader(nodes, UINT32_MAX);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    WorkloadNode own{{}, 1.0 * random.below(8)};
    for (std::uint32_t k = 0; k < devices; ++k) own.seconds.push_back(random.below(5) == 0 ? 0 : 1 + random.below(64) / 8.0);
    made.workload.nodes.push_back(std::move(own));
    bool is_fusible = false;
    const std::uint32_t tensors = random.below(3);
    const std::uint32_t chosen = node + 1 < nodes ? node + 1 + random.below(std::min(4U, nodes - node - 1)) : nodes;
    for (std::uint32_t k = 0; k < tensors; ++k) {
      WorkloadTensor tensor{node, random.below(16) / 4.0, {}};
      if (random.below(2) == 0 && chosen < nodes) {
        tensor.readers = {chosen};
      } else {
        for (std::uint32_t reader = node + 1; reader < std::min(nodes, node + 8); ++reader)
          if (random.below(4) == 0) tensor.readers.push_back(reader);
      }
      is_fusible = (k == 0 || is_fusible) && tensor.readers == std::vector{chosen};
      made.workload.tensors.push_back(std::move(tensor));
    }
    if (tensors > 0 && is_fusible && random.below(4) > 0) made.fusions.push_back({node, chosen, random.below(16) / 8.0});
  }
  return made;
}

// Priorities are small integers, so that many are equal.
inline OrderedPlan random_ordered_plan(const OrderedCase& made, RandomNumbers& random) {
  OrderedPlan plan;
  for (std::size_t node = 0; node < made.workload.nodes.size(); ++node) {
    plan.devices.push_back(random.below(made.cluster.size()));
    plan.priorities.push_back(static_cast<float>(random.below(6)) - 3);
  }
  for (std::size_t k = 0; k < made.fusions.size(); ++k) plan.fused.push_back(random.below(2) == 0);
  return plan;
}

// The step from the definition: lists of tasks that are searched as a whole at each time.
class LiteralStep {
 public:
  LiteralStep(const OrderedProblem& problem, const OrderedPlan& plan) : problem_(problem), plan_(plan) {
    const std::size_t nodes = problem.workload.nodes.size();
    for (std::uint32_t node = 0; node < nodes; ++node) root_.push_back(root_of(node));
    std::map<std::uint32_t, std::size_t> task_of;
    for (std::uint32_t node = 0; node < nodes; ++node)
      if (root_[node] == node) {
        task_of[node] = tasks_.size();
        tasks_.push_back({plan.devices[node], plan.priorities[node], node, 0, seconds_of(node), {}});
      }
    for (std::uint32_t tensor = 0; tensor < problem.workload.tensors.size(); ++tensor) {
      const WorkloadTensor& own = problem.workload.tensors[tensor];
      const std::uint32_t from = root_[own.source];
      std::map<std::uint32_t, std::size_t> sent;
      for (const std::uint32_t reader : own.readers) {
        const std::uint32_t to = root_[reader];
        if (to == from) continue;
        const std::uint32_t device = plan.devices[to];
        std::size_t needed = task_of[from];
        if (device != plan.devices[from]) {
          if (!sent.contains(device)) {
            sent[device] = tasks_.size();
            tasks_.push_back({problem.cluster.link_resource(plan.devices[from], device),
                              plan.priorities[to],
                              tensor,
                              device,
                              problem.cluster.link(plan.devices[from], device).seconds(own.bytes),
                              {task_of[from]}});
          }
          needed = sent[device];
          tasks_[needed].priority = std::max(tasks_[needed].priority, plan.priorities[to]);
        }
        tasks_[task_of[to]].needs.push_back(needed);
      }
    }
  }

  OrderedStep run() {
    double now = 0;
    for (std::size_t ended = 0; ended < tasks_.size();) {
      std::map<std::uint32_t, std::size_t> chosen;
      std::map<std::uint32_t, bool> is_busy;
      for (const LiteralTask& task : tasks_)
        if (task.end >= 0 && !task.has_ended) is_busy[task.resource] = true;
      for (std::size_t k = 0; k < tasks_.size(); ++k) {
        const LiteralTask& task = tasks_[k];
        const auto has_ended = [&](std::size_t other) { return tasks_[other].has_ended; };
        if (task.end >= 0 || is_busy[task.resource] || !std::ranges::all_of(task.needs, has_ended)) continue;
        const auto turn = [&](std::size_t other) {
          return std::tuple(-tasks_[other].priority, tasks_[other].number, tasks_[other].device);
        };
        if (!chosen.contains(task.resource) || turn(k) < turn(chosen[task.resource])) chosen[task.resource] = k;
      }
      for (const auto& choice : chosen) tasks_[choice.second].end = now + tasks_[choice.second].seconds;
      now = std::numeric_limits<double>::infinity();
      for (const LiteralTask& task : tasks_)
        if (task.end >= 0 && !task.has_ended) now = std::min(now, task.end);
      for (LiteralTask& task : tasks_) {
        if (task.end != now || task.has_ended) continue;
        task.has_ended = true;
        ++ended;
      }
    }
    return {now, missing()};
  }

 private:
  struct LiteralTask {
    std::uint32_t resource = 0;
    float priority = 0;
    std::uint32_t number = 0;  // of the node or tensor
    std::uint32_t device = 0;  // that a transfer is for
    double seconds = 0;
    std::vector<std::size_t> needs;
    double end = -1;
    bool has_ended = false;
  };

  std::uint32_t root_of(std::uint32_t node) const {
    for (std::size_t k = 0; k < plan_.fused.size(); ++k)
      if (problem_.fusions[k].node == node && plan_.fused[k]) return root_of(problem_.fusions[k].into);
    return node;
  }
  double seconds_of(std::uint32_t root) const {
    double seconds = 0;
    for (std::uint32_t node = 0; node < root_.size(); ++node)
      if (root_[node] == root) seconds += problem_.workload.nodes[node].seconds[plan_.devices[root]];
    for (std::size_t k = 0; k < plan_.fused.size(); ++k)
      if (plan_.fused[k] && root_[problem_.fusions[k].node] == root) seconds -= problem_.fusions[k].saved;
    return std::max(seconds, 0.0);
  }
  double missing() const {
    double missing = 0;
    for (std::uint32_t device = 0; device < problem_.cluster.size(); ++device) {
      double bytes = 0;
      for (std::uint32_t node = 0; node < root_.size(); ++node)
        if (plan_.devices[root_[node]] == device) bytes += problem_.workload.nodes[node].bytes;
      missing += std::max(0.0, bytes - problem_.cluster.devices[device].memory);
    }
    return missing;
  }

  OrderedProblem problem_;
  const OrderedPlan& plan_;
  std::vector<std::uint32_t> root_;  // of nodes
  std::vector<LiteralTask> tasks_;
};

}  // namespace xflow::parallel
