// Whole-model comparison of a candidate with the original, before the candidate is shipped.
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

// The most graphs that are handed to the gate, which judges one after the other.
constexpr std::size_t kFinalists = 3;
// Selects which elements grow and which shrink (see perturbed).
constexpr std::uint64_t kPerturbationSeed = 1;

// Runs the gate on a candidate and fills in the report. Seconds that the report already has count against
// the budget. `sizes`: the names of the choices of sizes in the report.
Acceptance judge(cost::Executor& executor, cost::ProgramId original, cost::ProgramId candidate, std::span<const std::string> sizes,
                 const OptimizeOptions& options, const RunLimits& limits, const std::function<void()>& progress, GateReport& report);

// Adds the outcome of a trial to the report. The trial compared the result with the shapes of `values`
// values declared against the result without these declarations.
void list_declared(const GateReport& trial, std::size_t values, const Acceptance& acceptance, GateReport& report);

// The inputs of one run: those of a choice of sizes, optionally perturbed by a rounding error.
struct RunChoice {
  std::size_t sizes;
  bool perturbed = false;
};

// Compares the outputs of both programs at each choice of sizes. An output may differ by a share of its
// largest magnitude, by a multiple of the difference between two runs of the original, or by a multiple of
// the difference between the original on its inputs and on perturbed inputs. `outputs` returns the outputs
// of one run, always the same number in the same order. `name_of` returns the name of an output and is
// called only after a run.
Acceptance compare_outputs(const std::function<Result<std::vector<eval::Tensor>>(cost::ProgramId, RunChoice)>& outputs,
                           const std::function<std::string(std::size_t)>& name_of, cost::ProgramId original, cost::ProgramId candidate,
                           std::span<const std::string> sizes);

// The gate for whole ONNX models, which run in the runner of the options or on a device of the caller.
class RunnerGate {
 public:
  // Starts the runner, so that a runner that cannot start is an error before any work is done. `runs`: the
  // inputs and sizes to run on. All arguments must outlive the gate. Errors: error_of_start.
  static Result<std::unique_ptr<RunnerGate>> open(const OptimizeOptions& options, const RunInputs& runs, const RunLimits& limits);
  ~RunnerGate();
  RunnerGate(const RunnerGate&) = delete;
  RunnerGate& operator=(const RunnerGate&) = delete;

  // A model as bytes, or as a file; a model with external data must be a file.
  struct Model {
    std::string_view bytes;
    std::string path;
  };
  // Judges a candidate. Both models get the same inputs at each choice of sizes: those of the files, and in
  // any case values for the `required` ones. The outputs of the candidate are compared with those of the
  // original, too.
  Acceptance judge(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs, std::span<const NamedInput> required,
                   const Model& original, const Model& candidate, const std::function<void()>& progress, GateReport& report);

 private:
  RunnerGate(const OptimizeOptions& options, const RunInputs& runs, const RunLimits& limits, std::unique_ptr<cost::ModelExecutor> executor);
  Result<std::vector<std::string>> add_inputs(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs,
                                              std::span<const NamedInput> required);

  const OptimizeOptions& options_;
  const RunInputs& runs_;
  const RunLimits& limits_;
  std::vector<std::string> sizes_;  // as text, set when the inputs are added
  std::unique_ptr<cost::ModelExecutor> executor_;
};

}  // namespace xflow::api
