#include "src/policy/step_planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "src/parallel/ordered_bound.h"
#include "src/parallel/ordered_search.h"
#include "src/parallel/search_budget.h"
#include "src/parallel/step_instance.h"
#include "src/policy/go_plan.h"
#include "src/policy/go_policy_file.h"

namespace xflow::policy {
namespace {

constexpr double kMillisecondsOfSecond = 1e3;

Result<void> check(const PlaceStepOptions& options) {
  const bool has_policy = !options.policy.empty();
  if (!has_policy && options.method == StepMethod::policy) return fail(ErrorCode::invalid_argument, "the method 'policy' needs a policy");
  if (has_policy && options.method != StepMethod::automatic && options.method != StepMethod::policy)
    return fail(ErrorCode::invalid_argument, fmt::format("the method '{}' does not go with a policy", to_string(options.method)));
  return {};
}

// Plans place nodes one by one.
Result<void> check_colours(const parallel::PlacementInstance& instance, const std::string& where) {
  std::map<std::int64_t, std::int64_t> first;
  for (const parallel::PlacementNode& node : instance.nodes) {
    if (!node.colour) continue;
    const auto [at, is_new] = first.emplace(*node.colour, node.id);
    if (!is_new)
      return fail(ErrorCode::unsupported,
                  fmt::format("nodes {} and {} have one colour class: a planned step places nodes one by one", at->second, node.id), where);
  }
  return {};
}

parallel::OrderedMethod ordered_method(StepMethod method) {
  if (method == StepMethod::heft) return parallel::OrderedMethod::heft;
  return method == StepMethod::intervals ? parallel::OrderedMethod::intervals : parallel::OrderedMethod::local;
}

// Whether the shipped policy and a local search after it find shorter steps than the local search alone
// (bench/results/policies.md, by size and time).
bool is_for_policy(const parallel::OrderedProblem& problem, const PlaceStepOptions& options) {
  constexpr std::size_t kLeastNodes = 10'000;
  constexpr double kSecondsOfNode = 1e-4;
  const std::size_t nodes = problem.workload.nodes.size();
  return nodes >= kLeastNodes && problem.cluster.size() > 1 && options.budget.count() >= kSecondsOfNode * static_cast<double>(nodes);
}

// The options with the method and the policy that `automatic` takes.
PlaceStepOptions with_method(PlaceStepOptions options, const parallel::OrderedProblem& problem) {
  if (options.method != StepMethod::automatic) return options;
  options.method = StepMethod::policy;
  if (!options.policy.empty()) return options;
  if (is_for_policy(problem, options)) {
    options.policy = "shipped:go";
    options.search_after = true;
  } else {
    options.method = StepMethod::local;
  }
  return options;
}

Result<parallel::OrderedResult> plan_by_policy(const parallel::OrderedProblem& problem, const PlaceStepOptions& options,
                                               parallel::SearchBudget& budget) {
  XFLOW_TRY(const GoPolicy policy, read_go_policy(options.policy));
  const parallel::OrderedResult start =
      parallel::search_ordered(problem, {parallel::OrderedMethod::heft, options.fuses, options.seed}, budget);
  GoPlanOptions go;
  go.seed = options.seed;
  go.heads.fusions = options.fuses;
  if (!options.search_after) return plan_by_go(problem, policy, start.plan, go, budget);
  go.share = 0.5;
  parallel::SearchBudget part = budget.part(budget.left() / 2);
  XFLOW_TRY(const parallel::OrderedResult found, plan_by_go(problem, policy, start.plan, go, part));
  budget.take_back(part);
  return parallel::improve_beside_intervals(problem, found.plan, options.fuses, options.seed, budget);
}

PlacementStop stop_of(const PlacedStep& result, const PlaceStepOptions& options, const parallel::SearchBudget& budget) {
  if (result.gap() <= 0 && result.missing() <= 0) return PlacementStop::optimal;
  if (result.method == StepMethod::heft) return PlacementStop::finished;
  // The time is also looked at between steps of the budget.
  return budget.stop().value_or(options.cancel.is_finishing() ? PlacementStop::cancelled : PlacementStop::time_limit);
}

// The nodes of each device, in the order in which they begin.
class StepDescription {
 public:
  StepDescription(const parallel::PlacementInstance& instance, const parallel::StepInstance& step, const parallel::DeviceCluster& cluster,
                  const parallel::OrderedPlan& plan)
      : instance_(instance), step_(step), cluster_(cluster), plan_(plan), simulator_(step.problem(cluster)) {}

  void describe(PlacedStep& result) {
    result.value = Milliseconds(kMillisecondsOfSecond * simulator_.simulate(plan_)->seconds);
    for (std::size_t k = 0; k < cluster_.devices.size(); ++k)
      result.devices.push_back({cluster_.devices[k].name,
                                Milliseconds(kMillisecondsOfSecond * simulator_.busy()[k]),
                                simulator_.resident()[k],
                                cluster_.devices[k].memory,
                                {}});
    const std::vector<std::uint32_t> roots = find_roots(result);
    std::vector<std::uint32_t> order(roots.size());
    for (std::uint32_t node = 0; node < order.size(); ++node) order[node] = node;
    // Nodes of a task by their numbers, so that the root is the last one.
    std::ranges::sort(order, {}, [&](std::uint32_t node) { return std::tuple(simulator_.starts()[roots[node]], roots[node], node); });
    for (const std::uint32_t node : order) result.devices[plan_.devices[roots[node]]].nodes.push_back(id(node));
  }

 private:
  std::int64_t id(std::uint32_t node) const { return instance_.nodes[step_.nodes[node]].id; }

  // The last node of the task of each node.
  std::vector<std::uint32_t> find_roots(PlacedStep& result) const {
    std::vector<std::uint32_t> into(step_.nodes.size());
    for (std::uint32_t node = 0; node < into.size(); ++node) into[node] = node;
    for (std::size_t k = 0; k < step_.fusions.size(); ++k) {
      if (!plan_.fused[k]) continue;
      const parallel::FusionChoice& choice = step_.fusions[k];
      into[choice.node] = choice.into;
      result.fusions.push_back({id(choice.node), id(choice.into)});
    }
    for (std::size_t node = into.size(); node-- > 0;) into[node] = into[into[node]];
    return into;
  }

  const parallel::PlacementInstance& instance_;
  const parallel::StepInstance& step_;
  const parallel::DeviceCluster& cluster_;
  const parallel::OrderedPlan& plan_;
  parallel::OrderedSimulator simulator_;
};

}  // namespace

Result<PlacedStep> place_step(const parallel::PlacementInstance& instance, const PlaceStepOptions& given, const std::string& where) {
  XFLOW_CHECK(check(given));
  XFLOW_CHECK(check_colours(instance, where));
  XFLOW_TRY(const parallel::DeviceCluster cluster, parallel::open_cluster(given.cluster));
  XFLOW_TRY(const parallel::StepInstance step, parallel::step_instance(instance, cluster, where));
  const parallel::OrderedProblem problem = step.problem(cluster);
  const PlaceStepOptions options = with_method(given, problem);
  // The clock is looked at before each plan.
  parallel::SearchBudget budget(options.budget, options.steps, options.cancel, 1);
  PlacedStep result;
  result.method = options.method;
  result.policy = options.policy;
  parallel::OrderedResult found;
  if (options.method == StepMethod::policy) {
    XFLOW_TRY(found, plan_by_policy(problem, options, budget));
  } else {
    found = parallel::search_ordered(problem, {ordered_method(options.method), options.fuses, options.seed}, budget);
  }
  if (options.cancel.is_stopping()) return fail(ErrorCode::limit, "cancelled");
  result.cluster = cluster.name;
  result.seed = options.seed;
  result.steps = budget.spent();
  result.choices = step.fusions.size();
  StepDescription(instance, step, cluster, found.plan).describe(result);
  const double bound = parallel::ordered_bound(problem, options.fuses);
  // Sums in another order differ in their last digits.
  result.bound = std::min(result.value, Milliseconds(kMillisecondsOfSecond * bound));
  result.stop = stop_of(result, options, budget);
  return result;
}

}  // namespace xflow::policy
