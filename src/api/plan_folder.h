// Writes the parts of a plan that splits operators, as xflow split does.
#pragma once

#include <xflow/error.h>
#include <xflow/split.h>

#include <string>

#include "src/api/cluster_model.h"
#include "src/parallel/cluster.h"
#include "src/parallel/model_tasks.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::api {

// What parts are written of: the file of a model, the model, its operators, by task, and their plan. Tasks
// that parallel::tasks_to_keep finds have no splits but copies.
struct PlannedParts {
  const std::string& path;
  ClusterModel& model;
  const parallel::ModelTasks& tasks;
  parallel::SplitModel& split;
  const parallel::SplitPlan& plan;
};

// Writes a model for each device and stage, and their manifest, to a folder that is empty or does not exist.
// `origin`: of the plan, for the manifest. Errors: those of parallel::parts_of; unsupported for an operation
// that cannot be exported; io.
Result<PartManifest> write_plan_folder(const PlannedParts& planned, const parallel::DeviceCluster& cluster, const std::string& folder,
                                       const std::string& origin);

}  // namespace xflow::api
