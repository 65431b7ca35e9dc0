#include "src/devices/device_kind.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "src/devices/device_costs.h"
#include "src/devices/profile/profile_device.h"

namespace xflow::api {
namespace {

// The data type of DeviceOptions::priced_as.
Result<std::optional<ir::DataType>> price_type(const std::string& name) {
  if (name.empty()) return std::optional<ir::DataType>();
  if (name == "bf16") return std::optional(ir::DataType::bfloat16);
  if (name == "fp16") return std::optional(ir::DataType::float16);
  if (name == "fp8") return std::optional(ir::DataType::float8e4m3fn);
  return fail(ErrorCode::invalid_argument, fmt::format("expected bf16, fp16 or fp8 as the type of times, found '{}'", name));
}

Result<void> open_profile(DeviceCosts& costs, const DeviceRequest& request) {
  if (!request.argument) return no_device(request.options.device.name);
  XFLOW_TRY(cost::profile::Profile read, cost::profile::read_profile(*request.argument));
  XFLOW_TRY(const auto priced_as, price_type(request.options.device.priced_as));
  costs.profile = std::make_unique<cost::profile::ProfileDevice>(std::move(read), priced_as);
  return {};
}

}  // namespace

DeviceKind device_kind_profile() { return {"profile", "profile:FILE", false, &open_profile}; }

}  // namespace xflow::api
