#include "src/policy/train_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "src/policy/given_graphs.h"
#include "src/policy/go_train.h"
#include "src/policy/placement_network.h"
#include "src/policy/policy_placement.h"
#include "src/policy/shipped_policies.h"
#include "src/policy/step_visits.h"
#include "src/policy/trainer.h"
#include "src/policy/training_graphs.h"
#include "src/policy/workload_steps.h"

namespace xflow::policy {
namespace {

constexpr std::uint64_t kStepsPerValidation = 20;
constexpr std::uint64_t kStepsPerLevel = 5;  // on groups and on clusters by turns

// Groups after which episodes return to the best placement of a graph, in turn.
constexpr std::size_t kWholePasses = SIZE_MAX;
constexpr std::array<std::size_t, 4> kWindows = {kWholePasses, 8, 16, 32};

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

PlacementObjective placement_objective(PolicyObjective objective) {
  return objective == PolicyObjective::latency ? PlacementObjective::latency : PlacementObjective::max_load;
}

// What a training works on.
class Training {
 public:
  Training(const TrainPolicyOptions& options, TrainingGraphs graphs, Trainer trainer)
      : options_(options), graphs_(std::move(graphs)), trainer_(std::move(trainer)) {}

  Result<TrainPolicyResult> run() {
    XFLOW_CHECK(open_validation());
    // A training that is resumed may have other graphs now.
    XFLOW_TRY(const double first, trainer_.begin(*validation_));
    XFLOW_CHECK(report(first));
    TrainingStop stop = TrainingStop::finished;
    while (state().steps < options_.steps && stop == TrainingStop::finished) {
      if (options_.cancel.is_stopping()) return fail(ErrorCode::limit, "cancelled");
      if (options_.cancel.is_finishing()) {
        stop = TrainingStop::cancelled;
        break;
      }
      XFLOW_TRY(const bool is_finite, step());
      if (!is_finite) stop = TrainingStop::diverged;
      if (state().steps % kStepsPerValidation == 0) XFLOW_CHECK(validate());
    }
    XFLOW_CHECK(write());
    return TrainPolicyResult{state().steps, std::exp(state().best_score), stop, state().seed, validated_};
  }

 private:
  const TrainingState& state() const { return trainer_.policy().training; }

  using Opened = std::unique_ptr<VisitEnvironment>;

  // Clusters of an instance from the largest ones on, and its groups.
  Result<std::vector<Opened>> open(const parallel::PlacementInstance& instance) const {
    std::vector<Opened> result;
    if (options_.objective == PolicyObjective::step) {
      XFLOW_TRY(auto steps, open_steps(instance));
      result.push_back(std::move(steps));
      return result;
    }
    XFLOW_TRY(PlacementLevels levels, open_levels(instance, placement_objective(options_.objective), options_.graphs));
    std::ranges::move(levels, std::back_inserter(result));
    return result;
  }
  Result<Opened> open_steps(const parallel::PlacementInstance& instance) const {
    XFLOW_TRY(parallel::DeviceCluster cluster, parallel::open_cluster(options_.cluster));
    XFLOW_TRY(auto steps, WorkloadSteps::of(instance, std::move(cluster), options_.graphs));
    if (steps->groups() > kMostGroups)
      return fail(ErrorCode::unsupported, fmt::format("a policy places at most {} groups, and there are {}", kMostGroups, steps->groups()),
                  options_.graphs);
    return Opened(std::make_unique<StepVisits>(std::move(steps)));
  }
  Result<void> open_validation() {
    XFLOW_TRY(const auto instances, graphs_.validation(state().seed));
    if (graphs_.given() > 0 && options_.objective != PolicyObjective::step) {
      XFLOW_TRY(auto given, GivenGraphs::open(instances, placement_objective(options_.objective), options_.graphs));
      given->restore(trainer_.policy().placements);
      validated_ = given->size();
      given_ = given.get();
      validation_ = std::move(given);
      return {};
    }
    GreedyValidation::Environments environments;
    for (const parallel::PlacementInstance& instance : instances) {
      XFLOW_TRY(auto levels, open(instance));
      std::ranges::move(levels, std::back_inserter(environments));
    }
    validated_ = environments.size();
    XFLOW_TRY(validation_, GreedyValidation::of(std::move(environments)));
    return {};
  }
  // The level of a step: clusters of one size after the other and, every second time, groups.
  static std::size_t level_of(std::uint64_t step, std::size_t levels) {
    const std::uint64_t turn = step / kStepsPerLevel;
    return levels == 1 || turn % 2 == 1 ? levels - 1 : turn / 2 % (levels - 1);
  }
  // Whether weights are finite after a step.
  Result<bool> step() {
    const std::uint64_t number = state().steps;
    if (given_ != nullptr && number % graphs_.given() < given_->size())
      return step_on_given(number % graphs_.given(), number / graphs_.given() % 2 == 1);
    XFLOW_TRY(const parallel::PlacementInstance instance, graphs_.graph(number, state().seed));
    XFLOW_TRY(const auto levels, open(instance));
    return trainer_.step(*levels[level_of(number, levels.size())]);
  }
  bool step_on_given(std::size_t graph, bool from_best) {
    const std::uint64_t number = state().steps;
    const std::size_t level = level_of(number, given_->levels(graph));
    PlacementEnvironment& environment = given_->environment(graph, level, from_best);
    const bool is_finite = trainer_.step(environment, from_best ? kWindows[number / 2 % kWindows.size()] : kWholePasses);
    given_->take(graph, level, trainer_.passed());
    return is_finite;
  }
  Result<void> validate() {
    XFLOW_TRY(const double score, trainer_.validate(*validation_));
    return report(score);
  }
  Result<void> write() const {
    Policy policy = trainer_.policy();
    policy.placements = given_ != nullptr ? given_->placements() : std::vector<parallel::GroupDevices>();
    return write_policy(options_.out, policy);
  }
  Result<void> report(double score) {
    if (options_.progress) options_.progress({state().steps, std::exp(score), std::exp(state().best_score)});
    return write();
  }

  const TrainPolicyOptions& options_;
  TrainingGraphs graphs_;
  Trainer trainer_;
  std::unique_ptr<Validation> validation_;
  std::size_t validated_ = 0;     // number of environments that it compares
  GivenGraphs* given_ = nullptr;  // validation_, for graphs of files
};

}  // namespace

Result<TrainPolicyResult> train(const TrainPolicyOptions& options) {
  if (options.out.starts_with(kShippedPolicy))
    return fail(ErrorCode::invalid_argument, "the name of a shipped policy is no file to write", options.out);
  if (options.method == PolicyMethod::go) return go_train(options);
  XFLOW_TRY(TrainingGraphs graphs, TrainingGraphs::open(options.graphs, options.cluster));
  XFLOW_TRY(Policy policy, policy_to_train(options));
  XFLOW_TRY(Trainer trainer, Trainer::of(std::move(policy)));
  return Training(options, std::move(graphs), std::move(trainer)).run();
}

}  // namespace xflow::policy
