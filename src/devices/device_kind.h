// The kinds of devices: what OptimizeOptions::device may name.
//
// A kind is a folder of src/devices with a device_kind.cpp, which the build finds (docs/dev/adding.md). It defines
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

// What a device is opened for.
struct DeviceRequest {
  const OptimizeOptions& options;
  std::optional<std::string> argument;               // "1" of "cuda:1"
  const std::function<std::size_t()>& bytes_of_run;  // as in DeviceCosts::open
  double seconds_left = 0;
};

struct DeviceKind {
  std::string_view name;     // in front of ":": "cuda"
  std::string_view form;     // in messages: "cuda:N"
  bool runs_graphs = false;  // otherwise nothing is run there: all times are predicted, and there is no gate
  // Puts the device that is asked for into `costs`. Errors: no_device for an argument that the kind does not take.
  Result<void> (*open)(DeviceCosts& costs, const DeviceRequest& request) = nullptr;
  // The devices of this machine, for `xflow devices`; what cannot be used says why. Null: none is listed.
  std::vector<DeviceDescription> (*list)() = nullptr;
};

// In the order of their folders.
std::span<const DeviceKind> device_kinds();

// The kind of "cuda" and "cuda:1"; nothing where there is none.
const DeviceKind* find_device_kind(std::string_view device);

// "no device 'abacus'; there are: cpu, cuda:N, profile:FILE, runner".
Unexpected no_device(std::string_view device);

}  // namespace xflow::api
