// A part that a runner runs in another process.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/devices/runner/runner.h"
#include "src/execution/part_engine.h"
#include "src/ops/kernel_spec.h"

namespace xflow::execution {

// The interface of a part, in the order of its model.
struct RunnerPartTypes {
  std::vector<std::pair<std::string, ops::TensorSpec>> inputs;
  std::vector<std::pair<std::string, ops::TensorSpec>> outputs;
};

// Seconds in which a runner answers that it starts, and that it has loaded or first run a part.
constexpr double kFirstPatience = 120;

// Loads the model in the file `path` as number `number` of the runner, which must outlive the result. Inputs
// with a default are not written: a runner may keep it. Errors: those of Runner::load.
Result<std::unique_ptr<PartEngine>> runner_part(cost::runner::Runner& runner, std::uint32_t number, const std::string& path,
                                                RunnerPartTypes types);

}  // namespace xflow::execution
