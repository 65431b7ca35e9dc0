// One placement from instance to result.
#pragma once

#include <xflow/place.h>

#include "src/parallel/instance.h"

namespace xflow::parallel {

// Searches a placement; errors as xflow::place(). `where` is for messages.
Result<PlacementResult> place(const PlacementInstance& instance, const PlaceOptions& options, const std::string& where);

// The value of given devices. Errors: unsupported for a latency of parts that wait for each other.
Result<PlacementResult> evaluate(const PlacementInstance& instance, const NodeDevices& devices, PlacementObjective objective,
                                 const std::string& where);

}  // namespace xflow::parallel
