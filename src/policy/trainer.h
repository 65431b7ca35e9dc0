// Trains a policy by gradients of its rewards.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/policy/graph_gradient.h"
#include "src/policy/policy_file.h"
#include "src/policy/validation.h"
#include "src/policy/visit_environment.h"

namespace xflow::policy {

// REINFORCE (Williams, Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement
// Learning, 1992). A reward is the decrease of the logarithm of the environment's potential by one group; a
// return adds those of the following groups, less the later they are. The baseline of a return is the mean
// over all episodes of the graph at the same group. An entropy term keeps choices open and fades. Weights
// move by Adam (Kingma and Ba, 2015).
class Trainer {
 public:
  // A policy with a state of training. Errors: internal for a network without derivatives.
  static Result<Trainer> of(Policy policy);

  const Policy& policy() const { return policy_; }

  // A step on one graph. The environment's placement changes. False if weights are no longer finite; then
  // nothing else has changed.
  bool step(VisitEnvironment& environment) { return step(environment, SIZE_MAX); }
  // A step whose episodes return to the first placement after each window of so many visits. The first group
  // of a window and a tenth of the others go to a random device.
  bool step(VisitEnvironment& environment, std::size_t window);
  // The best placement that the episodes of the last step passed, by its value and then by its potential.
  const parallel::GroupDevices& passed() const { return passed_; }
  // The score of the policy. Comes before validate() by the same validation.
  Result<double> begin(Validation& validation);
  // The score of the weights of the last step, which become those of the policy if it is less.
  Result<double> validate(Validation& validation);

 private:
  struct Episode {
    std::vector<std::uint32_t> choices;  // devices, by visits
    std::vector<double> returns;
  };

  Trainer(Policy policy, GraphGradient encoder, GraphGradient scorer, GraphGradient whole);
  void load(std::span<const Matrix> weights);
  // Where episodes begin, and the number of visits after which they begin again.
  struct Windows {
    parallel::GroupDevices start;
    std::size_t visits = 0;
    bool are_short = false;
    bool begins(std::size_t visit) const { return visit % visits == 0; }
  };
  Episode sample(VisitEnvironment& environment, const Windows& windows, std::uint64_t seed);
  void differentiate(VisitEnvironment& environment, const Windows& windows, const Episode& episode, std::span<const double> advantages,
                     std::vector<Matrix>& sums);
  bool move_weights(const std::vector<Matrix>& derivatives);

  Policy policy_;
  parallel::GroupDevices passed_;
  std::pair<double, double> passed_value_;  // and its potential
  GraphGradient encoder_;
  GraphGradient scorer_;
  GraphGradient whole_;
};

}  // namespace xflow::policy
