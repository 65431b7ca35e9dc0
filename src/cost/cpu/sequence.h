// Kernels that run one after the other, as in a run of a graph: what a prediction is compared with.
#pragma once

#include <xflow/result.h>

#include <memory>
#include <vector>

#include "src/cost/cpu/cpu_device.h"

namespace xflow::cost::cpu {

// One launch: a kernel, and the layout of its operands.
struct LaunchSpec {
  ops::KernelSpec spec;
  Layout layout = Layout::plain;
};

// Every launch has buffers of its own. Before each, its operands are written, as the launch before would have; its weights are as cold as
// the other launches leave them. So a run takes what it takes in a runtime whose own work costs nothing.
class Sequence {
 public:
  // Of the ways in which the device can run a kernel the one that is fastest at first sight. Errors: unsupported, "cannot run ... here",
  // and limit for more than `most_bytes` of buffers.
  static Result<Sequence> build(CpuDevice& device, const std::vector<LaunchSpec>& launches, double most_bytes = 4e9);

  // The time of each launch of one run, by the clock of the device.
  std::vector<Nanoseconds> run();

 private:
  struct Launch {
    std::unique_ptr<Kernel> kernel;
    std::vector<std::span<std::byte>> operands;  // that a launch before would have written
  };
  std::vector<Launch> launches_;
  bool thread_time_ = true;
};

}  // namespace xflow::cost::cpu
