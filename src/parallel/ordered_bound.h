// A lower bound of steps whose order and fusions are planned.
#pragma once

#include "src/parallel/ordered_step.h"

namespace xflow::parallel {

// No plan has a shorter step, in seconds: the larger one of the longest path and of an even share of all
// work, of nodes on their fastest devices. A node takes as much less as its fusion saves. Without `fuses` no
// choice is taken. The problem passes check_workload and check_fusions.
double ordered_bound(const OrderedProblem& problem, bool fuses);
// The same of plans that a search may find from a start whose fusions stay without `fuses`.
double bound_from(const OrderedProblem& problem, const OrderedPlan& start, bool fuses);

}  // namespace xflow::parallel
