// Whole graphs in this process, for the gate.
#pragma once

#include <functional>
#include <vector>

#include "src/cost/cpu/program.h"
#include "src/cost/gate.h"

namespace xflow::cost::cpu {

class CpuExecutor final : public Executor {
 public:
  // The device must outlive it.
  explicit CpuExecutor(CpuDevice& device) : device_(device) {}

  // Builds a graph at each choice of sizes, from 0 on, with its inputs written.
  using Make = std::function<Result<std::vector<Program>>()>;
  // Errors: those of `make`, which is called again for each renewal.
  Result<ProgramId> add(Make make);

  Program& program(ProgramId id, std::size_t sizes) { return programs_.at(static_cast<std::size_t>(id)).at_sizes.at(sizes); }

  const DeviceInfo& info() const override { return device_.info(); }
  bool has_wall_clock() const override { return device_.info().threads > 1; }
  Result<RunTimes> run(ProgramId id, std::size_t sizes, int repeats) override;
  void renew() override;

 private:
  struct Loaded {
    Make make;
    std::vector<Program> at_sizes;
    bool is_old = false;
  };

  CpuDevice& device_;
  std::vector<Loaded> programs_;
};

}  // namespace xflow::cost::cpu
