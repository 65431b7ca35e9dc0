#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/policy/placement_policy.h"
#include "src/policy/sequence_learner.h"

namespace xflow::policy {
namespace {

// Draws placements, has their costs, and learns from them, until the budget is spent.
class SequencePolicy final : public PlacementPolicy {
 public:
  SequencePolicy(std::uint64_t seed, std::size_t threads) : seed_(seed), threads_(threads) {}

  Result<FoundPlaces> place(StepEnvironment& environment, std::span<const GroupPlaces> starts, parallel::SearchBudget& budget,
                            const Progress& progress) override {
    constexpr std::size_t kDrawn = 16;
    FoundPlaces found;
    std::optional<parallel::PlanCost> best;
    const auto take = [&](const GroupPlaces& places, const parallel::PlanCost& cost) {
      ++found.samples;
      if (best && !(cost < *best)) return;
      best = cost;
      found.places = places;
      found.best_after = found.samples;
    };
    for (const GroupPlaces& start : starts) {
      XFLOW_TRY(const parallel::PlanCost cost, environment.cost(start));
      take(start, cost);
    }
    XFLOW_TRY(SequenceLearner learner, SequenceLearner::of(environment, seed_, *best, threads_));
    while (environment.devices() > 1) {
      const std::vector<GroupPlaces> drawn = learner.draw(environment, kDrawn, found.places);
      std::vector<parallel::PlanCost> costs;
      const parallel::PlanCost before = *best;
      for (const GroupPlaces& places : drawn) {
        if (!budget.spend()) break;
        XFLOW_TRY(const parallel::PlanCost cost, environment.cost(places));
        take(places, cost);
        costs.push_back(cost);
      }
      // Most of what is drawn next is close to the best.
      environment.simulate(found.places);
      environment.keep();
      if (costs.size() < drawn.size() || !learner.learn(costs, before)) break;
      if (progress) progress(found.samples, best->step);
    }
    found.cost = *best;
    return found;
  }

 private:
  std::uint64_t seed_;
  std::size_t threads_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> sequence_policy(std::uint64_t seed, std::size_t threads) {
  return std::make_unique<SequencePolicy>(seed, threads);
}

}  // namespace xflow::policy
