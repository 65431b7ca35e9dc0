// Checks that a device computes the same results as the reference before xflow trusts it.
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

// A graph of kernels that are common in models, with values for its inputs.
struct SampleGraph {
  std::string name;
  ir::Graph graph;
  eval::Bindings inputs;
};
// Builds sample graphs in an empty arena: convolutions, attention in single and half precision, and
// operators that move data. The graphs are the same in every run.
Result<std::vector<SampleGraph>> sample_graphs(ir::Arena& arena);

// Runs a plan and returns its outputs.
using RunPlan = std::function<Result<std::vector<eval::Tensor>>(ir::Arena&, const cost::Plan&, const SampleGraph&)>;

// Runs the sample graphs like whole models, with the fastest kernels of the device, and compares the outputs
// by the rule of `xflow check`. Errors: those of evaluating the reference.
Result<DeviceCheck> check_device(cost::Device& device, cost::Database& database, const RunPlan& run);

// Checks the device of this name (OptimizeOptions::device). Errors: those of DeviceCosts::open;
// invalid_argument for a device that runs no graphs.
Result<DeviceCheck> check_device_named(const std::string& name);

}  // namespace xflow::api
