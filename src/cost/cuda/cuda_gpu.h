// A GPU over CUDA.
#pragma once

#include <xflow/result.h>

#include <memory>

#include "src/cost/device_plugin.h"
#include "src/cost/gpu/gpu.h"

namespace xflow::cost::cuda {

// Errors: unsupported where the driver, a library or the device is missing, limit where the device has no memory for it.
Result<std::unique_ptr<gpu::Gpu>> open_gpu(int number, const GpuSettings& settings);

}  // namespace xflow::cost::cuda
