// Implementations of kernels with CUDA. Private to src/devices/cuda.
#pragma once

#include <cuda.h>
#include <xflow/error.h>

#include <memory>
#include <vector>

#include "src/devices/cuda/libraries.h"
#include "src/devices/device_plugin.h"
#include "src/devices/gpu/gpu.h"

namespace xflow::cost::cuda {

class CudaReady : public gpu::Ready {
 public:
  // Launches on the stream, which may be capturing.
  virtual Result<void> launch(CUstream stream, const gpu::Launch& launch) = 0;
  std::span<const std::size_t> scratch() const override { return {}; }
};
using Ways = std::vector<std::unique_ptr<CudaReady>>;

inline void* pointer(gpu::Address address) {
  return reinterpret_cast<void*>(static_cast<std::uint64_t>(address));  // NOLINT(performance-no-int-to-ptr): CUDA's addresses are both
}

// Source text, compiled for the device.
Result<Ways> ready_source(const Runtime& runtime, const Compiler& compiler, int kind, const gpu::GpuKernel& kernel);

// Products by cuBLASLt, with the algorithms that its heuristic proposes.
class Products {
 public:
  static Result<std::unique_ptr<Products>> open(const GpuSettings& settings);
  virtual ~Products() = default;
  virtual Result<Ways> ready(const gpu::Product& product) = 0;
};

// Kernels by cuDNN graphs, with the plans that its heuristics propose.
class DnnGraphs {
 public:
  // `kind`: the compute capability times ten.
  static Result<std::unique_ptr<DnnGraphs>> open(const GpuSettings& settings, int kind);
  virtual ~DnnGraphs() = default;
  virtual Result<Ways> ready(const gpu::Convolution& convolution) = 0;
  virtual Result<Ways> ready(const gpu::Attention& attention) = 0;
};

// Checks a description without a device; see DevicePlugin::check.
Result<void> check_product(const gpu::Product& product);
Result<void> check_convolution(const gpu::Convolution& convolution, int kind);
Result<void> check_attention(const gpu::Attention& attention, int kind);

}  // namespace xflow::cost::cuda
