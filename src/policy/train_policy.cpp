#include "src/policy/train_policy.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "src/policy/placement_network.h"
#include "src/policy/policy_placement.h"
#include "src/policy/trainer.h"
#include "src/policy/training_graphs.h"

namespace xflow::policy {
namespace {

constexpr std::uint64_t kStepsPerValidation = 20;
constexpr std::uint64_t kStepsPerLevel = 5;  // on groups and on clusters by turns

Policy first_policy(const TrainPolicyOptions& options) {
  Policy policy;
  policy.method = options.method;
  policy.objective = options.objective;
  policy.weights = first_weights(options.seed);
  policy.training.seed = options.seed;
  policy.training.weights = policy.weights;
  for (const Matrix& weight : policy.weights) policy.training.moments.emplace_back(weight.rows, weight.columns);
  policy.training.variances = policy.training.moments;
  return policy;
}

Result<Policy> policy_to_train(const TrainPolicyOptions& options) {
  if (!options.resume) return first_policy(options);
  XFLOW_TRY(Policy policy, read_policy(options.out));
  if (policy.objective == options.objective) return policy;
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("the policy was trained for the objective {}, not for {}", to_string(policy.objective), to_string(options.objective)),
      options.out);
}

// What a training works on.
class Training {
 public:
  Training(const TrainPolicyOptions& options, TrainingGraphs graphs, Trainer trainer)
      : options_(options), graphs_(std::move(graphs)), trainer_(std::move(trainer)) {}

  Result<TrainPolicyResult> run() {
    XFLOW_TRY(const auto validated, graphs_.validation(state().seed));
    for (const parallel::PlacementInstance& instance : validated) {
      XFLOW_TRY(auto environment, open(instance));
      if (auto coarse = coarse_environment(instance, options_.objective, *environment)) environments_.push_back(std::move(coarse));
      environments_.push_back(std::move(environment));
    }
    // A training that is resumed may have other graphs now.
    XFLOW_CHECK(report(trainer_.begin(environments_)));
    TrainingStop stop = TrainingStop::finished;
    while (state().steps < options_.steps && stop == TrainingStop::finished) {
      if (options_.cancel.is_stopping()) return fail(ErrorCode::limit, "cancelled");
      if (options_.cancel.is_finishing()) {
        stop = TrainingStop::cancelled;
        break;
      }
      XFLOW_TRY(const parallel::PlacementInstance instance, graphs_.graph(state().steps, state().seed));
      XFLOW_TRY(auto environment, open(instance));
      // Every second time clusters, if there are some.
      if (state().steps / kStepsPerLevel % 2 == 0) {
        if (auto coarse = coarse_environment(instance, options_.objective, *environment)) environment = std::move(coarse);
      }
      if (!trainer_.step(*environment)) stop = TrainingStop::diverged;
      if (state().steps % kStepsPerValidation == 0) XFLOW_CHECK(validate());
    }
    XFLOW_CHECK(write_policy(options_.out, trainer_.policy()));
    return TrainPolicyResult{state().steps, std::exp(state().best_score), stop, state().seed, environments_.size()};
  }

 private:
  const TrainingState& state() const { return trainer_.policy().training; }

  Result<std::unique_ptr<PlacementEnvironment>> open(const parallel::PlacementInstance& instance) const {
    return open_environment(instance, options_.objective, options_.graphs);
  }
  Result<void> validate() { return report(trainer_.validate(environments_)); }
  Result<void> report(double score) {
    if (options_.progress) options_.progress({state().steps, std::exp(score), std::exp(state().best_score)});
    return write_policy(options_.out, trainer_.policy());
  }

  const TrainPolicyOptions& options_;
  TrainingGraphs graphs_;
  Trainer trainer_;
  std::vector<std::unique_ptr<PlacementEnvironment>> environments_;
};

}  // namespace

Result<TrainPolicyResult> train(const TrainPolicyOptions& options) {
  XFLOW_TRY(TrainingGraphs graphs, TrainingGraphs::open(options.graphs, options.cluster));
  XFLOW_TRY(Policy policy, policy_to_train(options));
  XFLOW_TRY(Trainer trainer, Trainer::of(std::move(policy)));
  return Training(options, std::move(graphs), std::move(trainer)).run();
}

}  // namespace xflow::policy
