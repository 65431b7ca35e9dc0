// Lower bounds of the max load. They hold for all placements, contiguous or not.
#pragma once

#include <xflow/place.h>

#include "src/parallel/placement_problem.h"
#include "src/parallel/search_budget.h"

namespace xflow::parallel {

struct LowerBound {
  double value = 0;
  PlacementBound by = PlacementBound::work;

  // Takes the other bound if it is larger.
  void raise(double other, PlacementBound other_by) {
    if (other > value) *this = {other, other_by};
  }
};

// The largest time of a group on its faster device.
double group_bound(const PlacementProblem& problem);

// The smallest T for which all work, divided at will, fits all devices in T: CPUs take the work that is
// relatively slowest on accelerators.
double work_bound(const PlacementProblem& problem);

// A T below which the heaviest groups do not fit as wholes, the others divided at will; at least `lower`,
// which is a bound, and at most `upper`. Groups of nearly the same size count as their smallest, so that a
// search over the loads of all devices meets few different states. Ends after a fixed number of states.
double packing_bound(const PlacementProblem& problem, double lower, double upper);

// The smallest T for which the CPUs can hold in T all groups whose star exceeds T. The star of a group is
// the smallest load of an accelerator that holds it: a minimum cut over compute and transfers (Boost.Graph,
// push_relabel_max_flow). Stars that cannot raise the bound above `lower` are not computed, nor those after
// the budget is spent. A step is a vertex of a cut's network.
double star_bound(const PlacementProblem& problem, double lower, SearchBudget& budget);

// The larger one of group_bound() and work_bound().
LowerBound quick_load_bound(const PlacementProblem& problem);
// The largest of all bounds, for a placement with this max load.
LowerBound load_bound(const PlacementProblem& problem, double max_load, SearchBudget& budget);

// The star of each group of `groups`: infinite for one that no accelerator holds.
std::vector<double> stars(const PlacementProblem& problem, std::span<const std::uint32_t> groups, SearchBudget& budget);

}  // namespace xflow::parallel
