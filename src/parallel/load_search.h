// Local search for the smallest max load.
#pragma once

#include "src/parallel/device_loads.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/search_budget.h"

namespace xflow::parallel {

// The best placement of a search.
struct BestPlacement {
  double value = 0;
  GroupDevices devices;
};

// Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983) on the p-norm of the loads, p from 8 to 64. A
// proposal moves a group, swaps two, or moves a cluster: the groups that a group reaches over tensors whose
// cost is above a random threshold. Runs follow each other, each twice as long as the one before until
// `kLongestRun`, from the best placement or from the end of the last run. A step is a proposal.
//
// Improves `best`, which is valid, until the budget is spent or its value is at most `bound`.
void search_loads(const PlacementProblem& problem, double bound, RandomNumbers& random, SearchBudget& budget, BestPlacement& best);

}  // namespace xflow::parallel
