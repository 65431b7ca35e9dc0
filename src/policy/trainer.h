// Trains a policy by gradients of its rewards.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/policy/graph_gradient.h"
#include "src/policy/policy_file.h"
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
  bool step(VisitEnvironment& environment);
  using Environments = std::vector<std::unique_ptr<VisitEnvironment>>;
  // The mean of log(value / first value) of the policy over environments, where it takes the most probable
  // devices. Comes before validate() on the same environments.
  double begin(const Environments& environments);
  // The same for the weights of the last step, which become those of the policy if their mean is less.
  double validate(const Environments& environments);

 private:
  struct Episode {
    std::vector<std::uint32_t> choices;  // devices, by visits
    std::vector<double> returns;
  };

  Trainer(Policy policy, GraphGradient encoder, GraphGradient scorer, GraphGradient whole);
  void load(std::span<const Matrix> weights);
  double score_of(std::span<const Matrix> weights, const Environments& environments);
  Episode sample(VisitEnvironment& environment, std::uint64_t seed);
  void differentiate(VisitEnvironment& environment, const Episode& episode, std::span<const double> advantages, std::vector<Matrix>& sums);
  bool move_weights(const std::vector<Matrix>& derivatives);

  Policy policy_;
  GraphGradient encoder_;
  GraphGradient scorer_;
  GraphGradient whole_;
};

}  // namespace xflow::policy
