// Rounds of a search: each searches the result of the round before. Writing and reading a result again can
// expose more rewrites; for example, a computed shape has become a constant.
#pragma once

#include <xflow/optimize.h>

#include <optional>
#include <string>

#include "src/support/acceptance.h"

namespace xflow::api {

// The time of a search without a given budget.
constexpr double kDefaultSeconds = 30;
// The maximum number of searches, each on the result of the search before.
constexpr int kMostRounds = 32;

// The options of the next search: `options` less the time budgets and the growth of constants that `report`
// says are used. Nothing if a time budget is used up. A budget of states applies to each search separately,
// so a new run on the final result repeats the last search and finds nothing.
std::optional<OptimizeOptions> options_of_next_round(const OptimizeOptions& options, const OptimizeReport& report);

// Adds the run of a later result against the result before it to the gate report `run` of the first result.
void add_run(GateReport& run, const GateReport& later, const Acceptance& acceptance);

// Adds the work of the search `round` to `report`, and its steps, regions and rules if it improved the
// model.
void add_search(OptimizeReport& report, OptimizeReport round);

// Adds the report of a search on a model's result to the report of the model, except facts of the final
// model alone (nodes.kept).
void add_round(OptimizeReport& report, OptimizeReport round);

}  // namespace xflow::api
