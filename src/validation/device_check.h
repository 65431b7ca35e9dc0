// Whether a device computes what the reference does, before it is trusted.
#pragma once

#include <xflow/device.h>
#include <xflow/error.h>

#include <functional>
#include <string>
#include <vector>

#include "src/cost/database.h"
#include "src/eval/evaluate.h"
#include "src/kernels/device.h"
#include "src/runtime/plan.h"

namespace xflow::api {

// A graph of the kernels that models are made of, with values for its inputs.
struct SampleGraph {
  std::string name;
  ir::Graph graph;
  eval::Bindings inputs;
};
// Convolutions, attention in single and half precision, and what moves data, in an empty arena; the same in every run.
Result<std::vector<SampleGraph>> sample_graphs(ir::Arena& arena);

// Runs a plan and gives its outputs.
using RunPlan = std::function<Result<std::vector<eval::Tensor>>(ir::Arena&, const cost::Plan&, const SampleGraph&)>;

// Runs the graphs as whole models are run, by the kernels that the device is quickest with, and compares by the rule of `xflow check`.
// Errors: those of evaluating the reference.
Result<DeviceCheck> check_device(cost::Device& device, cost::Database& database, const RunPlan& run);

// The same for the device of this name (OptimizeOptions::device). Errors: as DeviceCosts::open, invalid_argument for a device on which
// nothing is run.
Result<DeviceCheck> check_device_named(const std::string& name);

}  // namespace xflow::api
