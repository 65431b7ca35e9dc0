#include <algorithm>
#include <utility>

#include "src/parallel/ordered_starts.h"
#include "src/policy/go_plan.h"
#include "src/policy/placement_policy.h"

namespace xflow::policy {
namespace {

constexpr std::uint32_t kPassesOfRound = 4;
constexpr int kRoundsWithoutGain = 4;

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

// Plans devices and order of groups as nodes of a planned step (parallel/ordered_step.h), round by round
// from the best placement. Its devices are then compared by the cost of the environment.
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
    const parallel::OrderedPlan ranks = parallel::one_device_plan(problem, {}, 0);
    GoPlanOptions options{seed_, {true, true, false}, kPassesOfRound, searches_after_ ? 0.5 : 1};
    for (int without_gain = 0; without_gain < kRoundsWithoutGain && !budget.stop() && !budget.is_past(options.share); ++options.seed) {
      const parallel::OrderedPlan start{found.places, ranks.priorities, {}};
      const std::uint64_t before = budget.spent();
      XFLOW_TRY(const parallel::OrderedResult planned, plan_by_go(problem, policy_, start, options, budget));
      found.samples += budget.spent() - before;
      XFLOW_TRY(const parallel::PlanCost cost, environment.cost(planned.plan.devices));
      ++without_gain;
      if (cost < found.cost) {
        found.places = planned.plan.devices;
        found.cost = cost;
        found.best_after = found.samples;
        without_gain = 0;
      }
      if (progress) progress(found.samples, found.cost.step);
    }
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
