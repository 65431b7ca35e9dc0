// What places the groups of a model on the devices of a cluster.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/parallel/search_budget.h"
#include "src/policy/go_trainer.h"
#include "src/policy/policy_file.h"
#include "src/policy/step_environment.h"

namespace xflow::policy {

struct FoundPlaces {
  GroupPlaces places;
  parallel::PlanCost cost;
  std::uint64_t samples = 0;     // placements whose cost was asked for
  std::uint64_t best_after = 0;  // number of them up to the best one
  std::uint64_t policies = 0;    // that were trained, one after the other
};

class PlacementPolicy {
 public:
  PlacementPolicy() = default;
  virtual ~PlacementPolicy() = default;
  PlacementPolicy(const PlacementPolicy&) = delete;
  PlacementPolicy& operator=(const PlacementPolicy&) = delete;

  // Called now and then: number of samples, best step in seconds.
  using Progress = std::function<void(std::uint64_t, double)>;
  // The best placement that is found within the budget, of which a sample is a step, from placements to
  // begin with, of which there is at least one. It is not worse than these. Deterministic for a number of
  // steps, unless costs are measured. Errors: those of StepEnvironment::cost.
  virtual Result<FoundPlaces> place(StepEnvironment& environment, std::span<const GroupPlaces> starts, parallel::SearchBudget& budget,
                                    const Progress& progress) = 0;
};

// The best one of placements to begin with, of which there is at least one.
Result<FoundPlaces> best_start(StepEnvironment& environment, std::span<const GroupPlaces> starts);

// The better one of `found` and of what the local policy finds from there in the rest of the budget.
Result<FoundPlaces> improved_by_search(FoundPlaces found, StepEnvironment& environment, std::uint64_t seed, parallel::SearchBudget& budget,
                                       const PlacementPolicy::Progress& progress);

// Simulated annealing over the devices of groups: one group, a group and its neighbours, or two groups that
// change places.
std::unique_ptr<PlacementPolicy> local_policy(std::uint64_t seed);

// A sequence policy that is trained on the costs of the placements that it draws (sequence_learner.h), with
// threads for the samplers; 0 means one for each processor.
std::unique_ptr<PlacementPolicy> sequence_policy(std::uint64_t seed, std::size_t threads);

// A trained policy for steps that visits one group after the other, from the best of the starts; a sample is
// a device that it weighs for a group. `searches_after`: then the local policy searches in what is left of
// the budget.
std::unique_ptr<PlacementPolicy> placeto_policy(Policy policy, std::uint64_t seed, bool searches_after);

// A trained policy of GO, which draws devices of groups from the best of the starts. `searches_after`: it
// has half of the time and of the steps, and then the local policy searches.
std::unique_ptr<PlacementPolicy> go_policy(GoPolicy policy, std::uint64_t seed, bool searches_after);

}  // namespace xflow::policy
