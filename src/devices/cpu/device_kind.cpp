#include "src/devices/device_kind.h"

#include <fmt/format.h>

#include "src/devices/caches.h"
#include "src/devices/cpu/cpu_device.h"
#include "src/devices/cpu/footprint.h"
#include "src/devices/device_costs.h"

namespace xflow::api {
namespace {

Result<void> open_cpu(DeviceCosts& costs, const DeviceRequest& request) {
  const OptimizeOptions& options = request.options;
  if (request.argument) return no_device(options.device.name);
  const auto caches = caches_of(options.device);
  cost::cpu::CpuOptions cpu_options;
  cpu_options.threads = options.device.threads;
  costs.cache_footprint_for = [threads = options.device.threads](std::size_t bytes) {
    return cost::cpu::cache_footprint_for(bytes, threads);
  };
  cpu_options.cache_footprint = costs.cache_footprint = caches ? *caches : costs.cache_footprint_for(request.bytes_of_run());
  XFLOW_TRY(costs.cpu, cost::cpu::open_cpu_device(cpu_options));
  return {};
}

std::vector<DeviceDescription> list_cpu() {
  const auto device = cost::cpu::open_cpu_device();
  if (!device) return {{"cpu", device.error().message, false}};
  const cost::DeviceInfo& info = (*device)->info();
  return {{"cpu", fmt::format("{}, {}", info.model, info.library), true}};
}

}  // namespace

DeviceKind device_kind_cpu() { return {"cpu", "cpu", true, &open_cpu, &list_cpu}; }

}  // namespace xflow::api
