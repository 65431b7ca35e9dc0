#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "src/parallel/group_moves.h"
#include "src/parallel/kinds_by_gain.h"
#include "src/parallel/random_numbers.h"
#include "src/policy/placement_policy.h"

namespace xflow::policy {
namespace {

class LocalPolicy final : public PlacementPolicy {
 public:
  explicit LocalPolicy(std::uint64_t seed) : random_(seed) {}

  Result<FoundPlaces> place(StepEnvironment& environment, std::span<const GroupPlaces> starts, parallel::SearchBudget& budget,
                            const Progress& progress) override {
    XFLOW_TRY(FoundPlaces found, best_start(environment, starts));
    constexpr std::uint64_t kFirstChain = 256;
    const parallel::GroupMoves moves(environment.neighbours(), environment.devices());
    bool goes_on = environment.devices() > 1;
    for (std::uint64_t length = kFirstChain; goes_on; length *= 2) {
      XFLOW_TRY(goes_on, chain(environment, moves, length, budget, progress, found));
    }
    return found;
  }

 private:
  // False once the budget is spent. A chain begins at the best placement, at a temperature of 1 % of its
  // step, and ends at 0.01 %.
  Result<bool> chain(StepEnvironment& environment, const parallel::GroupMoves& moves, std::uint64_t length, parallel::SearchBudget& budget,
                     const Progress& progress, FoundPlaces& found) {
    constexpr double kHottest = 1e-2;
    constexpr double kColdest = 1e-4;
    constexpr std::uint64_t kPerReport = 256;
    GroupPlaces now = found.places;
    parallel::PlanCost own = found.cost;
    environment.simulate(now);
    environment.keep();
    for (std::uint64_t k = 0; k < length; ++k) {
      if (!budget.spend()) return false;
      if (++found.samples % kPerReport == 0 && progress) progress(found.samples, found.cost.step);
      const double temperature =
          found.cost.step * kHottest * std::pow(kColdest / kHottest, static_cast<double>(k) / static_cast<double>(length));
      const parallel::PlanCost limit{own.missing, own.step - temperature * std::log(random_.unit())};
      GroupPlaces proposal = now;
      moves.propose(static_cast<parallel::GroupMoves::Kind>(kinds_.draw({1, 1, 1}, random_)), proposal, random_);
      if (proposal == now) continue;
      std::optional<parallel::PlanCost> cost;
      if (environment.is_measured()) {
        XFLOW_TRY(cost, environment.cost(proposal));
        if (*cost > limit) cost.reset();
      } else {
        cost = environment.simulate(proposal, limit);
      }
      kinds_.learn(cost && cost->missing == own.missing ? own.step - cost->step : 0);
      if (!cost) continue;
      if (!environment.is_measured()) environment.keep();
      now = std::move(proposal);
      own = *cost;
      if (!(own < found.cost)) continue;
      found.cost = own;
      found.places = now;
      found.best_after = found.samples;
    }
    return true;
  }

  parallel::RandomNumbers random_;
  parallel::KindsByGain<parallel::GroupMoves::kKinds> kinds_;
};

}  // namespace

Result<FoundPlaces> best_start(StepEnvironment& environment, std::span<const GroupPlaces> starts) {
  FoundPlaces found;
  for (const GroupPlaces& start : starts) {
    XFLOW_TRY(const parallel::PlanCost cost, environment.cost(start));
    ++found.samples;
    if (found.samples > 1 && !(cost < found.cost)) continue;
    found.places = start;
    found.cost = cost;
    found.best_after = found.samples;
  }
  return found;
}

Result<FoundPlaces> improved_by_search(FoundPlaces found, StepEnvironment& environment, std::uint64_t seed, parallel::SearchBudget& budget,
                                       const PlacementPolicy::Progress& progress) {
  const std::vector<GroupPlaces> next = {found.places};
  XFLOW_TRY(FoundPlaces searched, local_policy(seed)->place(environment, next, budget, progress));
  if (!(searched.cost < found.cost)) {
    searched.places = std::move(found.places);
    searched.best_after = found.best_after;
  } else {
    searched.best_after += found.samples;
  }
  searched.samples += found.samples - next.size();
  return searched;
}

std::unique_ptr<PlacementPolicy> local_policy(std::uint64_t seed) { return std::make_unique<LocalPolicy>(seed); }

}  // namespace xflow::policy
