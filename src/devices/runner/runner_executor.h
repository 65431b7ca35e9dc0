// Whole models in another process, for the gate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/devices/runner/runner.h"
#include "src/runtime/executor.h"

namespace xflow::cost::runner {

// Starts its runner when it needs one, and another after one has ended: what was loaded is loaded again. A model that ends its runner costs
// itself its run, nothing else.
class RunnerExecutor final : public Executor {
 public:
  // Errors: as Runner::start.
  static Result<std::unique_ptr<RunnerExecutor>> open(const RunnerOptions& options);

  // Loaded when it is run for the first time.
  ProgramId add(ModelSource source);
  // No run of it follows; frees what the runner has of it.
  void remove(ProgramId program);
  // The inputs for a further choice of sizes.
  void add_inputs(std::vector<NamedTensor> inputs);

  const DeviceInfo& info() const override { return info_; }
  bool has_wall_clock() const override { return has_wall_clock_; }
  Result<RunTimes> run(ProgramId program, std::size_t sizes, int repeats) override;
  // By another runner.
  void renew() override { runner_.reset(); }
  Result<std::vector<NamedTensor>> outputs(ProgramId program, std::size_t sizes);

  // Seconds that the runner may take for an answer from now on.
  void set_patience(double seconds);
  std::size_t starts() const { return starts_; }  // of runners so far

 private:
  explicit RunnerExecutor(RunnerOptions options) : options_(std::move(options)) {}
  Result<void> start();
  Result<void> prepare(ProgramId program, std::size_t sizes);

  RunnerOptions options_;
  std::unique_ptr<Runner> runner_;
  DeviceInfo info_;
  bool has_wall_clock_ = false;
  std::size_t starts_ = 0;
  std::vector<ModelSource> programs_;
  std::vector<std::vector<NamedTensor>> inputs_;
  // What the runner that is running has.
  std::vector<bool> has_program_;
  std::vector<bool> has_inputs_;
};

}  // namespace xflow::cost::runner
