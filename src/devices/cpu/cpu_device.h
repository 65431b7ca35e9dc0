// This CPU as a device: oneDNN's kernels, and xflow's own loops for kernels that oneDNN lacks.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <memory>

#include "src/devices/cpu/cpu_kernel.h"
#include "src/devices/cpu/timing.h"
#include "src/kernels/device.h"

namespace xflow::cost::cpu {

struct CpuOptions {
  int threads = 1;
  TimingOptions timing;
  // Bytes that a run of the whole graph accesses between two launches of the same kernel. Kernels are timed
  // with their constants and result buffers evicted from the caches accordingly. 0: caches are warm.
  std::size_t cache_footprint = 0;
};

// A CPU device that can also build kernels to run them.
class CpuDevice : public Device {
 public:
  // Builds the kernel for `spec` with its operands in `layout`. Returns the implementations of both oneDNN
  // and the loops if both exist. Error::unsupported, "cannot run ... here: ...", if neither exists.
  virtual Result<std::vector<std::unique_ptr<CpuKernel>>> build(const ops::KernelSpec& spec, Layout layout) = 0;
  // A lower bound of the time of one launch, for kernels that may take long. It scales the time of a small
  // kernel of the same kind (small_kernel.h) and assumes that the whole kernel runs twice as fast. 0 for all
  // other kernels, and if the device has no time limit.
  virtual Nanoseconds least_time(const ops::KernelSpec& spec, Layout layout) = 0;
  // Whether this device is stopped; the argument for CpuKernel::stop_when.
  virtual const std::function<bool()>& stop_of_kernels() const = 0;
  // Sets the number of threads for kernels run by the calling thread.
  virtual void use_threads() const = 0;
  std::shared_ptr<GraphRunner> graph_runner() override;
};

// Opens the device. Error::unsupported if oneDNN cannot be set up; invalid_argument for less than one
// thread.
Result<std::unique_ptr<CpuDevice>> open_cpu_device(const CpuOptions& options = {});

}  // namespace xflow::cost::cpu
