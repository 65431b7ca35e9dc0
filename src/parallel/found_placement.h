// What methods find.
#pragma once

#include <xflow/place.h>

#include <optional>

#include "src/parallel/load_bounds.h"
#include "src/parallel/load_search.h"

namespace xflow::parallel {

// A value this close to a bound is optimal: both are sums of rounded numbers.
inline constexpr double kCloseToBound = 1 + 1e-9;

// A placement of the groups of useful_problem() that was found before.
struct PlacementStart {
  GroupDevices devices;  // within the memory
  std::uint64_t steps = 0;
  PlacementStop stop = PlacementStop::finished;  // why no better one was found
};

struct FoundPlacement {
  BestPlacement best;
  PlacementMethod method = PlacementMethod::local;  // that found it
  LowerBound bound;
  std::optional<double> contiguous;
  PlacementStop stop = PlacementStop::finished;

  bool is_optimal() const { return best.value <= bound.value * kCloseToBound; }
};

}  // namespace xflow::parallel
