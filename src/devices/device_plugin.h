// Device plugins: shared libraries that are loaded on demand, so that xflow also runs on machines without
// the libraries that a device needs.
#pragma once

#include <xflow/error.h>
#include <xflow/version.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/devices/gpu/gpu.h"
#include "src/support/acceptance.h"

namespace xflow::cost {

struct GpuSettings {
  bool tf32 = false;                                    // float products and convolutions may round operands to 10 mantissa bits
  std::size_t most_workspace = std::size_t{32} << 20U;  // maximum bytes of a library's workspace
};

// The interface of a plugin. It is a C++ interface, so xflow and the plugin must come from the same build;
// see kPluginBuild.
class DevicePlugin {
 public:
  virtual ~DevicePlugin() = default;
  DevicePlugin() = default;
  DevicePlugin(const DevicePlugin&) = delete;
  DevicePlugin& operator=(const DevicePlugin&) = delete;

  struct Listed {
    // Such as "NVIDIA H100 80GB HBM3, compute capability 9.0, 79.2 GiB, driver for CUDA 13.0, cuDNN 9.13.0,
    // cuBLAS 13.0.2".
    std::string text;
    Acceptance usable = {};  // with the reason if the device is unusable
  };
  // The devices of this machine, ordered by number. Errors: unsupported if there are none, with the reason.
  virtual Result<std::vector<Listed>> devices() = 0;

  // Opens a device. Errors: unsupported if the device, its driver or a library is missing or too old; limit
  // if the device has no free memory.
  virtual Result<std::unique_ptr<gpu::Gpu>> open(int number, const GpuSettings& settings) = 0;

  // Checks a kernel without a device. For a library kernel: whether the library accepts the description, as
  // far as that can be decided without a device. For source text: whether it compiles for `kind`. Errors: as
  // compile; unsupported, with the library's message.
  virtual Result<void> check(const gpu::GpuKernel& kernel, int kind) = 0;

  // Compiles source text (kernel_source.h) for devices of `kind` (90 for compute capability 9.0). The
  // machine need not have such a device. Returns a binary that such a device loads. Errors: unsupported if
  // the compiler is missing or does not know the kind; internal, with the compiler's message, if it rejects
  // the text.
  virtual Result<std::string> compile(const std::string& text, int kind) = 0;
};

// To be changed with every type that xflow and plugins share.
constexpr std::string_view kPluginBuild = "xflow " XFLOW_VERSION ", interface 6";

// Loads libxflow_NAME.so from the folder of this program or library, or from its subfolder `xflow` or
// ../lib/xflow. Later calls return the first result. Errors: unsupported, "this xflow was built without
// cuda: libxflow_cuda.so was not found" or "libxflow_cuda.so is from another build: ...".
Result<DevicePlugin*> load_plugin(std::string_view name);
// Loads a plugin from `folder` (or its subfolders as above) on every call.
Result<DevicePlugin*> load_plugin_from(const std::string& folder, std::string_view name);

}  // namespace xflow::cost

// The symbols that a plugin exports: xflow_plugin_build returns its build, xflow_plugin the plugin.
extern "C" {
using xflow_plugin_build_function = const char*();
using xflow_plugin_function = xflow::cost::DevicePlugin*();
}
