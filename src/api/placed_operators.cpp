#include "src/api/placed_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/parallel/search_budget.h"
#include "src/parallel/split_lists.h"
#include "src/parallel/split_starts.h"
#include "src/policy/go_policy_file.h"
#include "src/policy/placement_policy.h"

namespace xflow::api {
namespace {

using parallel::SplitPlan;

constexpr std::array kLists = {parallel::ListMethod::heft, parallel::ListMethod::earliest, parallel::ListMethod::filled};
constexpr const char* kSingle = "single";

// The shortest step of the start plans of a search of splits that have whole operators.
double best_whole_start(const parallel::FoundSplit& found) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [name, step] : found.starts) {
    const std::string& own = name;
    const bool is_list = std::ranges::any_of(kLists, [&](parallel::ListMethod method) { return own == parallel::name(method); });
    if (is_list || own == kSingle) best = std::min(best, step);
  }
  return best;
}

// Everything on one device of each kind, and list schedules.
std::vector<parallel::NamedPlan> whole_starts(parallel::SplitModel& model, const parallel::DeviceCluster& cluster) {
  std::vector<parallel::NamedPlan> starts;
  std::vector<std::string> kinds;
  for (std::uint32_t device = 0; device < cluster.size(); ++device) {
    const parallel::ClusterDevice& own = cluster.devices[device];
    if (std::ranges::find(kinds, own.kind) != kinds.end()) continue;
    kinds.push_back(own.kind);
    starts.push_back({device == 0 ? kSingle : fmt::format("{} {}", kSingle, own.name),
                      SplitPlan(model.operators().size(), parallel::OperatorPlan{device, {}})});
  }
  if (cluster.size() == 1) return starts;
  for (const parallel::ListMethod method : kLists) starts.push_back({parallel::name(method), parallel::list_plan(model, cluster, method)});
  return starts;
}

Result<std::unique_ptr<policy::PlacementPolicy>> policy_of(const ParallelizeOptions& options) {
  if (options.method == ParallelMethod::colocrl) return policy::sequence_policy(options.seed, options.threads);
  if (options.method == ParallelMethod::local) return policy::local_policy(options.seed);
  if (options.method == ParallelMethod::go) {
    XFLOW_TRY(policy::GoPolicy go, policy::read_go_policy(options.policy));
    return policy::go_policy(std::move(go), options.seed, options.search_after);
  }
  XFLOW_TRY(policy::Policy trained, policy::read_policy(options.policy));
  if (trained.objective == PolicyObjective::step) return policy::placeto_policy(std::move(trained), options.seed, options.search_after);
  return fail(ErrorCode::invalid_argument,
              fmt::format("the policy was trained for the objective {}, not for step", to_string(trained.objective)), options.policy);
}

// Whether a plan is faster than another one, by the least of the steps that are measured by turns. The one
// of many that was measured shortest may have been lucky, and the machine may have changed since the other
// one.
Result<bool> is_faster_by_turns(policy::StepEnvironment& environment, const SplitPlan& plan, const SplitPlan& other) {
  constexpr int kRounds = 5;
  std::array<double, 2> least = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t k = 0; k < least.size(); ++k) {
      XFLOW_TRY(const parallel::PlanCost cost, environment.cost_of(k == 0 ? plan : other));
      least[k] = std::min(least[k], cost.step);
    }
  }
  return least[0] < least[1];
}

}  // namespace

ParallelStop stop_of(PlacementStop stop) {
  switch (stop) {
    case PlacementStop::steps:
      return ParallelStop::steps;
    case PlacementStop::time_limit:
      return ParallelStop::time_limit;
    case PlacementStop::cancelled:
      return ParallelStop::cancelled;
    case PlacementStop::optimal:
      return ParallelStop::optimal;
    case PlacementStop::finished:
      break;
  }
  return ParallelStop::finished;
}

Result<SplitPlan> place_operators(parallel::SplitModel& model, const parallel::DeviceCluster& cluster, const ParallelizeOptions& options,
                                  parallel::StepKind kind, policy::MeasureStep measure, ParallelizeResult& result) {
  XFLOW_TRY(const auto policy, policy_of(options));
  parallel::SearchBudget budget(options.budget, options.steps, options.cancel, 1);
  policy::StepEnvironment environment(model, cluster, kind, std::move(measure));
  std::vector<policy::GroupPlaces> starts;
  std::optional<parallel::PlanCost> best;
  SplitPlan best_plan;
  for (auto& [name, plan] : whole_starts(model, cluster)) {
    starts.push_back(environment.places(plan));
    XFLOW_TRY(const parallel::PlanCost cost, environment.cost_of(plan));
    result.starts.emplace_back(name, Seconds(cost.step));
    if (best && !(cost < *best)) continue;
    best = cost;
    best_plan = std::move(plan);
    result.start = name;
  }
  policy::PlacementPolicy::Progress progress;
  if (options.progress) progress = [&](std::uint64_t samples, double step) { options.progress(samples, Seconds(step)); };
  XFLOW_TRY(policy::FoundPlaces found, policy->place(environment, starts, budget, progress));
  if (options.cancel.is_stopping()) return fail(ErrorCode::limit, "cancelled");
  result.stop = stop_of(budget.stop().value_or(PlacementStop::finished));
  result.groups = environment.groups();
  result.proposals = found.samples - starts.size();
  result.measured_plans = environment.measured();
  if (!(found.cost < *best)) return best_plan;
  SplitPlan plan = environment.plan(found.places);
  if (environment.is_measured() && best->missing == 0) {
    XFLOW_TRY(const bool is_faster, is_faster_by_turns(environment, plan, best_plan));
    if (!is_faster) return best_plan;
  }
  result.start = to_string(options.method);
  result.best_after = found.best_after > starts.size() ? found.best_after - starts.size() : 0;
  return plan;
}

std::optional<parallel::NamedPlan> learned_plan(parallel::SplitModel& model, const parallel::DeviceCluster& cluster,
                                                const ParallelizeOptions& options, parallel::StepKind kind,
                                                const parallel::FoundSplit& found, Seconds time) {
  constexpr double kNearWhole = 0.93;
  if (time <= Seconds(0) || options.cancel.is_finishing()) return std::nullopt;
  if (!(found.step >= kNearWhole * best_whole_start(found))) return std::nullopt;
  ParallelizeOptions own = options;
  own.method = ParallelMethod::colocrl;
  own.budget = time;
  if (options.progress) {
    own.progress = [&](std::uint64_t samples, Seconds step) {
      options.progress(found.proposals + samples, std::min(step, Seconds(found.step)));
    };
  }
  ParallelizeResult part;
  auto plan = place_operators(model, cluster, own, kind, {}, part);
  // It has no errors but that it was stopped, which the search sees itself.
  if (!plan) return std::nullopt;
  return parallel::NamedPlan{to_string(own.method), std::move(*plan)};
}

}  // namespace xflow::api
