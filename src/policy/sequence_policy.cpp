#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/policy/placement_policy.h"
#include "src/policy/sequence_learner.h"

namespace xflow::policy {
namespace {

// Draws placements, has their costs, and learns from them, until the budget is spent. After many placements
// without a better one, another policy begins with other weights.
class SequencePolicy final : public PlacementPolicy {
 public:
  SequencePolicy(std::uint64_t seed, std::size_t threads) : seed_(seed), threads_(threads) {}

  Result<FoundPlaces> place(StepEnvironment& environment, std::span<const GroupPlaces> starts, parallel::SearchBudget& budget,
                            const Progress& progress) override {
    XFLOW_TRY(const FoundPlaces start, best_start(environment, starts));
    FoundPlaces best = start;
    if (environment.devices() == 1) return best;
    for (std::uint64_t round = 0;; ++round) {
      XFLOW_TRY(SequenceLearner learner, SequenceLearner::of(environment, seed_ + (round << 32U), start.cost, threads_));
      FoundPlaces own = start;
      own.samples = own.best_after = best.samples;
      own.policies = best.policies = round + 1;
      for (Outcome outcome = Outcome::learned; outcome == Outcome::learned && own.samples - own.best_after < kPatience;) {
        XFLOW_TRY(outcome, learn(environment, learner, budget, own));
        if (own.cost < best.cost) best = own;
        best.samples = own.samples;
        if (progress) progress(best.samples, best.cost.step);
        if (outcome == Outcome::spent) return best;
      }
    }
  }

 private:
  static constexpr std::uint64_t kPatience = 10'000;  // placements

  enum class Outcome : std::uint8_t { learned, not_finite, spent };  // of weights, of the budget

  // A step of the learner.
  static Result<Outcome> learn(StepEnvironment& environment, SequenceLearner& learner, parallel::SearchBudget& budget, FoundPlaces& found) {
    const std::size_t count = environment.is_measured() ? 16 : 64;  // measuring takes longer than learning
    const std::vector<GroupPlaces> drawn = learner.draw(environment, count, found.places);
    std::vector<parallel::PlanCost> costs;
    const parallel::PlanCost before = found.cost;
    for (const GroupPlaces& places : drawn) {
      if (!budget.spend()) return Outcome::spent;
      XFLOW_TRY(const parallel::PlanCost cost, environment.cost(places));
      costs.push_back(cost);
      ++found.samples;
      if (!(cost < found.cost)) continue;
      found.cost = cost;
      found.places = places;
      found.best_after = found.samples;
    }
    // Most of what is drawn next is close to the best.
    environment.simulate(found.places);
    environment.keep();
    return learner.learn(costs, before) ? Outcome::learned : Outcome::not_finite;
  }

  std::uint64_t seed_;
  std::size_t threads_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> sequence_policy(std::uint64_t seed, std::size_t threads) {
  return std::make_unique<SequencePolicy>(seed, threads);
}

}  // namespace xflow::policy
