#include <limits>
#include <optional>
#include <utility>

#include "src/parallel/ordered_starts.h"
#include "src/policy/go_plan.h"
#include "src/policy/placement_policy.h"

namespace xflow::policy {
namespace {

constexpr std::uint64_t kJudgedPerReport = 256;

// Groups as nodes of a planned step. Edges against the order of groups are left out.
parallel::Workload workload_of(const PlacedSteps& steps) {
  parallel::Workload workload;
  workload.nodes.reserve(steps.groups());
  for (std::uint32_t group = 0; group < steps.groups(); ++group) {
    parallel::WorkloadNode node{{}, steps.bytes(group)};
    for (std::uint32_t device = 0; device < steps.devices(); ++device) node.seconds.push_back(steps.seconds(group, device));
    workload.nodes.push_back(std::move(node));
    for (const GroupEdge& edge : steps.readers(group))
      if (edge.group > group) workload.tensors.push_back({group, edge.bytes, {edge.group}});
  }
  return workload;
}

// Costs of plans in an environment, and the best of them.
class JudgedPlans {
 public:
  JudgedPlans(StepEnvironment& environment, FoundPlaces& found, const PlacementPolicy::Progress& progress)
      : environment_(environment), found_(found), progress_(progress) {}

  std::optional<parallel::OrderedStep> judge(const parallel::OrderedPlan& plan, double limit) {
    // Only plans within the memory have a limit.
    const parallel::PlanCost most = limit < std::numeric_limits<double>::infinity() ? parallel::PlanCost{0, limit} : parallel::kAnyCost;
    ++found_.samples;
    if (progress_ && found_.samples % kJudgedPerReport == 0) progress_(found_.samples, found_.cost.step);
    const auto cost = environment_.simulate(plan.devices, most);
    if (!cost) return std::nullopt;
    environment_.keep();
    if (*cost < found_.cost) {
      found_.places = plan.devices;
      found_.cost = *cost;
      found_.best_after = found_.samples;
    }
    return parallel::OrderedStep{cost->step, cost->missing};
  }

 private:
  StepEnvironment& environment_;
  FoundPlaces& found_;
  const PlacementPolicy::Progress& progress_;
};

// The network sees the plan of a step whose nodes are groups (parallel/ordered_step.h), and the devices of
// the plans that are drawn are judged by the environment.
class GoPlacementPolicy final : public PlacementPolicy {
 public:
  GoPlacementPolicy(GoPolicy policy, std::uint64_t seed, bool searches_after)
      : policy_(std::move(policy)), seed_(seed), searches_after_(searches_after) {}

  Result<FoundPlaces> place(StepEnvironment& environment, std::span<const GroupPlaces> starts, parallel::SearchBudget& budget,
                            const Progress& progress) override {
    XFLOW_TRY(FoundPlaces found, best_start(environment, starts));
    const parallel::Workload workload = workload_of(environment);
    XFLOW_CHECK(parallel::check_workload(workload, environment.devices()));
    const parallel::OrderedProblem problem{workload, environment.cluster(), {}};
    parallel::OrderedPlan start = parallel::one_device_plan(problem, {}, 0);
    start.devices = found.places;
    JudgedPlans judged(environment, found, progress);
    GoPlanOptions options{seed_, {true, false, false}, 0, searches_after_ ? 0.5 : 1, {}};
    options.judge = [&](const parallel::OrderedPlan& plan, double limit) { return judged.judge(plan, limit); };
    parallel::SearchBudget part = searches_after_ ? budget.part(budget.left() / 2) : budget.part(budget.left());
    XFLOW_CHECK(plan_by_go(problem, policy_, start, options, part));
    budget.take_back(part);
    if (!searches_after_) return found;
    return improved_by_search(std::move(found), environment, seed_, budget, progress);
  }

 private:
  GoPolicy policy_;
  std::uint64_t seed_;
  bool searches_after_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> go_policy(GoPolicy policy, std::uint64_t seed, bool searches_after) {
  return std::make_unique<GoPlacementPolicy>(std::move(policy), seed, searches_after);
}

}  // namespace xflow::policy
