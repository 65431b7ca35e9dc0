// Runs whole models in another process, for the gate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/devices/runner/runner.h"
#include "src/runtime/model_executor.h"

namespace xflow::cost::runner {

// Starts a runner on demand, and a new one after one has ended; models are then loaded again. If a model
// ends its runner, only its own run fails.
class RunnerExecutor final : public ModelExecutor {
 public:
  // Errors: see Runner::start.
  static Result<std::unique_ptr<RunnerExecutor>> open(const RunnerOptions& options);

  ProgramId add(ModelSource source) override;
  void remove(ProgramId program) override;
  void add_inputs(std::vector<NamedTensor> inputs) override;

  const DeviceInfo& info() const override { return info_; }
  xflow::Clock clock() const override { return clock_; }
  Result<RunTimes> run(ProgramId program, std::size_t sizes, int repeats) override;
  // Continues with a new runner.
  void renew() override { runner_.reset(); }
  Result<std::vector<NamedTensor>> outputs(ProgramId program, std::size_t sizes) override;

  // Sets the timeout of the runner's answers.
  void set_patience(double seconds) override;
  std::size_t starts() const { return starts_; }  // of runners so far

 private:
  explicit RunnerExecutor(RunnerOptions options) : options_(std::move(options)) {}
  Result<void> start();
  Result<void> prepare(ProgramId program, std::size_t sizes);

  RunnerOptions options_;
  std::unique_ptr<Runner> runner_;
  DeviceInfo info_;
  xflow::Clock clock_ = xflow::Clock::cpu_time;
  std::size_t starts_ = 0;
  std::vector<ModelSource> programs_;
  std::vector<std::vector<NamedTensor>> inputs_;
  // What the current runner has loaded.
  std::vector<bool> has_program_;
  std::vector<bool> has_inputs_;
};

}  // namespace xflow::cost::runner
