#include <xflow/device.h>

#include <algorithm>
#include <utility>

#include "src/devices/default_device.h"
#include "src/devices/device_kind.h"
#include "src/support/exceptions.h"
#include "src/validation/device_check.h"

namespace xflow {

std::vector<DeviceDescription> devices() {
  std::vector<DeviceDescription> found;
  for (const api::DeviceKind& kind : api::device_kinds()) {
    if (kind.list == nullptr) continue;
    for (DeviceDescription& device : kind.list()) found.push_back(std::move(device));
  }
  return found;
}

DefaultDevice default_device(const std::string& check, Seconds patience) {
  const bool has_gpu =
      std::ranges::any_of(devices(), [](const DeviceDescription& device) { return device.name == "cuda:0" && device.usable; });
  return cost::choose_device(has_gpu, check, patience.count());
}

Result<DeviceCheck> check_device(const std::string& name) {
  return api::guarded<DeviceCheck>([&] { return api::check_device_named(name); });
}

}  // namespace xflow
