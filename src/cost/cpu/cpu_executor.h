// Whole graphs in this process, for the gate.
#pragma once

#include <vector>

#include "src/cost/cpu/program.h"
#include "src/cost/gate.h"

namespace xflow::cost::cpu {

class CpuExecutor final : public Executor {
 public:
  // The device must outlive it.
  explicit CpuExecutor(CpuDevice& device) : device_(device) {}

  // A graph at each choice of sizes, from 0 on, with its inputs written.
  ProgramId add(std::vector<Program> at_sizes);

  Program& program(ProgramId id, std::size_t sizes) { return programs_.at(static_cast<std::size_t>(id)).at(sizes); }

  const DeviceInfo& info() const override { return device_.info(); }
  Result<Nanoseconds> run(ProgramId id, std::size_t sizes, int repeats) override;

 private:
  CpuDevice& device_;
  std::vector<std::vector<Program>> programs_;
};

}  // namespace xflow::cost::cpu
