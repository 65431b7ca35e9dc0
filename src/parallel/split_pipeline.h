// Placements of whole operators for a pipeline: the largest load of a device is the time between two
// samples.
#pragma once

#include <xflow/error.h>
#include <xflow/place.h>

#include <functional>

#include "src/parallel/cluster.h"
#include "src/parallel/instance.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::parallel {

struct FoundPipeline {
  SplitPlan plan;
  PlacementResult placement;  // its value, the bound, and how it was found
};

// Places an instance, as place() or a policy does.
using Placer = std::function<Result<PlacementResult>(const PlacementInstance& instance, const PlaceOptions& options)>;

// The placement that `place` finds, with the times of the operators on the devices, and transfers at
// the rates of the slowest link. Errors: unsupported for devices or memories that differ, and those of
// `place`.
Result<FoundPipeline> search_pipeline(SplitModel& model, const DeviceCluster& cluster, const PlaceOptions& options, const Placer& place);

}  // namespace xflow::parallel
