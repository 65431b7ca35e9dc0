// A search on the model that an earlier search made: written and read again, it may show what could not be seen before (a shape that was
// computed is a constant now).
#pragma once

#include <xflow/optimize.h>

#include <optional>

namespace xflow::api {

// So many searches at most, each on the result of the one before.
constexpr int kMostRounds = 32;

// The options of the next search after those that `report` tells of: what they left of budgets of time, and of what constants may grow.
// Nothing if a time is used up. A budget of states is each search's own: so a run on the result of the last one does what that one did,
// and finds nothing.
std::optional<OptimizeOptions> options_of_next_round(const OptimizeOptions& options, const OptimizeReport& report);

// Adds to the report of a model what a search on its result did and found. Not what is known of the final model alone (nodes_kept).
void add_round(OptimizeReport& report, OptimizeReport round);

}  // namespace xflow::api
