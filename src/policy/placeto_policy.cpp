#include <utility>

#include "src/policy/placement_policy.h"
#include "src/policy/policy_placement.h"
#include "src/policy/step_visits.h"

namespace xflow::policy {
namespace {

// Lets a trained policy visit the groups, from the best of the starts.
class PlacetoPolicy final : public PlacementPolicy {
 public:
  PlacetoPolicy(Policy policy, std::uint64_t seed, bool searches_after)
      : policy_(std::move(policy)), seed_(seed), searches_after_(searches_after) {}

  Result<FoundPlaces> place(StepEnvironment& environment, std::span<const GroupPlaces> starts, parallel::SearchBudget& budget,
                            const Progress& progress) override {
    StepVisits visits(environment);
    XFLOW_TRY(FoundPlaces found, best_start(environment, starts));
    visits.reset(found.places);
    const std::uint64_t before = budget.spent();
    XFLOW_TRY(const GroupPlaces places, placement_of(policy_.weights, visits, seed_, budget));
    const std::uint64_t spent = budget.spent() - before;
    found.samples += spent;
    XFLOW_TRY(const parallel::PlanCost cost, environment.cost(places));
    if (cost < found.cost) {
      found.places = places;
      found.cost = cost;
      found.best_after = found.samples;
    }
    if (progress) progress(found.samples, found.cost.step);
    if (!searches_after_) return found;
    return improved_by_search(std::move(found), environment, seed_, budget, progress);
  }

 private:
  Policy policy_;
  std::uint64_t seed_;
  bool searches_after_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> placeto_policy(Policy policy, std::uint64_t seed, bool searches_after) {
  return std::make_unique<PlacetoPolicy>(std::move(policy), seed, searches_after);
}

}  // namespace xflow::policy
