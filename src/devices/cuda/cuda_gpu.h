// Implements Gpu with CUDA.
#pragma once

#include <xflow/error.h>

#include <memory>

#include "src/devices/device_plugin.h"
#include "src/devices/gpu/gpu.h"

namespace xflow::cost::cuda {

constexpr int kLeastMajor = 8;  // of the compute capability that kernels are built for

// Errors: unsupported if the driver, a library or the device is missing; limit if the device has too little
// memory.
Result<std::unique_ptr<gpu::Gpu>> open_gpu(int number, const GpuSettings& settings);

}  // namespace xflow::cost::cuda
