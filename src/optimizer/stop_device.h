// Ends the timing of kernels with the run or with the search.
#pragma once

#include <cstdint>

#include "src/kernels/device.h"
#include "src/search/run_limits.h"

namespace xflow::api {

// Ends timing kernels and running models on the device with the run.
inline void end_with(cost::Device& device, const RunLimits& limits) {
  device.stop_when([&limits] { return limits.is_over(); });
  device.set_seconds_left([&limits] { return limits.seconds_left(); });
}

// Ends timing kernels with the search while it lives. A kernel may use a quarter of the memory limit, since
// several ways to compute it are in memory at once.
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
  const RunLimits* afterwards_;  // limits that end timing kernels after the search; null: none
};

}  // namespace xflow::api
