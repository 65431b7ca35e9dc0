// Runs whole graphs in this process, for the gate.
#pragma once

#include "src/devices/cpu/program.h"
#include "src/runtime/program_executor.h"

namespace xflow::cost::cpu {

class CpuExecutor final : public ProgramExecutor<CpuDevice, Program> {
 public:
  using ProgramExecutor::ProgramExecutor;

  Clock clock() const override { return info().threads > 1 ? Clock::wall_time : Clock::thread_cpu_time; }
  Result<RunTimes> run(ProgramId id, std::size_t sizes, int repeats) override;
};

}  // namespace xflow::cost::cpu
