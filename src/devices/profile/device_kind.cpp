#include "src/devices/device_kind.h"

#include "src/devices/device_costs.h"
#include "src/devices/profile/profile_device.h"

namespace xflow::api {
namespace {

Result<void> open_profile(DeviceCosts& costs, const DeviceRequest& request) {
  if (!request.argument) return no_device(request.options.device.name);
  XFLOW_TRY(cost::profile::Profile read, cost::profile::read_profile(*request.argument));
  costs.profile = std::make_unique<cost::profile::ProfileDevice>(std::move(read));
  return {};
}

}  // namespace

DeviceKind device_kind_profile() { return {"profile", "profile:FILE", false, &open_profile}; }

}  // namespace xflow::api
