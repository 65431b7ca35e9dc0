// The latency of placements of groups, many times.
#pragma once

#include <vector>

#include "src/parallel/device_loads.h"
#include "src/parallel/instance.h"

namespace xflow::parallel {

// Computes what latency_of() defines for placements whose parts no path enters again; other placements have
// an infinite latency, and so have those whose parts wait for each other.
class LatencyClock {
 public:
  LatencyClock(const PlacementInstance& instance, std::vector<std::uint32_t> group_of_node);

  // Infinite also if the latency is above `limit`. Devices of `loads` from its number of accelerators on are
  // CPUs with a core for each node.
  double latency(const DeviceLoads& loads, double limit = kInfinity);

 private:
  struct Task {
    double ready = 0;
    std::uint32_t missing = 0;  // edges from tasks that have not ended
  };

  // Task of a node: the accelerator, or one for each node on a CPU.
  std::uint32_t task_of(const DeviceLoads& loads, std::uint32_t node) const {
    const std::uint32_t device = loads.device_of(group_of_node_[node]);
    return device < accelerators_ ? device : accelerators_ + node;
  }
  void collect(const DeviceLoads& loads);
  void end(std::uint32_t node, std::uint32_t task, double time);

  std::vector<std::uint32_t> group_of_node_;
  std::vector<double> cpu_times_;
  Adjacency readers_;
  std::uint32_t accelerators_ = 0;
  // Of the placement that is timed.
  std::vector<std::uint32_t> tasks_of_nodes_;
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> next_on_device_;  // list of the nodes of each accelerator
  std::vector<std::uint32_t> first_on_device_;
  std::vector<std::uint32_t> ready_;
};

}  // namespace xflow::parallel
