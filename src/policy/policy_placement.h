// A policy at work.
#pragma once

#include <xflow/place.h>

#include <memory>
#include <string>

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

// The best placement that the policy passes from a first one. A pass visits all groups; the first ones take
// the most probable device, until such a pass changes nothing, later ones draw it. Ends after kMostPasses
// passes, or when the budget is spent; a step is a device of a visited group.
Result<parallel::GroupDevices> placement_of(const Policy& policy, VisitEnvironment& environment, std::uint64_t seed,
                                            parallel::SearchBudget& budget);

// xflow::place() by search, or by PlaceOptions::policy. Errors: those of xflow::place.
Result<PlacementResult> place(const parallel::PlacementInstance& instance, const PlaceOptions& options, const std::string& where);

}  // namespace xflow::policy
