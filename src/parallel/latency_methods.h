// The methods for the latency, one after the other.
#pragma once

#include "src/parallel/found_placement.h"
#include "src/parallel/instance.h"
#include "src/parallel/placement_problem.h"
#include "src/parallel/search_budget.h"

namespace xflow::parallel {

// Fills accelerators one after the other with the groups of an order, as long as the memory holds them; a
// group that does not fit an accelerator, and those after the last accelerator, go to the CPU (the greedy
// baseline of Tarnawski et al. 2020). Nothing if there is no CPU for them.
std::optional<GroupDevices> filled_in_order(const PlacementProblem& problem, std::span<const std::uint32_t> order);

// Searches the smallest latency of the instance, whose groups are those of the problem; the problem has at
// most one CPU, which is a core for each node. Errors: limit if there is no placement among those that were
// tried. With a start, `local` begins there, and `policy` takes it.
Result<FoundPlacement> place_for_latency(const PlacementInstance& instance, std::span<const std::uint32_t> group_of_node,
                                         const PlacementProblem& problem, PlacementMethod method, std::uint64_t seed, SearchBudget& budget,
                                         const PlacementStart* start = nullptr);

}  // namespace xflow::parallel
