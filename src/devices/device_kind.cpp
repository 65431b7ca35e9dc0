#include "src/devices/device_kind.h"

#include <fmt/format.h>

#include <algorithm>

namespace xflow::api {

#define XFLOW_DEVICE_KIND(FOLDER) DeviceKind device_kind_##FOLDER();
#include "device_kinds.inc"
#undef XFLOW_DEVICE_KIND

std::span<const DeviceKind> device_kinds() {
  static const std::vector<DeviceKind> kKinds = {
#define XFLOW_DEVICE_KIND(FOLDER) device_kind_##FOLDER(),
#include "device_kinds.inc"
#undef XFLOW_DEVICE_KIND
  };
  return kKinds;
}

const DeviceKind* find_device_kind(std::string_view device) {
  const auto kinds = device_kinds();
  const auto found = std::ranges::find(kinds, device.substr(0, device.find(':')), &DeviceKind::name);
  return found == kinds.end() ? nullptr : &*found;
}

Unexpected no_device(std::string_view device) {
  std::string forms;
  for (const DeviceKind& kind : device_kinds()) forms += fmt::format("{}{}", forms.empty() ? "" : ", ", kind.form);
  return fail(ErrorCode::unsupported, fmt::format("no device '{}'; there are: {}", device, forms));
}

}  // namespace xflow::api
