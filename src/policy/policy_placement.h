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

// The environment of clusters of groups (coarse_groups()), or nothing if they are hardly fewer than the
// groups of `environment`, or have no first placement within the memory.
std::unique_ptr<PlacementEnvironment> coarse_environment(const parallel::PlacementInstance& instance, PlacementObjective objective,
                                                         const PlacementEnvironment& environment);

// The placement of groups for devices of clusters of them.
parallel::GroupDevices groups_of_clusters(const PlacementEnvironment& clusters, const parallel::GroupDevices& devices,
                                          const PlacementEnvironment& groups);

// The best placement that a policy with these weights passes from a first one. A pass visits all groups; the
// first ones take the most probable device, until such a pass changes nothing, later ones draw it. Ends
// after kMostPasses passes, or when the budget is spent; a step is a device of a visited group.
Result<parallel::GroupDevices> placement_of(std::span<const Matrix> weights, VisitEnvironment& environment, std::uint64_t seed,
                                            parallel::SearchBudget& budget);

// Lets a policy with these weights place `clusters` of groups (coarse_environment()) from their placement.
// The placement of groups becomes theirs if that is better. Null clusters have no effect.
Result<void> begin_at_clusters(std::span<const Matrix> weights, PlacementEnvironment* clusters, PlacementEnvironment& groups,
                               std::uint64_t seed, parallel::SearchBudget& budget);

// Whether a placement has a device for each group, and the groups fit into the memory of their devices. It
// may be a placement of another graph.
bool is_possible(const parallel::GroupDevices& devices, const PlacementEnvironment& groups);

// Moves the groups as the best one of the possible placements says, if it is better than where they are.
void begin_at_better(std::span<const parallel::GroupDevices> placements, PlacementEnvironment& groups);

// xflow::place() by search, or by PlaceOptions::policy. Errors: those of xflow::place.
Result<PlacementResult> place(const parallel::PlacementInstance& instance, const PlaceOptions& options, const std::string& where);

}  // namespace xflow::policy
