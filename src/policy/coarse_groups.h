// Clusters of groups, which a policy places before the groups.
#pragma once

#include <xflow/place.h>

#include <cstdint>
#include <vector>

#include "src/parallel/placement_problem.h"

namespace xflow::policy {

// The cluster of each group, from 0 without gaps.
using Clusters = std::vector<std::uint32_t>;

// Clusters from the largest to the smallest ones; one of a level lies in one of the level before. They have
// at most a share of the mean time of a device and of its memory, and groups that an accelerator can hold
// are not joined with others. The most expensive tensors come first.
//
// - For the max load there is one level. Groups that exchange tensors are joined, if a transfer takes at
//   least a fiftieth of a device's mean time.
// - For the latency there are three. A group joins another one that alone reads it, or that alone it reads:
//   then no path leaves a cluster and enters it again, which would make its device wait.
std::vector<Clusters> coarse_levels(const parallel::PlacementProblem& problem, PlacementObjective objective);

}  // namespace xflow::policy
