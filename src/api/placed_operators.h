// Plans in which each operator runs whole on one device.
#pragma once

#include <xflow/parallelize.h>
#include <xflow/place.h>

#include "src/parallel/cluster.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_workload.h"
#include "src/policy/step_environment.h"

namespace xflow::api {

ParallelStop stop_of(PlacementStop stop);

// The best plan that ParallelizeOptions::method finds, from one device and the list schedules on. `measure`
// runs a plan; without it steps are simulated. Sets how the plan was found. Errors: those of measuring;
// limit, "cancelled".
Result<parallel::SplitPlan> place_operators(parallel::SplitModel& model, const parallel::DeviceCluster& cluster,
                                            const ParallelizeOptions& options, parallel::StepKind kind, policy::MeasureStep measure,
                                            ParallelizeResult& result);

}  // namespace xflow::api
