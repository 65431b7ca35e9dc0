#include "src/policy/train_policy.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "src/policy/go_train.h"
#include "src/policy/placement_network.h"
#include "src/policy/policy_placement.h"
#include "src/policy/step_visits.h"
#include "src/policy/trainer.h"
#include "src/policy/training_graphs.h"
#include "src/policy/workload_steps.h"

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
      for (const bool has_clusters : {true, false}) {
        XFLOW_TRY(auto environment, open(instance, has_clusters));
        if (environment != nullptr) environments_.push_back(std::move(environment));
      }
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
      // Every second time clusters, if there are some.
      std::unique_ptr<VisitEnvironment> environment;
      if (state().steps / kStepsPerLevel % 2 == 0) {
        XFLOW_TRY(environment, open(instance, true));
      }
      if (environment == nullptr) {
        XFLOW_TRY(environment, open(instance, false));
      }
      if (!trainer_.step(*environment)) stop = TrainingStop::diverged;
      if (state().steps % kStepsPerValidation == 0) XFLOW_CHECK(validate());
    }
    XFLOW_CHECK(write_policy(options_.out, trainer_.policy()));
    return TrainPolicyResult{state().steps, std::exp(state().best_score), stop, state().seed, environments_.size()};
  }

 private:
  const TrainingState& state() const { return trainer_.policy().training; }

  using Opened = std::unique_ptr<VisitEnvironment>;

  // Groups of an instance, or clusters of them; null if it has none.
  Result<Opened> open(const parallel::PlacementInstance& instance, bool has_clusters) const {
    if (options_.objective == PolicyObjective::step) return open_steps(instance, has_clusters);
    const auto objective = options_.objective == PolicyObjective::latency ? PlacementObjective::latency : PlacementObjective::max_load;
    XFLOW_TRY(auto environment, open_environment(instance, objective, options_.graphs));
    if (!has_clusters) return Opened(std::move(environment));
    return Opened(coarse_environment(instance, objective, *environment));
  }
  Result<Opened> open_steps(const parallel::PlacementInstance& instance, bool has_clusters) const {
    if (has_clusters) return Opened();
    XFLOW_TRY(parallel::DeviceCluster cluster, parallel::open_cluster(options_.cluster));
    XFLOW_TRY(auto steps, WorkloadSteps::of(instance, std::move(cluster), options_.graphs));
    if (steps->groups() > kMostGroups)
      return fail(ErrorCode::unsupported, fmt::format("a policy places at most {} groups, and there are {}", kMostGroups, steps->groups()),
                  options_.graphs);
    return Opened(std::make_unique<StepVisits>(std::move(steps)));
  }
  Result<void> validate() { return report(trainer_.validate(environments_)); }
  Result<void> report(double score) {
    if (options_.progress) options_.progress({state().steps, std::exp(score), std::exp(state().best_score)});
    return write_policy(options_.out, trainer_.policy());
  }

  const TrainPolicyOptions& options_;
  TrainingGraphs graphs_;
  Trainer trainer_;
  std::vector<std::unique_ptr<VisitEnvironment>> environments_;
};

}  // namespace

Result<TrainPolicyResult> train(const TrainPolicyOptions& options) {
  if (options.method == PolicyMethod::go) return go_train(options);
  XFLOW_TRY(TrainingGraphs graphs, TrainingGraphs::open(options.graphs, options.cluster));
  XFLOW_TRY(Policy policy, policy_to_train(options));
  XFLOW_TRY(Trainer trainer, Trainer::of(std::move(policy)));
  return Training(options, std::move(graphs), std::move(trainer)).run();
}

}  // namespace xflow::policy
