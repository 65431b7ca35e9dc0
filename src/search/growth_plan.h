// How parts of a graph share one limit on the growth of constants.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/cost/incremental_cost.h"
#include "src/search/workspace.h"

namespace xflow::search {

// A graph of a part: what it saves (negative if it costs time), and by how many bytes constants grow.
struct GrowthChoice {
  cost::Ticks saved{};
  std::int64_t bytes = 0;
  StateId state{};
};
using GrowthChoices = std::vector<GrowthChoice>;

// The choices on the upper convex hull of what is saved over the bytes, by ascending bytes: from the one
// with the fewest bytes to the one that saves most. Ties go to the choice that comes first.
GrowthChoices efficient_choices(GrowthChoices choices);

// One choice for each part, so that the bytes of all together do not exceed the limit.
struct GrowthPlan {
  std::vector<std::size_t> chosen;  // by part: the index among its choices
  // Nothing saves more: the optimum if parts of a choice could be taken, which is the linear relaxation of
  // the multiple-choice knapsack problem (Sinha and Zoltners, Operations Research 27, 1979).
  cost::Ticks most{};
};

// Plans for parts with efficient choices, at least one each; `limit` is in bytes. Begins with the choices of
// the fewest bytes, which must fit together. The steps to the next choices follow in the order of what they
// save per byte, and those that do not fit are left out.
GrowthPlan plan_growth(std::span<const GrowthChoices> parts, std::int64_t limit);

}  // namespace xflow::search
