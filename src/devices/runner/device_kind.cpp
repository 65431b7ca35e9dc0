#include "src/devices/device_kind.h"

#include <algorithm>

#include "src/devices/device_costs.h"
#include "src/devices/runner/runner_device.h"

namespace xflow::api {
namespace {

Result<void> open_runner(DeviceCosts& costs, const DeviceRequest& request) {
  const OptimizeOptions& options = request.options;
  if (request.argument) return no_device(options.device.name);
  if (options.device.runner.empty()) return fail(ErrorCode::invalid_argument, "the device 'runner' needs the command of a runner");
  cost::runner::RunnerDeviceOptions runner_options;
  // If a runner is restarted later, less time is left than this timeout assumes; Device::stop_when ends it
  // then.
  runner_options.runner = {options.device.runner, options.device.threads, start_patience(options, request.seconds_left)};
  runner_options.runner.hurry = [cancel = options.cancel] { return cancel.is_finishing(); };
  runner_options.runner.hurried_patience = hurried_patience(options);
  runner_options.max_seconds = options.device.max_kernel_time.count();
  runner_options.patience = std::clamp(options.device.max_kernel_time.count(), kLeastPatience, runner_options.patience);
  auto opened = cost::runner::RunnerDevice::open(runner_options);
  if (!opened) return fail(error_of_start(opened.error()));
  costs.runner = *std::move(opened);
  return {};
}

}  // namespace

DeviceKind device_kind_runner() { return {"runner", "runner", true, &open_runner}; }

}  // namespace xflow::api
