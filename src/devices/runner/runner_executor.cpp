#include "src/devices/runner/runner_executor.h"

#include <utility>

namespace xflow::cost::runner {

Result<std::unique_ptr<RunnerExecutor>> RunnerExecutor::open(const RunnerOptions& options) {
  std::unique_ptr<RunnerExecutor> executor(new RunnerExecutor(options));
  XFLOW_CHECK(executor->start());
  return executor;
}

Result<void> RunnerExecutor::start() {
  runner_.reset();
  ++starts_;
  XFLOW_TRY(runner_, Runner::start(options_));
  info_ = runner_->info();
  clock_ = runner_->clock();
  has_program_.assign(programs_.size(), false);
  has_inputs_.assign(inputs_.size(), false);
  return {};
}

ProgramId RunnerExecutor::add(ModelSource source) {
  programs_.push_back(std::move(source));
  has_program_.push_back(false);
  return static_cast<ProgramId>(programs_.size() - 1);
}

void RunnerExecutor::add_inputs(std::vector<NamedTensor> inputs) {
  inputs_.push_back(std::move(inputs));
  has_inputs_.push_back(false);
}

void RunnerExecutor::remove(ProgramId program) {
  const auto number = static_cast<std::size_t>(program);
  // A runner that fails to unload the model is ended; a new one does not have it.
  if (runner_ && has_program_[number] && runner_->is_running() && !runner_->unload(static_cast<std::uint32_t>(program))) runner_.reset();
  has_program_[number] = false;
  programs_[number] = {};
}

void RunnerExecutor::set_patience(double seconds) {
  options_.patience = seconds;
  if (runner_) runner_->set_patience(seconds);
}

// Makes sure that the runner has this program and these inputs.
Result<void> RunnerExecutor::prepare(ProgramId program, std::size_t sizes) {
  if (!runner_ || !runner_->is_running()) XFLOW_CHECK(start());
  const auto number = static_cast<std::size_t>(program);
  if (!has_program_[number]) XFLOW_CHECK(runner_->load(static_cast<std::uint32_t>(program), programs_[number]));
  has_program_[number] = true;
  if (!has_inputs_[sizes]) XFLOW_CHECK(runner_->set_inputs(static_cast<std::uint32_t>(sizes), inputs_[sizes]));
  has_inputs_[sizes] = true;
  return {};
}

Result<RunTimes> RunnerExecutor::run(ProgramId program, std::size_t sizes, int repeats) {
  XFLOW_CHECK(prepare(program, sizes));
  return runner_->run(static_cast<std::uint32_t>(program), static_cast<std::uint32_t>(sizes), repeats);
}

Result<std::vector<NamedTensor>> RunnerExecutor::outputs(ProgramId program, std::size_t sizes) {
  XFLOW_CHECK(prepare(program, sizes));
  return runner_->outputs(static_cast<std::uint32_t>(program), static_cast<std::uint32_t>(sizes));
}

}  // namespace xflow::cost::runner
