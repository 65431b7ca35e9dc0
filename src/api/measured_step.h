// Runs plans on this machine.
#pragma once

#include <xflow/parallelize.h>

#include "src/api/cluster_model.h"
#include "src/parallel/cluster.h"
#include "src/parallel/model_tasks.h"
#include "src/parallel/split_model.h"
#include "src/policy/step_environment.h"

namespace xflow::api {

// Runs the parts of a plan with a thread for each device and returns the median of `repeats` steps. Measured
// costs of kernels are kept for the next plan, in the options' file or in one that ends with the result. All
// arguments must outlive it. Errors of a call: those of write_plan_folder and of run_parts.
policy::MeasureStep measured_step(ClusterModel& model, const std::string& path, const parallel::ModelTasks& tasks,
                                  parallel::SplitModel& split, const parallel::DeviceCluster& cluster, const ParallelizeOptions& options,
                                  int repeats);

}  // namespace xflow::api
