// The methods for the max load, one after the other.
#pragma once

#include <xflow/place.h>

#include "src/parallel/found_placement.h"
#include "src/parallel/integer_solver.h"
#include "src/parallel/placement_problem.h"
#include "src/parallel/search_budget.h"

namespace xflow::parallel {

// Searches the smallest max load. Errors: unsupported for `ideals` with too many, and for `milp` without a
// solver or with too many columns; limit if there is no placement within the memory among those that were
// tried. `automatic` without a solver has no bounds of one. With a start, `local` begins there, and `policy`
// takes it.
Result<FoundPlacement> place_for_load(const PlacementProblem& problem, PlacementMethod method, std::uint64_t seed, SearchBudget& budget,
                                      const PlacementStart* start = nullptr, const Result<const IntegerSolver*>& solver = integer_solver());

// A placement without any search: all groups on one CPU, or on the first accelerators that hold them, those
// with most bytes first. Nothing if that leaves a group without a device.
std::optional<GroupDevices> simple_placement(const PlacementProblem& problem);

}  // namespace xflow::parallel
