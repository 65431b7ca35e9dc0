#include "src/devices/device_costs.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "src/cost/database.h"
#include "src/devices/caches.h"
#include "src/devices/cpu/cpu_device.h"
#include "src/devices/device_kind.h"
#include "src/devices/gpu/gpu_device.h"
#include "src/devices/profile/profile_device.h"
#include "src/devices/runner/runner_device.h"

namespace xflow::api {
namespace {

constexpr double kStartPatience = 120;  // of a runner that is started: it may load a large runtime

}  // namespace

DeviceCosts::DeviceCosts() = default;
DeviceCosts::~DeviceCosts() = default;

cost::Device& DeviceCosts::device() const {
  if (other) return *other;
  if (runner) return *runner;
  if (gpu) return *gpu;
  return profile ? static_cast<cost::Device&>(*profile) : *cpu;
}

double start_patience(const OptimizeOptions& options, double seconds_left) {
  return std::max(kLeastPatience, std::min({kStartPatience, options.max_kernel_seconds, seconds_left}));
}

Result<void> DeviceCosts::open(const OptimizeOptions& options, const std::function<std::size_t()>& bytes_of_run, double seconds_left) {
  XFLOW_CHECK(caches_of(options));
  const std::string device = !options.device.empty() ? options.device : options.runner.empty() ? "cpu" : "runner";
  const DeviceKind* kind = find_device_kind(device);
  if (kind == nullptr) return no_device(device);
  std::optional<std::string> argument;
  if (const std::size_t colon = device.find(':'); colon != std::string::npos) argument = device.substr(colon + 1);
  return kind->open(*this, {options, std::move(argument), bytes_of_run, seconds_left});
}

}  // namespace xflow::api
