// The gate where there is no runner: whole graphs on the device that timed the kernels which the search used, by these kernels.
#pragma once

#include <xflow/optimize.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "src/devices/device_costs.h"
#include "src/eval/evaluate.h"
#include "src/ir/graph.h"
#include "src/search/run_limits.h"
#include "src/support/acceptance.h"
#include "src/validation/run_inputs.h"

namespace xflow::api {

struct DeviceGate {
  ir::Arena& arena;
  const ir::Graph& original;
  std::span<const NamedInput> inputs;
  const eval::Bindings& defaults;        // of inputs that have one
  std::span<const std::string> outputs;  // the names of the first outputs of `original`: these are compared
  const RunInputs& runs;                 // what both are run on
  const OptimizeOptions& options;
  DeviceCosts& costs;  // of these options
  const RunLimits& limits;
};

// Runs the original and a candidate in turns, at each choice of sizes, and fills in the report. Both are the graphs that a model is lifted
// to, in which equal nodes are one and unused ones are gone.
Acceptance judge_on_device(const DeviceGate& gate, const ir::Graph& candidate, const std::function<void()>& progress,
                           OptimizeReport& report);

// How the reason begins for which a candidate is refused that is the same to the device.
inline constexpr std::string_view kRunAlike = "it is run like the original";

}  // namespace xflow::api
