// Devices in a shared library of their own, which is loaded when they are asked for: xflow runs where what they need is not.
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
  bool tf32 = false;                                    // products and convolutions of float may round operands to 10 bits
  std::size_t most_workspace = std::size_t{32} << 20U;  // bytes that a library may use beside its tensors
};

// What such a library has. Its interface is that of C++, so both have to be of one build: see kPluginBuild.
class DevicePlugin {
 public:
  virtual ~DevicePlugin() = default;
  DevicePlugin() = default;
  DevicePlugin(const DevicePlugin&) = delete;
  DevicePlugin& operator=(const DevicePlugin&) = delete;

  struct Listed {
    std::string text;        // "NVIDIA H100 80GB HBM3, compute capability 9.0, 79.2 GiB, driver for CUDA 13.0, cuDNN 9.13.0, cuBLAS 13.0.2"
    Acceptance usable = {};  // else why it cannot be used
  };
  // By their numbers. Errors: unsupported, with why there is none.
  virtual Result<std::vector<Listed>> devices() = 0;

  // Errors: unsupported where the device, its driver or a library is missing or too old, limit where it has no memory left.
  virtual Result<std::unique_ptr<gpu::Gpu>> open(int number, const GpuSettings& settings) = 0;

  // Whether the libraries take the description of a kernel, as far as that is known without a device; of source text whether it compiles
  // for the kind. Errors: as compile; unsupported, with what a library says.
  virtual Result<void> check(const gpu::Kernel& kernel, int kind) = 0;

  // Compiles source text (kernel_source.h) for devices of this kind, 90 for compute capability 9.0, on a machine that need not have one.
  // Gives what such a device loads. Errors: unsupported where the compiler is missing or does not know the kind, internal with what it says
  // of a text that it does not take.
  virtual Result<std::string> compile(const std::string& text, int kind) = 0;
};

// Changes with everything that both sides see.
constexpr std::string_view kPluginBuild = "xflow " XFLOW_VERSION ", interface 5";

// Loads libxflow_NAME.so from beside this program or library, or from the folder `xflow` of libraries beside it; once. Errors: unsupported:
// "this xflow was built without cuda: libxflow_cuda.so was not found", "libxflow_cuda.so is of another build: ...".
Result<DevicePlugin*> load_plugin(std::string_view name);
// The same from `folder`, each time.
Result<DevicePlugin*> load_plugin_from(const std::string& folder, std::string_view name);

}  // namespace xflow::cost

// What the library exports: itself, and the build that it is of.
extern "C" {
using xflow_plugin_build_function = const char*();
using xflow_plugin_function = xflow::cost::DevicePlugin*();
}
