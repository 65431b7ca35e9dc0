// This CPU as a device: oneDNN's kernels, and loops of ours for what it lacks.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <memory>

#include "src/devices/cpu/kernel.h"
#include "src/devices/cpu/timing.h"
#include "src/kernels/device.h"

namespace xflow::cost::cpu {

struct CpuOptions {
  int threads = 1;
  TimingOptions timing;
  // What a run of the whole graph goes through, in bytes, before it comes to the same kernel again: kernels find as much of their constants
  // and of the places of their results in the caches as is left after that. 0: all of it.
  std::size_t between = 0;
};

// The device, which builds kernels as well: for running them.
class CpuDevice : public Device {
 public:
  // The kernel for `spec` with its operands in `layout`; where oneDNN and a loop of ours both can, both are built. Error::unsupported,
  // "cannot run ... here: ..." if neither can.
  virtual Result<std::vector<std::unique_ptr<Kernel>>> build(const ops::KernelSpec& spec, Layout layout) = 0;
  // What one launch takes at least, for kernels of which that may be long: by the time of a piece of it (piece.h), as if all of it
  // ran twice as fast. 0 for all others, and where no time is bounded.
  virtual Nanoseconds least_time(const ops::KernelSpec& spec, Layout layout) = 0;
  // What Kernel::stop_when takes: whether this device is stopped.
  virtual const std::function<bool()>& stop_of_kernels() const = 0;
  // Sets the number of threads for kernels that the calling thread runs.
  virtual void use_threads() const = 0;
};

// Error::unsupported if oneDNN cannot be set up.
Result<std::unique_ptr<CpuDevice>> open_cpu_device(const CpuOptions& options = {});

}  // namespace xflow::cost::cpu
