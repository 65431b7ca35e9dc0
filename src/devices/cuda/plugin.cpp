// The symbols that libxflow_cuda.so exports.
#include <fmt/format.h>

#include <array>

#include "src/devices/cuda/cuda_gpu.h"
#include "src/devices/cuda/libraries.h"
#include "src/devices/cuda/ready.h"
#include "src/devices/device_plugin.h"

namespace xflow::cost::cuda {
namespace {

class Plugin final : public DevicePlugin {
 public:
  Result<std::vector<Listed>> devices() override {
    XFLOW_TRY(const Driver driver, Driver::load());
    XFLOW_TRY(const std::string libraries, library_versions());
    int version = 0;
    int count = 0;
    driver.version(&version);
    if (driver.device_count(&count) != CUDA_SUCCESS || count == 0) return fail(ErrorCode::unsupported, "the CUDA driver sees no device");
    std::vector<Listed> listed;
    listed.reserve(static_cast<std::size_t>(count));
    for (int number = 0; number < count; ++number) listed.push_back(describe(driver, number, version, libraries));
    return listed;
  }

  Result<std::unique_ptr<gpu::Gpu>> open(int number, const GpuSettings& settings) override { return open_gpu(number, settings); }

  Result<void> check(const gpu::GpuKernel& kernel, int kind) override {
    if (const auto* product = std::get_if<gpu::Product>(&kernel.work)) return check_product(*product);
    if (const auto* convolution = std::get_if<gpu::Convolution>(&kernel.work)) return check_convolution(*convolution, kind);
    if (const auto* attention = std::get_if<gpu::Attention>(&kernel.work)) return check_attention(*attention, kind);
    XFLOW_CHECK(compile(std::get<SourceProgram>(kernel.work).text, kind));
    return {};
  }

  Result<std::string> compile(const std::string& text, int kind) override {
    XFLOW_TRY(const Compiler compiler, Compiler::load());
    return compiler.run(text, kind);
  }

 private:
  static Listed describe(const Driver& driver, int number, int version, const std::string& libraries) {
    CUdevice device = 0;
    std::array<char, 256> name{};
    std::size_t bytes = 0;
    int major = 0;
    int minor = 0;
    if (driver.device(&device, number) != CUDA_SUCCESS || driver.device_name(name.data(), name.size() - 1, device) != CUDA_SUCCESS ||
        driver.device_memory(&bytes, device) != CUDA_SUCCESS ||
        driver.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) != CUDA_SUCCESS ||
        driver.device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) != CUDA_SUCCESS)
      return {fmt::format("device {}", number), refused("the CUDA driver does not describe it")};
    Listed listed;
    listed.text = fmt::format("{}, compute capability {}.{}, {:.1f} GiB, driver for CUDA {}.{}, {}", name.data(), major, minor,
                              static_cast<double>(bytes) / (1 << 30), version / 1000, version % 1000 / 10, libraries);
    if (major < kLeastMajor) listed.usable = refused(fmt::format("compute capability {}.0 is needed", kLeastMajor));
    return listed;
  }
};

}  // namespace
}  // namespace xflow::cost::cuda

extern "C" {
__attribute__((visibility("default"))) const char* xflow_plugin_build();
__attribute__((visibility("default"))) xflow::cost::DevicePlugin* xflow_plugin();

const char* xflow_plugin_build() { return xflow::cost::kPluginBuild.data(); }

xflow::cost::DevicePlugin* xflow_plugin() {
  static xflow::cost::cuda::Plugin plugin;
  return &plugin;
}
}
