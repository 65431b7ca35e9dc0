// One placement from instance to result.
#pragma once

#include <xflow/place.h>

#include <span>

#include "src/parallel/found_placement.h"
#include "src/parallel/instance.h"
#include "src/parallel/placement_problem.h"

namespace xflow::parallel {

// The groups of an instance on as many of its devices as can be of use: not more than groups, and for the
// latency one CPU, which has a core for each node.
PlacementProblem useful_problem(const PlacementInstance& instance, std::span<const std::uint32_t> group_of_node,
                                PlacementObjective objective);

// Errors: unsupported for a latency of backward nodes.
Result<void> check_objective(const PlacementInstance& instance, PlacementObjective objective, const std::string& where);

// Searches a placement; errors as xflow::place(). `where` is for messages. The search begins with `start` if
// there is one: PlacementMethod::policy takes it as it is, and `local` improves it.
Result<PlacementResult> place(const PlacementInstance& instance, const PlaceOptions& options, const std::string& where,
                              const PlacementStart* start = nullptr);

// The value of given devices. Errors: unsupported for a latency of parts that wait for each other.
Result<PlacementResult> evaluate(const PlacementInstance& instance, const NodeDevices& devices, PlacementObjective objective,
                                 const std::string& where);

}  // namespace xflow::parallel
