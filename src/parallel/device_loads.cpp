#include "src/parallel/device_loads.h"

#include <utility>

namespace xflow::parallel {

DeviceLoads::DeviceLoads(const PlacementProblem& problem, GroupDevices devices) : problem_(&problem) { reset(std::move(devices)); }

void DeviceLoads::reset(GroupDevices devices) {
  devices_ = std::move(devices);
  loads_.assign(problem_->devices(), 0);
  bytes_.assign(problem_->devices(), 0);
  counts_.assign(problem_->tensors.size() * problem_->accelerators, 0);
  for (std::uint32_t group = 0; group < problem_->size(); ++group) count(group, devices_[group], true);
}

bool DeviceLoads::is_valid() const {
  for (std::uint32_t group = 0; group < problem_->size(); ++group) {
    if (problem_->is_accelerator(devices_[group]) && !problem_->groups[group].on_accelerator) return false;
  }
  for (std::uint32_t device = 0; device < problem_->accelerators; ++device) {
    if (bytes_[device] > problem_->memory) return false;
  }
  return true;
}

}  // namespace xflow::parallel
