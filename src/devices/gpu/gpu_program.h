// Runs a whole graph on a GPU: the kernels of its cover on one block of memory, recorded to be started as one.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/devices/gpu/gpu_device.h"
#include "src/eval/tensor.h"
#include "src/runtime/plan.h"
#include "src/runtime/program_executor.h"

namespace xflow::cost::gpu {

// Used by one thread; the device must outlive it.
class GpuProgram {
 public:
  // A plan of a graph in `arena`, made at `sizes` of a cover by this device. Errors: limit where the device has not the memory, unsupported
  // where a kernel that was timed cannot be made, and those of constants that cannot be read.
  static Result<GpuProgram> build(GpuDevice& device, ir::Arena& arena, Plan plan, const ir::Symbols::Valuation& sizes);

  const Plan& plan() const { return plan_; }
  std::size_t memory_bytes() const { return bytes_; }

  // As those of cpu::Program.
  Result<void> write(ir::ValueId input, const eval::Tensor& tensor);
  Result<eval::Tensor> read(std::size_t output) const;

  // The time of one run, of `repeats` in a row.
  Result<Nanoseconds> run(int repeats = 1);

  // How launch k is run; empty where there is nothing to compute.
  std::string_view implementation(std::size_t launch) const;

 private:
  class Builder;
  GpuProgram() = default;

  Gpu* gpu_ = nullptr;
  Plan plan_;
  std::vector<std::unique_ptr<Ready>> kernels_;  // by launch; nullptr where there is nothing to compute
  std::optional<Block> memory_;
  std::size_t bytes_ = 0;
  std::vector<std::size_t> offsets_;  // by buffer
  std::unique_ptr<Recorded> recorded_;
  std::vector<std::optional<eval::Tensor>> fixed_;  // outputs that are constants
};

// Whole graphs for the gate.
class GpuExecutor final : public ProgramExecutor<GpuDevice, GpuProgram> {
 public:
  using ProgramExecutor::ProgramExecutor;

  Clock clock() const override { return Clock::device_time; }
  Result<RunTimes> run(ProgramId id, std::size_t sizes, int repeats) override;
};

}  // namespace xflow::cost::gpu
