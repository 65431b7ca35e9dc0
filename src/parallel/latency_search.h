// Local search for the smallest latency.
#pragma once

#include "src/parallel/latency_clock.h"
#include "src/parallel/load_search.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/search_budget.h"

namespace xflow::parallel {

// Simulated annealing as search_loads(), on the latency and a small share of the sum of the loads of
// accelerators: a proposal is taken only if parts do not wait for each other. Improves `best`, whose latency
// is finite, until the budget is spent or its value is at most `bound`.
void search_latency(const PlacementProblem& problem, LatencyClock& clock, double bound, RandomNumbers& random, SearchBudget& budget,
                    BestPlacement& best);

}  // namespace xflow::parallel
