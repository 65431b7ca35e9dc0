// A GPU over CUDA.
#pragma once

#include <xflow/error.h>

#include <memory>

#include "src/devices/device_plugin.h"
#include "src/devices/gpu/gpu.h"

namespace xflow::cost::cuda {

constexpr int kLeastMajor = 8;  // of the compute capability, for which kernels are built

// Errors: unsupported where the driver, a library or the device is missing, limit where the device has no memory for it.
Result<std::unique_ptr<gpu::Gpu>> open_gpu(int number, const GpuSettings& settings);

}  // namespace xflow::cost::cuda
