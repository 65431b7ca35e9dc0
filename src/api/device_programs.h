// How whole graphs are run on the devices of this machine: a class each, with the same functions.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <map>
#include <string>

#include "src/cost/cpu/cpu_executor.h"
#include "src/cost/gpu/gpu_program.h"
#include "src/cost/plan.h"

namespace xflow::api {

class CpuPrograms {
 public:
  using Program = cost::cpu::Program;
  using Executor = cost::cpu::CpuExecutor;

  explicit CpuPrograms(cost::cpu::CpuDevice& device) : device_(device) {}
  cost::cpu::CpuDevice& device() const { return device_; }
  // `programs`: as many are in memory together. Half of it is for the model, the search and other programs.
  Result<Program> build(ir::Arena& arena, const cost::Plan& plan, const ir::Symbols::Valuation& sizes, std::size_t programs) {
    cost::cpu::ProgramOptions options;
    const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    options.most_bytes = memory / 2 / static_cast<double>(programs);
    options.chosen = &chosen_;
    return Program::build(device_, arena, plan, sizes, options);
  }
  static Result<void> run(Program& program) {
    program.run();
    return {};
  }

 private:
  cost::cpu::CpuDevice& device_;
  std::map<std::string, std::string> chosen_;  // implementations: all run equal kernels alike
};

// The same on a GPU, which says itself when its memory is full.
class GpuPrograms {
 public:
  using Program = cost::gpu::GpuProgram;
  using Executor = cost::gpu::GpuExecutor;

  explicit GpuPrograms(cost::gpu::GpuDevice& device) : device_(device) {}
  cost::gpu::GpuDevice& device() const { return device_; }
  Result<Program> build(ir::Arena& arena, const cost::Plan& plan, const ir::Symbols::Valuation& sizes, std::size_t /*programs*/) {
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
