// One plan of a step from instance to result.
#pragma once

#include <xflow/place_step.h>

#include <string>

#include "src/parallel/instance.h"

namespace xflow::policy {

// Implements xflow::place_step(). `where` is for messages.
Result<PlacedStep> place_step(const parallel::PlacementInstance& instance, const PlaceStepOptions& options, const std::string& where);

}  // namespace xflow::policy
