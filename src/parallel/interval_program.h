// Best contiguous placement along one topological order.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/parallel/placement_problem.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/search_budget.h"

namespace xflow::parallel {

// A random topological order that goes deep: of the vertices that became ready last, a random one comes
// next.
std::vector<std::uint32_t> random_order(const Adjacency& successors, RandomNumbers& random);

struct IntervalPlacement {
  double value = 0;
  GroupDevices devices;
};

// The dynamic program over intervals of an order of all groups: the smallest max load, if one is below
// `limit`, and its placement. Intervals whose compute reaches the limit are not looked at. A step is an
// interval. Nothing if the budget is spent before the end, or if groups times devices are too many for the
// memory.
std::optional<IntervalPlacement> best_intervals(const PlacementProblem& problem, std::span<const std::uint32_t> order, double limit,
                                                SearchBudget& budget);

// The same for the sum of all loads with one CPU, which bounds the latency: devices work one after the other
// at worst.
std::optional<IntervalPlacement> best_interval_sum(const PlacementProblem& problem, std::span<const std::uint32_t> order,
                                                   SearchBudget& budget);

// Intervals of an order that are closed as soon as their work reaches a target, in time that is linear in
// the number of groups: the smallest target for which the devices are enough. Work is compute alone. Groups
// that no accelerator holds, and those that are left, go to the first CPU. Nothing if that needs a CPU that
// is not there.
std::optional<GroupDevices> even_intervals(const PlacementProblem& problem, std::span<const std::uint32_t> order);

}  // namespace xflow::parallel
