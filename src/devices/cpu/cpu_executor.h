// Runs whole graphs in this process, for the gate.
#pragma once

#include <map>
#include <string>

#include "src/devices/cpu/program.h"
#include "src/runtime/graph_runner.h"
#include "src/runtime/program_executor.h"

namespace xflow::cost::cpu {

class CpuExecutor final : public ProgramExecutor<CpuDevice, Program> {
 public:
  using ProgramExecutor::ProgramExecutor;

  Clock clock() const override { return info().threads > 1 ? Clock::wall_time : Clock::thread_cpu_time; }
  Result<RunTimes> run(ProgramId id, std::size_t sizes, int repeats) override;
};

class CpuRunner final : public ProgramRunner<CpuDevice, Program, CpuExecutor> {
 public:
  using ProgramRunner::ProgramRunner;
  bool is_in_memory() const override { return true; }

 private:
  Result<Program> build(ir::Arena& arena, const SizedPlan& plan, double most_bytes) override;

  std::map<std::string, std::string> chosen_;  // implementations; shared so that equal kernels run alike
};

}  // namespace xflow::cost::cpu
