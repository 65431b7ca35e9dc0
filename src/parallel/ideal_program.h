// Best contiguous placement.
#pragma once

#include <optional>

#include "src/parallel/interval_program.h"
#include "src/parallel/placement_problem.h"
#include "src/parallel/search_budget.h"

namespace xflow::parallel {

enum class IdealEnd : std::uint8_t {
  complete,  // there is no better contiguous placement
  too_many,  // more ideals than the limit
  stopped,   // the budget is spent
};

struct IdealResult {
  IdealEnd end = IdealEnd::complete;
  std::optional<IntervalPlacement> found;  // only if complete: a best placement, if its value is below the limit
  std::size_t ideals = 0;
};

// The dynamic program over ideals (sets of groups that contain all predecessors of their members; Tarnawski
// et al. 2020): each device holds the difference of two ideals. From each ideal it walks down by one group
// at a time and stops where the compute of the difference reaches `limit`. A step is a visited pair of
// ideals. `problem` has an acyclic order.
IdealResult best_ideals(const PlacementProblem& problem, double limit, std::size_t most_ideals, SearchBudget& budget);

}  // namespace xflow::parallel
