// Loads of devices under a placement that changes by one group at a time.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "src/parallel/placement_problem.h"

namespace xflow::parallel {

// The load of an accelerator is its compute and the cost of every tensor of which it has some groups, but
// not all; that of a CPU is its compute. Loads are sums that are changed step by step and drift by rounding:
// reset() computes them from the placement.
class DeviceLoads {
 public:
  DeviceLoads(const PlacementProblem& problem, GroupDevices devices);

  const PlacementProblem& problem() const { return *problem_; }
  const GroupDevices& devices() const { return devices_; }
  std::uint32_t device_of(std::uint32_t group) const { return devices_[group]; }
  double load(std::uint32_t device) const { return loads_[device]; }
  double bytes(std::uint32_t device) const { return bytes_[device]; }
  double max_load() const { return *std::max_element(loads_.begin(), loads_.end()); }
  // Whether the device supports the group and has the memory for it.
  bool has_memory_for(std::uint32_t group, std::uint32_t device) const {
    if (!problem_->is_accelerator(device)) return true;
    const PlacementGroup& g = problem_->groups[group];
    return g.on_accelerator && bytes_[device] + g.bytes <= problem_->memory;
  }
  // Whether no accelerator has more than its memory or a group that it does not support.
  bool is_valid() const;

  void move(std::uint32_t group, std::uint32_t to);
  void reset(GroupDevices devices);

 private:
  void count(std::uint32_t group, std::uint32_t device, bool enters);

  const PlacementProblem* problem_;
  GroupDevices devices_;
  std::vector<double> loads_;
  std::vector<double> bytes_;
  std::vector<std::uint32_t> counts_;  // [tensor * accelerators + accelerator]: groups of the tensor there
};

inline void DeviceLoads::count(std::uint32_t group, std::uint32_t device, bool enters) {
  const PlacementGroup& g = problem_->groups[group];
  if (!problem_->is_accelerator(device)) {
    loads_[device] += enters ? g.cpu_time : -g.cpu_time;
    return;
  }
  double load = loads_[device] + (enters ? g.accelerator_time : -g.accelerator_time);
  bytes_[device] += enters ? g.bytes : -g.bytes;
  for (const std::uint32_t tensor : problem_->tensors_of[group]) {
    std::uint32_t& count = counts_[std::size_t{tensor} * problem_->accelerators + device];
    const auto all = static_cast<std::uint32_t>(problem_->tensors[tensor].groups.size());
    const std::uint32_t fewer = enters ? count : count - 1;  // groups there without this one
    if (fewer == 0) load += enters ? problem_->tensors[tensor].cost : -problem_->tensors[tensor].cost;
    if (fewer + 1 == all) load -= enters ? problem_->tensors[tensor].cost : -problem_->tensors[tensor].cost;
    count = enters ? count + 1 : count - 1;
  }
  loads_[device] = load;
}

inline void DeviceLoads::move(std::uint32_t group, std::uint32_t to) {
  count(group, devices_[group], false);
  count(group, to, true);
  devices_[group] = to;
}

}  // namespace xflow::parallel
