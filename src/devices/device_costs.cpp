#include "src/devices/device_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "src/cost/database.h"
#include "src/devices/cpu/cpu_device.h"
#include "src/devices/cpu/footprint.h"
#include "src/devices/device_plugin.h"
#include "src/devices/gpu/gpu_device.h"
#include "src/devices/profile/profile_device.h"
#include "src/devices/runner/runner_device.h"

namespace xflow::api {
namespace {

constexpr double kStartPatience = 120;  // of a runner that is started: it may load a large runtime
constexpr std::string_view kProfile = "profile:";

// As the options name them; nothing for those that fit.
Result<std::optional<std::size_t>> caches_of(const OptimizeOptions& options) {
  if (options.caches == "auto") return std::optional<std::size_t>();
  for (const std::size_t between : cost::cpu::kBetween)
    if (options.caches == cost::cpu::caches_name(between)) return std::optional(between);
  return fail(ErrorCode::invalid_argument, fmt::format("caches must be auto, warm, 4MiB, 16MiB or 64MiB, found '{}'", options.caches));
}

// "cuda" is the first one, "cuda:1" the second.
std::optional<int> gpu_number(std::string_view device) {
  constexpr std::string_view kCuda = "cuda";
  if (device == kCuda) return 0;
  if (!device.starts_with(kCuda) || device.size() < kCuda.size() + 2 || device[kCuda.size()] != ':') return std::nullopt;
  device.remove_prefix(kCuda.size() + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), number);
  return error == std::errc() && end == device.data() + device.size() && number >= 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

DeviceCosts::DeviceCosts() = default;
DeviceCosts::~DeviceCosts() = default;

cost::Device& DeviceCosts::device() const {
  if (runner) return *runner;
  if (gpu) return *gpu;
  return profile ? static_cast<cost::Device&>(*profile) : *cpu;
}

double start_patience(const OptimizeOptions& options, double seconds_left) {
  return std::max(kLeastPatience, std::min({kStartPatience, options.max_kernel_seconds, seconds_left}));
}

Result<void> DeviceCosts::open_runner(const OptimizeOptions& options, double seconds_left) {
  if (options.runner.empty()) return fail(ErrorCode::invalid_argument, "the device 'runner' needs the command of a runner");
  cost::runner::RunnerDeviceOptions runner_options;
  // What is left is less when another runner is started later: then Device::stop_when says what ends it.
  runner_options.runner = {options.runner, options.threads, start_patience(options, seconds_left)};
  runner_options.max_seconds = options.max_kernel_seconds;
  runner_options.patience = std::clamp(options.max_kernel_seconds, kLeastPatience, runner_options.patience);
  auto opened = cost::runner::RunnerDevice::open(runner_options);
  if (!opened) return fail(ErrorCode::unsupported, opened.error().text());
  runner = *std::move(opened);
  return {};
}

Result<void> DeviceCosts::open_gpu(const OptimizeOptions& options, int number, const std::function<std::size_t()>& bytes_of_run) {
  const auto plugin = cost::load_plugin("cuda");
  if (!plugin) return fail(plugin.error().code, fmt::format("device '{}' cannot be used: {}", options.device, plugin.error().message));
  cost::GpuSettings settings;
  settings.tf32 = options.tf32;
  settings.most_workspace = options.gpu_workspace;
  auto opened = (*plugin)->open(number, settings);
  if (!opened) return fail(opened.error().code, fmt::format("device '{}' cannot be used: {}", options.device, opened.error().message));
  opened_gpu = *std::move(opened);
  // What does not fit into the cache of the device is not there when the next run comes.
  XFLOW_TRY(const auto caches, caches_of(options));
  cost::gpu::GpuOptions gpu_options;
  const std::size_t cache = opened_gpu->cache_bytes();
  gpu_options.between = caches ? *caches : bytes_of_run() > cache ? 2 * cache : 0;
  gpu = std::make_unique<cost::gpu::GpuDevice>(*opened_gpu, gpu_options);
  return {};
}

Result<void> DeviceCosts::open(const OptimizeOptions& options, const std::function<std::size_t()>& bytes_of_run, double seconds_left) {
  XFLOW_TRY(const auto caches, caches_of(options));
  if (options.device == "runner" || (options.device.empty() && !options.runner.empty())) return open_runner(options, seconds_left);
  if (options.device.starts_with(kProfile)) {
    XFLOW_TRY(cost::profile::Profile read, cost::profile::read_profile(options.device.substr(kProfile.size())));
    profile = std::make_unique<cost::profile::ProfileDevice>(std::move(read));
    return {};
  }
  if (const auto number = gpu_number(options.device)) return open_gpu(options, *number, bytes_of_run);
  if (!options.device.empty() && options.device != "cpu")
    return fail(ErrorCode::unsupported, fmt::format("no device '{}'; there are: cpu, cuda:N, runner, profile:FILE", options.device));
  cost::cpu::CpuOptions cpu_options;
  cpu_options.threads = options.threads;
  cpu_options.between = caches ? *caches : cost::cpu::between_for(bytes_of_run(), options.threads);
  XFLOW_TRY(cpu, cost::cpu::open_cpu_device(cpu_options));
  return {};
}

}  // namespace xflow::api
