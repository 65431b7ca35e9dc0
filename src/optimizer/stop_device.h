// What ends the timing of kernels.
#pragma once

#include <cstdint>

#include "src/kernels/device.h"
#include "src/search/run_limits.h"

namespace xflow::api {

// Timing kernels and running whole models there end with the run.
inline void end_with(cost::Device& device, const RunLimits& limits) {
  device.stop_when([&limits] { return limits.is_over(); });
  device.set_seconds_left([&limits] { return limits.seconds_left(); });
}

// Timing kernels ends with the search, and a kernel has a part of the memory: several ways to compute it lie beside each other.
class StopDevice {
 public:
  StopDevice(cost::Device& device, const RunLimits& limits, const RunLimits* afterwards) : device_(device), afterwards_(afterwards) {
    device.stop_when([&limits] { return limits.ends_search().has_value(); });
    device.set_seconds_left([&limits] { return limits.search_seconds_left(); });
    if (limits.max_bytes() == 0) return;
    device.set_most_bytes(limits.max_bytes() / kKernelsInMemory);
    device.set_bytes_left([&limits] { return limits.bytes_left(); });
  }
  ~StopDevice() {
    device_.stop_when(nullptr);
    device_.set_bytes_left(nullptr);
    device_.set_seconds_left(nullptr);
    if (afterwards_ != nullptr) end_with(device_, *afterwards_);
  }
  StopDevice(const StopDevice&) = delete;
  StopDevice& operator=(const StopDevice&) = delete;

 private:
  static constexpr std::uint64_t kKernelsInMemory = 4;
  cost::Device& device_;
  const RunLimits* afterwards_;  // what ends timing kernels when there is no search any more
};

}  // namespace xflow::api
