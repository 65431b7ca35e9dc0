// Groups that are placed together before each is placed by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "src/parallel/placement_problem.h"

namespace xflow::policy {

// The number of the cluster of each group. Clusters grow over tensors, those that cost most first, as long
// as a cluster has at most half of an even share of all work, and half of the memory of an accelerator.
// Tensors that cost less than a fiftieth of an even share join nothing.
std::vector<std::uint32_t> coarse_groups(const parallel::PlacementProblem& problem);

}  // namespace xflow::policy
