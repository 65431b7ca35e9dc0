#include "src/devices/device_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "src/cost/database.h"
#include "src/cost/kernel_estimates.h"
#include "src/devices/cpu/cpu_device.h"
#include "src/devices/device_kind.h"
#include "src/devices/gpu/gpu_device.h"
#include "src/devices/own/own_device.h"
#include "src/devices/profile/profile_device.h"
#include "src/devices/runner/runner_device.h"

namespace xflow::api {
namespace {

// Seconds. A started runner may load a large runtime.
constexpr double kStartPatience = 120;
constexpr double kHurriedPatience = 10;

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
  return std::max(kLeastPatience, std::min({kStartPatience, options.device.max_kernel_time.count(), seconds_left}));
}

double hurried_patience(const OptimizeOptions& options) { return std::min(options.validation.max_measure_time.count(), kHurriedPatience); }

Error error_of_start(const Error& error) {
  return {error.code == ErrorCode::limit ? ErrorCode::limit : ErrorCode::unsupported, error.text(), {}};
}

bool runs_models(const DeviceOptions& options) { return !options.runner.empty() || (options.own != nullptr && options.own->runs_models()); }

Result<void> DeviceCosts::open(const OptimizeOptions& options, const std::function<std::size_t()>& bytes_of_run, double seconds_left) {
  if (options.device.own != nullptr) {
    other = std::make_unique<cost::own::OwnDevice>(options.device.own, options.device.threads);
    this->options = options.device;
    return {};
  }
  const std::string device = !options.device.name.empty() ? options.device.name : options.device.runner.empty() ? "cpu" : "runner";
  const DeviceKind* kind = find_device_kind(device);
  if (kind == nullptr) return no_device(device);
  std::optional<std::string> argument;
  if (const std::size_t colon = device.find(':'); colon != std::string::npos) argument = device.substr(colon + 1);
  if (!options.device.priced_as.empty() && kind->name != "profile")
    return fail(ErrorCode::invalid_argument,
                fmt::format("times as {} need a profile as the device, not '{}'", options.device.priced_as, device));
  XFLOW_CHECK(kind->open(*this, {options, std::move(argument), bytes_of_run, seconds_left}));
  this->options = options.device;
  return {};
}

bool DeviceCosts::can_be_kept() const {
  if (runner != nullptr || profile != nullptr) return false;
  if (gpu == nullptr) return true;
  const auto probe = cost::gpu::Block::allocate(gpu->gpu(), cost::gpu::kAlignment);
  return probe || probe.error().code == ErrorCode::limit;
}

bool DeviceCosts::serves(const OptimizeOptions& wanted, const std::function<std::size_t()>& bytes_of_run) const {
  if (options != wanted.device || !can_be_kept()) return false;
  return wanted.device.caches != CacheState::automatic || !cache_footprint_for || cache_footprint_for(bytes_of_run()) == cache_footprint;
}

}  // namespace xflow::api
