// Programs of whole graphs on the local devices: one class per device, all with the same functions.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "src/devices/cpu/cpu_executor.h"
#include "src/devices/gpu/gpu_program.h"
#include "src/runtime/plan.h"

namespace xflow::api {

class CpuPrograms {
 public:
  using Program = cost::cpu::Program;
  using Executor = cost::cpu::CpuExecutor;

  explicit CpuPrograms(cost::cpu::CpuDevice& device) : device_(device) {}
  cost::cpu::CpuDevice& device() const { return device_; }
  // Whether the memory of a program counts as memory of this machine.
  static constexpr bool kInMemory = true;
  // Builds a program that takes at most `most_bytes`.
  Result<Program> build(ir::Arena& arena, const cost::Plan& plan, const ir::Symbols::Valuation& sizes, double most_bytes) {
    cost::cpu::ProgramOptions options;
    options.most_bytes = most_bytes;
    options.most_bytes_in_setting_up = most_bytes;
    options.chosen = &chosen_;
    return Program::build(device_, arena, plan, sizes, options);
  }
  static Result<void> run(Program& program) {
    program.run();
    if (program.was_stopped()) return fail(ErrorCode::limit, "time is over");
    return {};
  }

 private:
  cost::cpu::CpuDevice& device_;
  std::map<std::string, std::string> chosen_;  // implementations; shared so that equal kernels run alike
};

// The same for a GPU, which reports by itself when its memory is full.
class GpuPrograms {
 public:
  using Program = cost::gpu::GpuProgram;
  using Executor = cost::gpu::GpuExecutor;

  static constexpr bool kInMemory = false;

  explicit GpuPrograms(cost::gpu::GpuDevice& device) : device_(device) {}
  cost::gpu::GpuDevice& device() const { return device_; }
  Result<Program> build(ir::Arena& arena, const cost::Plan& plan, const ir::Symbols::Valuation& sizes, double /*most_bytes*/) {
    return Program::build(device_, arena, plan, sizes);
  }
  static Result<void> run(Program& program) {
    XFLOW_CHECK(program.run());
    return {};
  }

 private:
  cost::gpu::GpuDevice& device_;
};

}  // namespace xflow::api
