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

constexpr std::uint64_t kStartsOfLatency = 8;
constexpr int kPassesOfLatency = 3;
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

Result<PlacementLevels> open_levels(const parallel::PlacementInstance& instance, PlacementObjective objective, const std::string& where) {
  PlacementLevels levels;
  XFLOW_TRY(auto groups, open_environment(instance, objective, where));
  levels.push_back(std::move(groups));
  std::vector<Clusters> coarse = coarse_levels(levels.back()->problem(), objective);
  std::ranges::reverse(coarse);
  for (const Clusters& cluster_of_group : coarse) {
    std::vector<std::uint32_t> cluster_of_node;
    for (const std::uint32_t group : levels.front()->group_of_node()) cluster_of_node.push_back(cluster_of_group[group]);
    auto clusters = std::make_unique<PlacementEnvironment>(instance, objective, std::move(cluster_of_node));
    if (clusters->groups() <= kCoarse * levels.back()->groups() && clusters->start()) levels.push_back(std::move(clusters));
  }
  std::ranges::reverse(levels);
  return levels;
}

parallel::GroupDevices in_level(const PlacementEnvironment& level, const PlacementEnvironment& before,
                                const parallel::GroupDevices& devices) {
  parallel::GroupDevices result(level.groups());
  for (std::size_t node = 0; node < level.group_of_node().size(); ++node)
    result[level.group_of_node()[node]] = devices[before.group_of_node()[node]];
  return result;
}

Result<parallel::GroupDevices> placement_of(std::span<const Matrix> weights, VisitEnvironment& environment, std::uint64_t seed,
                                            parallel::SearchBudget& budget, int passes) {
  parallel::RandomNumbers random(seed);
  PolicyNetwork network(weights);
  XFLOW_CHECK(network.encode(environment));
  parallel::GroupDevices best = environment.devices();
  double best_value = environment.value();
  bool is_greedy = true;
  for (int pass = 0; pass < passes; ++pass) {
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

namespace {

// From where the levels are.
Result<parallel::GroupDevices> placement_in_passes(std::span<const Matrix> weights, PlacementLevels& levels,
                                                   std::span<const parallel::GroupDevices> known, std::uint64_t seed,
                                                   parallel::SearchBudget& budget, int passes) {
  for (std::size_t k = 0; k < levels.size(); ++k) {
    PlacementEnvironment& level = *levels[k];
    if (k > 0) {
      const parallel::GroupDevices before = in_level(level, *levels[k - 1], levels[k - 1]->devices());
      begin_at_better({&before, 1}, level);
    }
    if (k + 1 == levels.size()) begin_at_better(known, level);
    XFLOW_TRY(const parallel::GroupDevices devices, placement_of(weights, level, seed, budget, passes));
    level.reset(devices);
  }
  return levels.back()->devices();
}

}  // namespace

Result<parallel::GroupDevices> placement_of_levels(std::span<const Matrix> weights, PlacementLevels& levels,
                                                   std::span<const parallel::GroupDevices> known, std::uint64_t seed,
                                                   parallel::SearchBudget& budget, std::uint64_t most_starts) {
  PlacementEnvironment& groups = *levels.back();
  const bool is_latency = groups.objective() == PlacementObjective::latency;
  const std::uint64_t starts = std::min(most_starts, is_latency ? kStartsOfLatency : 1);
  const int passes = is_latency ? kPassesOfLatency : kMostPasses;
  parallel::GroupDevices best;
  double best_value = 0;
  for (std::uint64_t start = 0; start < starts && (start == 0 || !budget.stop()); ++start) {
    for (const auto& level : levels) {
      if (auto devices = level->start(start)) level->reset(std::move(*devices));
    }
    XFLOW_TRY(parallel::GroupDevices devices, placement_in_passes(weights, levels, known, seed + start, budget, passes));
    if (!best.empty() && !(groups.value() < best_value)) continue;
    best = std::move(devices);
    best_value = groups.value();
  }
  return best;
}

Result<PlacementResult> place(const parallel::PlacementInstance& instance, const PlaceOptions& options, const std::string& where) {
  if (options.policy.empty()) return parallel::place(instance, options, where);
  const auto begin = std::chrono::steady_clock::now();
  XFLOW_TRY(const Policy policy, read_policy(options.policy));
  XFLOW_CHECK(check(policy, options));
  XFLOW_TRY(PlacementLevels levels, open_levels(instance, options.objective, where));
  parallel::SearchBudget budget(options.budget, options.steps, options.cancel, kStepsPerLook);
  parallel::PlacementStart start;
  XFLOW_TRY(start.devices,
            placement_of_levels(policy.weights, levels, policy.placements, options.seed, budget, options.search_after ? 1 : UINT64_MAX));
  start.steps = budget.spent();
  start.stop = budget.stop().value_or(PlacementStop::finished);
  PlaceOptions rest = options;
  rest.method = options.search_after ? PlacementMethod::local : PlacementMethod::policy;
  rest.budget = std::max(Seconds(0), options.budget - Seconds(std::chrono::steady_clock::now() - begin));
  if (rest.steps) *rest.steps -= start.steps;
  return parallel::place(instance, rest, where, &start);
}

}  // namespace xflow::policy
