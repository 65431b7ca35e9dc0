// A search whose result does not hang on kernels that were timed while something disturbed the machine.
#pragma once

#include "src/cost/cover.h"
#include "src/search/search.h"

namespace xflow::api {

// Searches with the costs of the model. Provisional costs are used as they are until half of the budget is used up; then these kernels are
// timed again (as far as the model may, see CostModel::allow_again). Where that changes a cost, the search restarts, with the rest of
// the time or all of the states. Before a result is returned, the kernels by which it differs from `graph` are timed again if they are
// provisional still. With costs none of which is provisional this is one search.
search::Outcome remeasured_search(ir::Arena& arena, const ir::Graph& graph, cost::CostModel& model, search::Rewriter& rewriter,
                                  const search::Options& options);

// A search that restarts after the time is used up may take so much: longer than finding the last result took.
double seconds_to_restart(const search::Outcome& outcome);

}  // namespace xflow::api
