// A search on the model that an earlier search made: written and read again, it may show what could not be seen before (a shape that was
// computed is a constant now).
#pragma once

#include <xflow/optimize.h>

#include <optional>
#include <string>

#include "src/support/acceptance.h"

namespace xflow::api {

// What a search may take where no budget is given.
constexpr double kDefaultSeconds = 30;
// So many searches at most, each on the result of the one before.
constexpr int kMostRounds = 32;

// The options of the next search after those that `report` tells of: what they left of budgets of time, and of what constants may grow.
// Nothing if a time is used up. A budget of states is each search's own: so a run on the result of the last one does what that one did,
// and finds nothing.
std::optional<OptimizeOptions> options_of_next_round(const OptimizeOptions& options, const OptimizeReport& report);

// Adds a run of a result against the one before it to what is known of the first of these results.
void add_run(GateReport& run, const GateReport& later, const Acceptance& acceptance);

// Adds the work of a search and, where it improved something, what was found, to the report of another one.
void add_search(OptimizeReport& report, OptimizeReport round);

// Adds to the report of a model what a search on its result did and found. Not what is known of the final model alone (nodes_kept).
void add_round(OptimizeReport& report, OptimizeReport round);

}  // namespace xflow::api
