// Trains the network of GO by proximal policy optimization.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/parallel/ordered_step.h"
#include "src/parallel/random_numbers.h"
#include "src/policy/go_choices.h"
#include "src/policy/go_graph.h"
#include "src/policy/go_network.h"
#include "src/policy/go_plan_view.h"
#include "src/policy/policy_file.h"

namespace xflow::policy {

// A graph of a training, and the plan that the training has reached.
struct GoTrainedGraph {
  std::uint64_t number = 0;  // TrainingGraphs::graph
  parallel::OrderedPlan plan;
  friend bool operator==(const GoTrainedGraph&, const GoTrainedGraph&) = default;
};

// Weights of the network of GO, and the state of their training.
struct GoPolicy {
  std::vector<Matrix> weights;  // as go_weights(), the best ones in validation
  TrainingState training;
  std::vector<GoTrainedGraph> graphs;  // of the training
};

// A policy without training.
GoPolicy first_go_policy(std::uint64_t seed);

// A graph with the plan that a training or a search has reached.
class GoEpisode {
 public:
  // The arguments of the problem outlive it. The start passes check_ordered_plan.
  GoEpisode(const parallel::OrderedProblem& problem, const parallel::OrderedPlan& start);
  GoEpisode(const GoEpisode&) = delete;
  GoEpisode& operator=(const GoEpisode&) = delete;

  GoPlanView& view() { return view_; }
  const parallel::OrderedStep& step() const { return step_; }
  // Goes on with a plan.
  void go_to(const parallel::OrderedPlan& plan) { step_ = view_.look(plan); }

 private:
  GoGraph graph_;
  GoPlanView view_;
  parallel::OrderedStep step_;
};

// What an update of weights saw.
struct GoUpdate {
  double mean_ratio = 1;  // geometric mean of step / step of the plan before, over the plans that were drawn
  double best_ratio = 1;  // of the best one
  double entropy = 0;     // mean of choices
};

// Proximal policy optimization (Schulman et al., Proximal Policy Optimization Algorithms, 2017). An update
// draws kPlans plans that differ from the plan of the episode in some of at most kSegments random segments.
// A reward is the logarithm of how much shorter the step became; of a longer step it counts little, because
// a search does not take it. Advantages are differences from the mean of rewards divided by their deviation.
// Derivatives are of the choices in these segments; what a segment remembers of the one before is from the
// weights before the update. Weights move by Adam.
class GoTrainer {
 public:
  static constexpr std::size_t kPlans = 64;
  static constexpr std::size_t kSegments = 4;

  // Errors: internal for a network without derivatives.
  static Result<GoTrainer> of(GoPolicy policy);

  const GoPolicy& policy() const { return policy_; }
  GoPolicy& policy() { return policy_; }
  GoNetwork& network() { return network_; }
  // Draws plans from the plan of the episode, and moves the weights of the last step. The episode goes on
  // with the best plan. False if a weight is no longer finite; then nothing else has changed.
  bool update(GoEpisode& episode, GoUpdate& seen);
  // The network gets the weights.
  void load(std::span<const Matrix> weights);

 private:
  struct DrawnPlan {
    GoChoices choices;
    double advantage = 0;
  };
  // A segment of which derivatives are computed.
  struct ChosenSegment {
    std::uint32_t number = 0;
    GoSegment inputs;
    Matrix memory;
  };

  GoTrainer(GoPolicy policy, GoNetwork network) : policy_(std::move(policy)), network_(std::move(network)) {}
  std::vector<ChosenSegment> choose_segments(const GoPlanView& view, parallel::RandomNumbers& random);
  std::vector<DrawnPlan> draw(GoEpisode& episode, const GoProbabilities& probabilities, std::span<const ChosenSegment> chosen,
                              parallel::RandomNumbers& random, parallel::OrderedPlan& best, GoUpdate& seen);
  static GoScores loss_of(const GoPlanView& view, const ChosenSegment& segment, const GoProbabilities& before, const GoProbabilities& now,
                          std::span<const DrawnPlan> drawn, double scale);
  bool move(const GoPlanView& view, std::span<const ChosenSegment> chosen, const GoProbabilities& before, double factor,
            std::span<const DrawnPlan> drawn);

  GoPolicy policy_;
  GoNetwork network_;
};

}  // namespace xflow::policy
