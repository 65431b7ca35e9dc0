// The gate without a runner: runs whole graphs on the device that timed the kernels, with the kernels that
// the search chose.
#pragma once

#include <xflow/optimize.h>

#include <functional>
#include <span>
#include <string>

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
  const eval::Bindings& defaults;        // of the inputs that have one
  std::span<const std::string> outputs;  // names of the first outputs of `original`, which are compared
  const RunInputs& runs;                 // inputs and sizes of both graphs
  const OptimizeOptions& options;
  DeviceCosts& costs;  // opened with `options`
  const RunLimits& limits;
};

struct DeviceJudgement {
  Acceptance acceptance;
  bool is_run_alike = false;  // refused because the device runs the candidate exactly like the original
};

// Runs the original and the candidate in alternating pairs at each choice of sizes and fills in the report.
// Both are lifted graphs: equal nodes are merged and unused nodes are removed.
DeviceJudgement judge_on_device(const DeviceGate& gate, const ir::Graph& candidate, const std::function<void()>& progress,
                                OptimizeReport& report);

}  // namespace xflow::api
