#include "src/policy/policy_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/parallel/place.h"
#include "src/parallel/random_numbers.h"
#include "src/policy/coarse_groups.h"
#include "src/policy/distribution.h"
#include "src/policy/policy_network.h"

namespace xflow::policy {
namespace {

constexpr int kMostPasses = 8;
constexpr std::int64_t kStepsPerLook = 64;
constexpr double kCoarse = 0.8;  // of groups that clusters are at most, to be of use

Result<void> check(const Policy& policy, const PlaceOptions& options) {
  if (options.method != PlacementMethod::automatic)
    return fail(ErrorCode::invalid_argument, fmt::format("the method '{}' does not go with a policy", to_string(options.method)));
  if (policy.objective == policy_objective(options.objective)) return {};
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("the policy was trained for the objective {}, not for {}", to_string(policy.objective), to_string(options.objective)),
      options.policy);
}

}  // namespace

Result<std::unique_ptr<PlacementEnvironment>> open_environment(const parallel::PlacementInstance& instance, PlacementObjective objective,
                                                               const std::string& where) {
  XFLOW_CHECK(parallel::check_objective(instance, objective, where));
  const std::vector<std::uint32_t> group_of_node = parallel::groups_of_nodes(instance);
  const std::uint32_t groups = 1 + *std::ranges::max_element(group_of_node);
  if (groups > kMostGroups)
    return fail(ErrorCode::unsupported, fmt::format("a policy places at most {} groups, and there are {}", kMostGroups, groups), where);
  auto environment = std::make_unique<PlacementEnvironment>(instance, objective, group_of_node);
  if (!environment->start())
    return fail(ErrorCode::unsupported, "a policy needs a first placement within the memory of the accelerators, and none was found",
                where);
  return environment;
}

std::unique_ptr<PlacementEnvironment> coarse_environment(const parallel::PlacementInstance& instance, PlacementObjective objective,
                                                         const PlacementEnvironment& environment) {
  const std::vector<std::uint32_t> cluster_of_group = coarse_groups(environment.problem());
  std::vector<std::uint32_t> cluster_of_node;
  for (const std::uint32_t group : environment.group_of_node()) cluster_of_node.push_back(cluster_of_group[group]);
  auto coarse = std::make_unique<PlacementEnvironment>(instance, objective, std::move(cluster_of_node));
  if (coarse->problem().size() > kCoarse * environment.problem().size() || !coarse->start()) return nullptr;
  return coarse;
}

parallel::GroupDevices groups_of_clusters(const PlacementEnvironment& clusters, const parallel::GroupDevices& devices,
                                          const PlacementEnvironment& groups) {
  parallel::GroupDevices result(groups.groups());
  for (std::size_t node = 0; node < groups.group_of_node().size(); ++node)
    result[groups.group_of_node()[node]] = devices[clusters.group_of_node()[node]];
  return result;
}

Result<parallel::GroupDevices> placement_of(std::span<const Matrix> weights, VisitEnvironment& environment, std::uint64_t seed,
                                            parallel::SearchBudget& budget) {
  parallel::RandomNumbers random(seed);
  PolicyNetwork network(weights);
  XFLOW_CHECK(network.encode(environment));
  parallel::GroupDevices best = environment.devices();
  double best_value = environment.value();
  bool is_greedy = true;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    environment.reset(best);
    const parallel::GroupDevices before = best;
    double visited = 0;
    for (const std::uint32_t group : environment.order()) {
      if (!budget.spend(environment.device_count())) return best;
      const auto choices = environment.choices(group, visited++ / static_cast<double>(environment.order().size()));
      XFLOW_TRY(const std::vector<float> scores, network.scores(choices));
      const std::vector<double> probabilities = probabilities_of(scores, choices.possible);
      environment.move(group, is_greedy ? likeliest(probabilities) : choice_at(probabilities, random.unit()));
      if (!(environment.value() < best_value)) continue;
      best_value = environment.value();
      best = environment.devices();
    }
    is_greedy = is_greedy && best != before;
  }
  return best;
}

Result<void> begin_at_clusters(std::span<const Matrix> weights, PlacementEnvironment* clusters, PlacementEnvironment& groups,
                               std::uint64_t seed, parallel::SearchBudget& budget) {
  if (clusters == nullptr) return {};
  XFLOW_TRY(const parallel::GroupDevices of_clusters, placement_of(weights, *clusters, seed, budget));
  const parallel::GroupDevices before = groups.devices();
  const double value = groups.value();
  groups.reset(groups_of_clusters(*clusters, of_clusters, groups));
  if (!(groups.value() < value)) groups.reset(before);
  return {};
}

bool is_possible(const parallel::GroupDevices& devices, const PlacementEnvironment& groups) {
  return devices.size() == groups.groups() && *std::ranges::max_element(devices) < groups.device_count() &&
         parallel::DeviceLoads(groups.problem(), devices).is_valid();
}

void begin_at_better(std::span<const parallel::GroupDevices> placements, PlacementEnvironment& groups) {
  for (const parallel::GroupDevices& devices : placements) {
    if (!is_possible(devices, groups)) continue;
    const parallel::GroupDevices before = groups.devices();
    const double value = groups.value();
    groups.reset(devices);
    if (!(groups.value() < value)) groups.reset(before);
  }
}

Result<PlacementResult> place(const parallel::PlacementInstance& instance, const PlaceOptions& options, const std::string& where) {
  if (options.policy.empty()) return parallel::place(instance, options, where);
  const auto begin = std::chrono::steady_clock::now();
  XFLOW_TRY(const Policy policy, read_policy(options.policy));
  XFLOW_CHECK(check(policy, options));
  XFLOW_TRY(const auto groups, open_environment(instance, options.objective, where));
  const auto clusters = coarse_environment(instance, options.objective, *groups);
  parallel::SearchBudget budget(options.budget, options.steps, options.cancel, kStepsPerLook);
  XFLOW_CHECK(begin_at_clusters(policy.weights, clusters.get(), *groups, options.seed, budget));
  begin_at_better(policy.placements, *groups);
  parallel::PlacementStart start;
  XFLOW_TRY(start.devices, placement_of(policy.weights, *groups, options.seed, budget));
  start.steps = budget.spent();
  start.stop = budget.stop().value_or(PlacementStop::finished);
  PlaceOptions rest = options;
  rest.method = options.search_after ? PlacementMethod::local : PlacementMethod::policy;
  rest.budget = std::max(Seconds(0), options.budget - Seconds(std::chrono::steady_clock::now() - begin));
  if (rest.steps) *rest.steps -= start.steps;
  return parallel::place(instance, rest, where, &start);
}

}  // namespace xflow::policy
