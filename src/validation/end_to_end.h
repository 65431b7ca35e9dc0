// Whole models against each other, before one is shipped.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/eval/tensor.h"
#include "src/search/run_limits.h"
#include "src/support/acceptance.h"
#include "src/validation/run_inputs.h"

namespace xflow::cost {
class Executor;
class ModelExecutor;
enum class ProgramId : std::uint32_t;
}  // namespace xflow::cost

namespace xflow::api {

// So many graphs are handed on to the gate at most, which judges one after the other.
constexpr std::size_t kFinalists = 3;
// Seconds that a runner has for each answer where the call has to finish: whoever interrupted it waits.
constexpr double kHurriedPatience = 10;
constexpr std::uint64_t kPerturbationSeed = 1;  // of which elements of the inputs grow and which shrink (see perturbed)

// Lets the gate judge a candidate, and fills in the report, whose seconds, for what was done before, count against the budget. `sizes`:
// what each choice of sizes is called in the report.
Acceptance judge(cost::Executor& executor, cost::ProgramId original, cost::ProgramId candidate, std::span<const std::string> sizes,
                 const OptimizeOptions& options, const RunLimits& limits, const std::function<void()>& progress, GateReport& report);

// Lists what a trial of the result with the shapes of `values` of its values declared, against the result without them, was found to be.
void list_declared(const GateReport& trial, std::size_t values, const Acceptance& acceptance, GateReport& report);

// On which inputs a program is run: those at a choice of sizes, or the same, perturbed by a rounding error.
struct RunChoice {
  std::size_t sizes;
  bool perturbed = false;
};

// Compares what both compute at each choice of sizes, as far as a runtime may differ: by a share of the largest magnitude, by a multiple of
// what the original itself differs from run to run, or of what it differs where its inputs are perturbed. `outputs`: of one run, always as
// many and in the same order; `name_of`: an output's name, asked for after a run.
Acceptance compare_outputs(const std::function<Result<std::vector<eval::Tensor>>(cost::ProgramId, RunChoice)>& outputs,
                           const std::function<std::string(std::size_t)>& name_of, cost::ProgramId original, cost::ProgramId candidate,
                           std::span<const std::string> sizes);

// The gate where whole ONNX models are run: in the runner of the options, or on a device of the caller.
class RunnerGate {
 public:
  // Starts the runner, so that one that cannot be started is an error before any work is done. Errors: unsupported.
  // `runs`: what it is run on. All arguments must outlive it.
  static Result<std::unique_ptr<RunnerGate>> open(const OptimizeOptions& options, const RunInputs& runs, const RunLimits& limits);
  ~RunnerGate();
  RunnerGate(const RunnerGate&) = delete;
  RunnerGate& operator=(const RunnerGate&) = delete;

  // A model as bytes, or as a file, which one with external data needs.
  struct Model {
    std::string_view bytes;
    std::string path;
  };
  // Both get the same inputs at each choice of sizes: those of the files, and what is `required` in any case. What the candidate computes
  // there is compared with the original, too.
  Acceptance judge(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs, std::span<const NamedInput> required,
                   const Model& original, const Model& candidate, const std::function<void()>& progress, GateReport& report);

 private:
  RunnerGate(const OptimizeOptions& options, const RunInputs& runs, const RunLimits& limits, std::unique_ptr<cost::ModelExecutor> executor);
  Result<std::vector<std::string>> add_inputs(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs,
                                              std::span<const NamedInput> required);

  const OptimizeOptions& options_;
  const RunInputs& runs_;
  const RunLimits& limits_;
  std::vector<std::string> sizes_;  // as text, once the inputs are there
  std::unique_ptr<cost::ModelExecutor> executor_;
};

}  // namespace xflow::api
