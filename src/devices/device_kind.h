// Device kinds: the values that OptimizeOptions::device accepts.
//
// A kind is a folder of src/devices with a device_kind.cpp. The build finds it (docs/dev/adding.md). The
// file defines
//
//   DeviceKind device_kind_FOLDER();
#pragma once

#include <xflow/device.h>
#include <xflow/error.h>
#include <xflow/optimize.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xflow::api {

struct DeviceCosts;

// The arguments for opening a device.
struct DeviceRequest {
  const OptimizeOptions& options;
  std::optional<std::string> argument;               // "1" of "cuda:1"
  const std::function<std::size_t()>& bytes_of_run;  // see DeviceCosts::open
  double seconds_left = 0;
};

struct DeviceKind {
  std::string_view name;     // the part before ":", such as "cuda"
  std::string_view form;     // shown in messages, such as "cuda:N"
  bool runs_graphs = false;  // by Device::graph_runner or a runner; if false, all times are predicted and there is no gate
  // Opens the requested device and stores it in `costs`. Errors: no_device for an invalid argument.
  Result<void> (*open)(DeviceCosts& costs, const DeviceRequest& request) = nullptr;
  // Lists the devices of this machine for `xflow devices`, unusable ones with the reason. Null: lists none.
  std::vector<DeviceDescription> (*list)() = nullptr;
};

// All kinds, ordered by folder.
std::span<const DeviceKind> device_kinds();

// The kind for a device name such as "cuda" or "cuda:1"; null if there is none.
const DeviceKind* find_device_kind(std::string_view device);

// The error "no device 'abacus'; there are: cpu, cuda:N, profile:FILE, runner".
Unexpected no_device(std::string_view device);

}  // namespace xflow::api
