// Runs a whole graph on a GPU: the kernels of its kernel cover on one block of memory, recorded as one
// graph.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/devices/gpu/gpu_device.h"
#include "src/eval/tensor.h"
#include "src/runtime/graph_runner.h"
#include "src/runtime/plan.h"
#include "src/runtime/program_executor.h"

namespace xflow::cost::gpu {

// Used by one thread; the device must outlive it.
class GpuProgram final : public GraphProgram {
 public:
  // Builds the program from a plan of a graph in `arena`, made at `sizes` from a kernel cover by this
  // device. Errors: limit if the device has too little memory, unsupported if a timed kernel cannot be
  // built, those of reading constants.
  static Result<GpuProgram> build(GpuDevice& device, ir::Arena& arena, Plan plan, const ir::Symbols::Valuation& sizes);

  const Plan& plan() const override { return plan_; }
  std::size_t memory_bytes() const { return bytes_; }

  Result<void> write(ir::ValueId input, const eval::Tensor& tensor) override;
  Result<void> run_once() override;
  Result<eval::Tensor> read(std::size_t output) const override;

  // Runs `repeats` times in a row. Returns the time of one run.
  Result<Nanoseconds> run(int repeats = 1);

  // The implementation of launch k; empty if it computes nothing.
  std::string_view implementation(std::size_t launch) const;

 private:
  class Builder;
  GpuProgram() = default;

  Gpu* gpu_ = nullptr;
  Plan plan_;
  std::vector<std::unique_ptr<Ready>> kernels_;  // by launch; nullptr if the launch computes nothing
  std::optional<Block> memory_;
  std::size_t bytes_ = 0;
  std::vector<std::size_t> offsets_;  // by buffer
  std::unique_ptr<Recorded> recorded_;
  std::vector<std::optional<eval::Tensor>> fixed_;  // outputs that are constants
};

// Runs whole graphs for the gate.
class GpuExecutor final : public ProgramExecutor<GpuDevice, GpuProgram> {
 public:
  using ProgramExecutor::ProgramExecutor;

  Clock clock() const override { return Clock::device_time; }
  Result<RunTimes> run(ProgramId id, std::size_t sizes, int repeats) override;
};

// Runs whole graphs on a GPU, which reports by itself when its memory is full.
class GpuRunner final : public ProgramRunner<GpuDevice, GpuProgram, GpuExecutor> {
 public:
  using ProgramRunner::ProgramRunner;
  bool is_in_memory() const override { return false; }

 private:
  Result<GpuProgram> build(ir::Arena& arena, const SizedPlan& plan, double most_bytes) override;
};

}  // namespace xflow::cost::gpu
