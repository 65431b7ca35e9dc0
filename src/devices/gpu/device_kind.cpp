#include "src/devices/device_kind.h"

#include <fmt/format.h>

#include <charconv>

#include "src/devices/caches.h"
#include "src/devices/device_costs.h"
#include "src/devices/device_plugin.h"
#include "src/devices/gpu/gpu_device.h"

namespace xflow::api {
namespace {

// "cuda" is the first GPU, "cuda:1" the second.
std::optional<int> gpu_number(const std::optional<std::string>& argument) {
  if (!argument) return 0;
  int number = 0;
  const char* const last = argument->data() + argument->size();
  const auto [end, error] = std::from_chars(argument->data(), last, number);
  return error == std::errc() && end == last && number >= 0 ? std::optional(number) : std::nullopt;
}

Result<void> open_gpu(DeviceCosts& costs, const DeviceRequest& request) {
  const OptimizeOptions& options = request.options;
  const auto number = gpu_number(request.argument);
  if (!number) return no_device(options.device.name);
  const auto plugin = cost::load_plugin("cuda");
  if (!plugin) return fail(plugin.error().code, fmt::format("device '{}' cannot be used: {}", options.device.name, plugin.error().message));
  cost::GpuSettings settings;
  settings.tf32 = options.device.tf32;
  settings.most_workspace = options.device.gpu_workspace;
  auto opened = (*plugin)->open(*number, settings);
  if (!opened) return fail(opened.error().code, fmt::format("device '{}' cannot be used: {}", options.device.name, opened.error().message));
  costs.opened_gpu = *std::move(opened);
  // A run that accesses more bytes than the device's cache holds finds nothing of the previous run in it.
  const auto caches = caches_of(options.device);
  cost::gpu::GpuOptions gpu_options;
  costs.cache_footprint_for = [cache = costs.opened_gpu->cache_bytes()](std::size_t bytes) { return bytes > cache ? 2 * cache : 0; };
  gpu_options.cache_footprint = costs.cache_footprint = caches ? *caches : costs.cache_footprint_for(request.bytes_of_run());
  costs.gpu = std::make_unique<cost::gpu::GpuDevice>(*costs.opened_gpu, gpu_options);
  return {};
}

std::vector<DeviceDescription> list_gpus() {
  const auto plugin = cost::load_plugin("cuda");
  const auto listed = plugin ? (*plugin)->devices() : Result<std::vector<cost::DevicePlugin::Listed>>(fail(plugin.error()));
  if (!listed) return {{"cuda", listed.error().message, false}};
  std::vector<DeviceDescription> found;
  for (std::size_t k = 0; k < listed->size(); ++k) {
    const cost::DevicePlugin::Listed& gpu = (*listed)[k];
    const std::string text = gpu.usable ? gpu.text : fmt::format("{}: {}", gpu.usable.reason, gpu.text);
    found.push_back({fmt::format("cuda:{}", k), text, gpu.usable.accepted});
  }
  return found;
}

}  // namespace

DeviceKind device_kind_gpu() { return {"cuda", "cuda:N", true, &open_gpu, &list_gpus}; }

}  // namespace xflow::api
