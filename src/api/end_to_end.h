// Whole models against each other, before one is shipped.
#pragma once

#include <xflow/optimize.h>
#include <xflow/result.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/api/sizes.h"

namespace xflow::cost {
class Executor;
enum class ProgramId : std::uint32_t;
}  // namespace xflow::cost
namespace xflow::cost::runner {
class RunnerExecutor;
}

namespace xflow::api {

// The shapes of the options as choices of sizes: an input that is named several times has its first shape in the first choice, its second
// in the second, and its last in all further ones. At least one choice.
std::vector<std::vector<InputShape>> shape_choices(std::span<const InputShape> shapes);

// Lets the gate judge a candidate, and fills in the report. Empty if it may be shipped, otherwise why not. `sizes`: what each choice of
// sizes is called in the report.
std::string judge(cost::Executor& executor, cost::ProgramId original, cost::ProgramId candidate, std::span<const std::string> sizes,
                  const OptimizeOptions& options, const std::function<void()>& progress, OptimizeReport::EndToEnd& report);

// The same in the runner of the options.
class RunnerGate {
 public:
  // Starts the runner, so that one that cannot be started is an error before any work is done. Errors: unsupported.
  static Result<std::unique_ptr<RunnerGate>> open(const OptimizeOptions& options);
  ~RunnerGate();
  RunnerGate(const RunnerGate&) = delete;
  RunnerGate& operator=(const RunnerGate&) = delete;

  // A model as bytes, or as a file, which one with external data needs.
  struct Model {
    std::string_view bytes;
    std::string path;
  };
  // Both get the same seeded inputs (`inputs` are those without defaults) at each choice of sizes. What the candidate computes there is
  // compared with the original, too. Empty if it may be shipped, otherwise why not.
  std::string judge(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs, const Model& original,
                    const Model& candidate, const std::function<void()>& progress, OptimizeReport::EndToEnd& report);

 private:
  RunnerGate(const OptimizeOptions& options, std::unique_ptr<cost::runner::RunnerExecutor> executor);
  Result<std::vector<std::string>> add_inputs(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs);
  std::string compare_outputs(cost::ProgramId original, cost::ProgramId candidate, std::span<const std::string> sizes);

  const OptimizeOptions& options_;
  std::unique_ptr<cost::runner::RunnerExecutor> executor_;
};

}  // namespace xflow::api
