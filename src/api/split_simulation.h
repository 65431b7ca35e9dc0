// The simulated step of a plan that splits nodes, as a result.
#pragma once

#include <xflow/error.h>
#include <xflow/simulate.h>

#include <span>
#include <vector>

#include "src/api/cluster_model.h"
#include "src/parallel/cluster.h"
#include "src/parallel/configured_plan.h"
#include "src/parallel/model_tasks.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_workload.h"

namespace xflow::api {

// The operators of a model, by task.
std::vector<parallel::OperatorSource> operator_sources(const onnx_io::Document& document, const parallel::ModelTasks& tasks);

// The simulation of a step. `nodes` are those of the document, by operator.
SimulationResult simulation_of(const onnx_io::Document& document, std::span<const onnx_io::NodeId> nodes, const parallel::SplitModel& model,
                               const parallel::DeviceCluster& cluster, const parallel::SplitStep& step);

// Simulates an inference step of the plan of a model's configuration. The result has no list of nodes, since
// a node may be on several devices. Errors: those of SplitModel::of and ConfiguredPlan::split_plan.
Result<SimulationResult> split_simulation(ClusterModel& model, const parallel::ConfiguredPlan& configured,
                                          const parallel::DeviceCluster& cluster);

}  // namespace xflow::api
