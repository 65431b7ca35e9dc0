// Plans in which each operator runs whole on one device.
#pragma once

#include <xflow/parallelize.h>
#include <xflow/place.h>
#include <xflow/time.h>

#include <optional>

#include "src/parallel/cluster.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_search.h"
#include "src/parallel/split_starts.h"
#include "src/parallel/split_workload.h"
#include "src/policy/step_environment.h"

namespace xflow::api {

ParallelStop stop_of(PlacementStop stop);

// The best plan that ParallelizeOptions::method finds, from one device and the list schedules on. `measure`
// runs a plan; without it steps are simulated. With it, the plan that was found and the best one of the
// others run by turns at last, and the faster one is the result. Sets how the plan was found. Errors: those
// of measuring; limit, "cancelled".
Result<parallel::SplitPlan> place_operators(parallel::SplitModel& model, const parallel::DeviceCluster& cluster,
                                            const ParallelizeOptions& options, parallel::StepKind kind, policy::MeasureStep measure,
                                            ParallelizeResult& result);

// A plan of `colocrl` that is found in this time, or until `options.cancel` ends it, for a search of splits
// that has found a step of at least 0.93 of the shortest one of its start plans with whole operators
// (bench/results/policies.md, *Methods for whole nodes at equal time*). Nothing for another step, without
// time, or if the search is cancelled.
std::optional<parallel::NamedPlan> learned_plan(parallel::SplitModel& model, const parallel::DeviceCluster& cluster,
                                                const ParallelizeOptions& options, parallel::StepKind kind,
                                                const parallel::FoundSplit& found, Seconds time);

}  // namespace xflow::api
