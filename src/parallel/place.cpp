#include "src/parallel/place.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/parallel/evaluate.h"
#include "src/parallel/latency_methods.h"
#include "src/parallel/load_methods.h"
#include "src/parallel/placement_problem.h"
#include "src/parallel/search_budget.h"

namespace xflow::parallel {
namespace {

bool has_method(PlacementObjective objective, PlacementMethod method) {
  switch (method) {
    case PlacementMethod::automatic:
    case PlacementMethod::local:
      return true;
    case PlacementMethod::orders:
    case PlacementMethod::ideals:
    case PlacementMethod::milp:
      return objective == PlacementObjective::max_load;
    case PlacementMethod::greedy:
    case PlacementMethod::list:
      return objective == PlacementObjective::latency;
    case PlacementMethod::split:
    case PlacementMethod::policy:
      return false;
  }
  return false;
}

}  // namespace

Result<void> check_objective(const PlacementInstance& instance, PlacementObjective objective, const std::string& where) {
  if (objective == PlacementObjective::max_load) return {};
  for (const PlacementNode& node : instance.nodes) {
    if (node.is_backward)
      return fail(ErrorCode::unsupported, fmt::format("node {} is a backward node: the latency is that of inference", node.id), where);
  }
  return {};
}

PlacementProblem useful_problem(const PlacementInstance& instance, std::span<const std::uint32_t> group_of_node,
                                PlacementObjective objective) {
  PlacementProblem problem = merge(instance, group_of_node);
  problem.accelerators = std::min(problem.accelerators, problem.size());
  // The latency has a core for each node.
  problem.cpus = std::min(problem.cpus, objective == PlacementObjective::latency ? 1 : problem.size());
  return problem;
}

namespace {

// Value and devices of a placement, without a bound.
Result<PlacementResult> described(const PlacementInstance& instance, const NodeDevices& devices, PlacementObjective objective,
                                  const std::string& where) {
  PlacementResult result;
  result.objective = objective;
  result.memory = instance.memory;
  const std::vector<double> loads = loads_of(instance, devices);
  const std::vector<double> bytes = bytes_of(instance, devices);
  for (std::uint32_t device = 0; device < instance.devices(); ++device)
    result.devices.push_back({device < instance.accelerators, Milliseconds(loads[device]), bytes[device], {}});
  for (std::size_t k = 0; k < instance.nodes.size(); ++k) result.devices[devices[k]].nodes.push_back(instance.nodes[k].id);
  result.value = Milliseconds(*std::max_element(loads.begin(), loads.end()));
  if (objective == PlacementObjective::latency) {
    const auto latency = latency_of(instance, devices);
    if (!latency) return fail(ErrorCode::unsupported, "parts of the split wait for each other, so that it has no latency", where);
    result.value = Milliseconds(*latency);
  }
  return result;
}

void set_bound(PlacementResult& result, const LowerBound& bound) {
  // Sums in another order differ in their last digits.
  result.bound = Milliseconds(std::min(bound.value, result.value.count()));
  result.bound_by = bound.by;
}

}  // namespace

Result<PlacementResult> evaluate(const PlacementInstance& instance, const NodeDevices& devices, PlacementObjective objective,
                                 const std::string& where) {
  XFLOW_CHECK(check_objective(instance, objective, where));
  XFLOW_TRY(PlacementResult result, described(instance, devices, objective, where));
  SearchBudget unlimited;
  set_bound(result, objective == PlacementObjective::max_load
                        ? load_bound(merge(instance, groups_of_nodes(instance)), result.value.count(), unlimited)
                        : LowerBound{longest_path(instance), PlacementBound::longest_path});
  return result;
}

Result<PlacementResult> place(const PlacementInstance& instance, const PlaceOptions& options, const std::string& where,
                              const PlacementStart* start) {
  if (start == nullptr && !has_method(options.objective, options.method)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the objective {} has no method '{}'", to_string(options.objective), to_string(options.method)));
  }
  XFLOW_CHECK(check_objective(instance, options.objective, where));
  SearchBudget budget(options.budget, options.steps, options.cancel);
  const std::vector<std::uint32_t> group_of_node = groups_of_nodes(instance);
  const PlacementProblem problem = useful_problem(instance, group_of_node, options.objective);
  auto found = options.objective == PlacementObjective::max_load
                   ? place_for_load(problem, options.method, options.seed, budget, start)
                   : place_for_latency(instance, group_of_node, problem, options.method, options.seed, budget, start);
  if (!found) return fail(found.error().code, found.error().message, where);
  if (options.cancel.is_stopping()) return fail(ErrorCode::limit, "cancelled");
  NodeDevices devices = node_devices(group_of_node, found->best.devices);
  for (std::uint32_t& device : devices) {
    if (device >= problem.accelerators) device += instance.accelerators - problem.accelerators;
  }
  if (!is_valid(instance, devices)) return fail(ErrorCode::internal, "the placement does not fit the devices", where);
  XFLOW_TRY(PlacementResult result, described(instance, devices, options.objective, where));
  set_bound(result, found->bound);
  if (found->contiguous) result.contiguous = Milliseconds(*found->contiguous);
  result.method = found->method;
  result.stop = found->stop;
  result.seed = options.seed;
  result.steps = budget.spent() + (start == nullptr ? 0 : start->steps);
  return result;
}

}  // namespace xflow::parallel
