// Runs both models of `xflow check` in a runner.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "src/devices/runner/runner_executor.h"
#include "src/validation/check_inputs.h"
#include "src/validation/deadline.h"
#include "src/validation/runnable.h"

namespace xflow::api {

class ModelsInRunner {
 public:
  static Result<std::unique_ptr<ModelsInRunner>> open(const Runnable& a, const Runnable& b, const std::string& command,
                                                      const Deadline& deadline);

  // Sets the inputs of the following runs, and the same inputs perturbed.
  Result<void> take(const InputSet& set);
  // Runs a model (0 for A, 1 for B) and returns its outputs in the order of A's outputs.
  Result<std::vector<eval::Tensor>> run(std::size_t model, bool is_perturbed);

 private:
  using RunnerExecutor = cost::runner::RunnerExecutor;
  using NamedTensor = cost::NamedTensor;
  static constexpr double kStartSeconds = 120;  // starting may load a large runtime

  ModelsInRunner() = default;

  std::unique_ptr<RunnerExecutor> executor_;
  std::vector<cost::ProgramId> programs_;
  std::vector<std::string> outputs_;
  std::size_t sets_ = 0;
};

}  // namespace xflow::api
