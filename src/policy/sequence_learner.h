// Draws placements from a network for sequences, and trains it on what they cost.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/policy/sequence_network.h"
#include "src/policy/sequence_sampler.h"
#include "src/policy/step_environment.h"

namespace xflow::policy {

// REINFORCE (Williams, 1992) on the reward -sqrt(step time), as Mirhoseini et al. The baseline is a moving
// average of rewards. A placement that does not fit into the memory has the reward of a step that is
// kMissingSteps times as long as the first one. An entropy term keeps choices open and fades.
//
// Beyond the paper, most placements differ from the best one so far in a window of the sequence alone: its
// first group goes to a random device, and the network places the others. Their baseline is the reward of
// the best one. The best one itself is imitated as well (Oh et al., Self-Imitation Learning, 2018). A window
// has a sixteenth of the sequence, and at least four groups if there are as many.
//
// Two samplers draw placements by turns, and say how the loss of theirs depends on the weights, which the
// learner moves by the sum. More samplers would each compute the encoder once more.
class SequenceLearner {
 public:
  static constexpr double kMissingSteps = 100;

  // `reference`: a cost by which others are divided; without missing memory if there is such a one. Errors:
  // internal for a network without derivatives. `threads`: for the samplers; 0 means one for each processor.
  // Placements and weights do not depend on it.
  static Result<SequenceLearner> of(const StepEnvironment& environment, std::uint64_t seed, const parallel::PlanCost& reference,
                                    std::size_t threads);

  // Placements that are drawn side by side, a random stream for each. `count`: 4 at least; two of 32 are
  // drawn as a whole, and two at least. `best`: the best one so far.
  std::vector<GroupPlaces> draw(const StepEnvironment& environment, std::size_t count, const GroupPlaces& best);
  // Whether a placement of the last draw was drawn as a whole.
  bool is_whole(std::size_t row) const { return is_whole_[row]; }
  // A step of the weights by the costs of the placements that were drawn last, and by that of the best one
  // they were drawn from. False if a weight is no longer finite; then the learner is of no use.
  bool learn(std::span<const parallel::PlanCost> costs, const parallel::PlanCost& best);

 private:
  SequenceLearner(SequenceSizes sizes, std::vector<Matrix> weights, std::uint64_t seed, double reference);
  double reward_of(const parallel::PlanCost& cost) const;
  std::vector<double> advantages_of(std::span<const parallel::PlanCost> costs, const parallel::PlanCost& best);
  void for_each_sampler(const std::function<void(std::size_t)>& body);

  SequenceSizes sizes_;
  std::vector<Matrix> weights_;
  std::vector<Matrix> moments_;
  std::vector<Matrix> variances_;
  std::uint64_t seed_;
  double reference_;
  std::uint32_t window_ = 1;
  std::uint64_t steps_ = 0;
  double baseline_ = 0;
  double deviation_ = 0;

  std::size_t threads_ = 1;
  std::vector<SequenceSampler> samplers_;
  std::vector<bool> is_whole_;  // by row of the last draw
};

}  // namespace xflow::policy
