// A policy at work.
#pragma once

#include <xflow/place.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/parallel/search_budget.h"
#include "src/policy/placement_environment.h"
#include "src/policy/policy_file.h"

namespace xflow::policy {

// The most groups of an instance for a policy: each pair of groups has memory.
inline constexpr std::uint32_t kMostGroups = 4'000;

constexpr PolicyObjective policy_objective(PlacementObjective objective) {
  return objective == PlacementObjective::latency ? PolicyObjective::latency : PolicyObjective::max_load;
}

// The environment of an instance. Errors: unsupported for more than kMostGroups, for an instance without a
// first placement within the memory, and for a latency of backward nodes.
Result<std::unique_ptr<PlacementEnvironment>> open_environment(const parallel::PlacementInstance& instance, PlacementObjective objective,
                                                               const std::string& where);

// The environments of an instance: clusters of groups (coarse_levels()) from the largest ones on, then the
// groups. Clusters that are hardly fewer than what they consist of are left out, and those without a first
// placement within the memory. Errors: those of open_environment().
using PlacementLevels = std::vector<std::unique_ptr<PlacementEnvironment>>;
Result<PlacementLevels> open_levels(const parallel::PlacementInstance& instance, PlacementObjective objective, const std::string& where);

// The placement of a level where each node is on the device that it has in a level before.
parallel::GroupDevices in_level(const PlacementEnvironment& level, const PlacementEnvironment& before,
                                const parallel::GroupDevices& devices);

// The best placement that a policy with these weights passes from a first one. A pass visits all groups; the
// first ones take the most probable device, until such a pass changes nothing, later ones draw it. Ends
// after so many passes, or when the budget is spent; a step is a device of a visited group.
inline constexpr int kMostPasses = 8;
Result<parallel::GroupDevices> placement_of(std::span<const Matrix> weights, VisitEnvironment& environment, std::uint64_t seed,
                                            parallel::SearchBudget& budget, int passes = kMostPasses);

// The best placement of the groups that a policy passes from level to level. Each level begins at the
// placement of the one before, or at its own start if that is better, and the groups at the best of the
// known ones that are possible, too. For the latency there are eight starts with three passes each, or as
// many as `most_starts` says.
Result<parallel::GroupDevices> placement_of_levels(std::span<const Matrix> weights, PlacementLevels& levels,
                                                   std::span<const parallel::GroupDevices> known, std::uint64_t seed,
                                                   parallel::SearchBudget& budget, std::uint64_t most_starts = UINT64_MAX);

// Whether a placement has a device for each group, and the groups fit into the memory of their devices. It
// may be a placement of another graph.
bool is_possible(const parallel::GroupDevices& devices, const PlacementEnvironment& groups);

// Moves the groups as the best one of the possible placements says, if it is better than where they are.
void begin_at_better(std::span<const parallel::GroupDevices> placements, PlacementEnvironment& groups);

// xflow::place() by search, or by PlaceOptions::policy. Errors: those of xflow::place.
Result<PlacementResult> place(const parallel::PlacementInstance& instance, const PlaceOptions& options, const std::string& where);

}  // namespace xflow::policy
