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

Result<parallel::GroupDevices> placement_of(const Policy& policy, VisitEnvironment& environment, std::uint64_t seed,
                                            parallel::SearchBudget& budget) {
  parallel::RandomNumbers random(seed);
  PolicyNetwork network(policy.weights);
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

namespace {

// Lets the policy place clusters, and begins with their placement if it is better.
Result<void> place_clusters(const Policy& policy, const parallel::PlacementInstance& instance, PlacementObjective objective,
                            PlacementEnvironment& environment, std::uint64_t seed, parallel::SearchBudget& budget) {
  const auto coarse = coarse_environment(instance, objective, environment);
  if (!coarse) return {};
  XFLOW_TRY(const parallel::GroupDevices of_clusters, placement_of(policy, *coarse, seed, budget));
  parallel::GroupDevices devices = environment.devices();
  for (std::size_t node = 0; node < instance.nodes.size(); ++node)
    devices[environment.group_of_node()[node]] = of_clusters[coarse->group_of_node()[node]];
  const parallel::GroupDevices before = environment.devices();
  const double value = environment.value();
  environment.reset(devices);
  if (!(environment.value() < value)) environment.reset(before);
  return {};
}

}  // namespace

Result<PlacementResult> place(const parallel::PlacementInstance& instance, const PlaceOptions& options, const std::string& where) {
  if (options.policy.empty()) return parallel::place(instance, options, where);
  const auto begin = std::chrono::steady_clock::now();
  XFLOW_TRY(const Policy policy, read_policy(options.policy));
  XFLOW_CHECK(check(policy, options));
  XFLOW_TRY(const auto environment, open_environment(instance, options.objective, where));
  parallel::SearchBudget budget(options.budget, options.steps, options.cancel, kStepsPerLook);
  XFLOW_CHECK(place_clusters(policy, instance, options.objective, *environment, options.seed, budget));
  parallel::PlacementStart start;
  XFLOW_TRY(start.devices, placement_of(policy, *environment, options.seed, budget));
  start.steps = budget.spent();
  start.stop = budget.stop().value_or(PlacementStop::finished);
  PlaceOptions rest = options;
  rest.method = options.search_after ? PlacementMethod::local : PlacementMethod::policy;
  rest.budget = std::max(Seconds(0), options.budget - Seconds(std::chrono::steady_clock::now() - begin));
  if (rest.steps) *rest.steps -= start.steps;
  return parallel::place(instance, rest, where, &start);
}

}  // namespace xflow::policy
