#include "src/policy/go_train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "src/parallel/ordered_search.h"
#include "src/parallel/step_instance.h"
#include "src/policy/go_plan.h"
#include "src/policy/go_policy_file.h"
#include "src/policy/training_graphs.h"

namespace xflow::policy {
namespace {

constexpr std::uint64_t kGraphs = 8;           // that are trained side by side
constexpr std::uint64_t kUpdatesOfGraph = 24;  // before another one takes its place
constexpr std::uint64_t kUpdatesPerValidation = 100;
constexpr std::uint32_t kValidationPasses = 4;

// A graph with the plan of HEFT.
struct GoTask {
  parallel::StepInstance graph;
  parallel::OrderedPlan start;
  double step = 0;
};

class GoTraining {
 public:
  GoTraining(const TrainPolicyOptions& options, TrainingGraphs graphs, parallel::DeviceCluster cluster, GoTrainer trainer)
      : options_(options),
        graphs_(std::move(graphs)),
        cluster_(std::move(cluster)),
        trainer_(std::move(trainer)),
        tasks_(kGraphs),
        episodes_(kGraphs) {}

  Result<TrainPolicyResult> run() {
    XFLOW_TRY(const auto validated, graphs_.validation(state().seed));
    for (const parallel::PlacementInstance& instance : validated) {
      XFLOW_TRY(auto task, open(instance));
      validated_.push_back(std::move(task));
    }
    // A training that is resumed may have other graphs now.
    XFLOW_TRY(state().best_score, score_of(trainer_.policy().weights));
    XFLOW_CHECK(report(state().best_score));
    XFLOW_CHECK(resume_graphs());
    TrainingStop stop = TrainingStop::finished;
    while (state().steps < options_.steps && stop == TrainingStop::finished) {
      if (options_.cancel.is_stopping()) return fail(ErrorCode::limit, "cancelled");
      if (options_.cancel.is_finishing()) {
        stop = TrainingStop::cancelled;
        break;
      }
      XFLOW_TRY(const bool is_finite, update());
      if (!is_finite) stop = TrainingStop::diverged;
      if (state().steps % kUpdatesPerValidation == 0) XFLOW_CHECK(validate());
    }
    keep_graphs();
    XFLOW_CHECK(write_go_policy(options_.out, trainer_.policy()));
    return TrainPolicyResult{state().steps, std::exp(state().best_score), stop, state().seed, validated_.size()};
  }

 private:
  TrainingState& state() { return trainer_.policy().training; }

  Result<std::unique_ptr<GoTask>> open(const parallel::PlacementInstance& instance) const {
    auto task = std::make_unique<GoTask>();
    XFLOW_TRY(task->graph, parallel::step_instance(instance, cluster_, options_.graphs));
    parallel::SearchBudget budget;
    parallel::OrderedResult start =
        parallel::search_ordered(task->graph.problem(cluster_), {parallel::OrderedMethod::heft, true, 1}, budget);
    task->start = std::move(start.plan);
    task->step = start.step;
    return task;
  }
  // Number `own` of the graphs that are trained becomes this one.
  Result<void> begin_graph(std::uint64_t own, std::uint64_t number) {
    XFLOW_TRY(const parallel::PlacementInstance instance, graphs_.graph(number, state().seed));
    XFLOW_TRY(auto task, open(instance));
    episodes_[own] = std::make_unique<GoEpisode>(task->graph.problem(cluster_), task->start);
    tasks_[own] = std::move(task);
    auto& kept = trainer_.policy().graphs;
    if (kept.size() <= own) kept.resize(own + 1);
    kept[own].number = number;
    return {};
  }
  // Opens the graphs of a training that is resumed. Plans of other graphs than these are left out.
  Result<void> resume_graphs() {
    std::vector<GoTrainedGraph> kept = std::move(trainer_.policy().graphs);
    trainer_.policy().graphs.clear();
    for (std::uint64_t own = 0; own < std::min<std::uint64_t>(kGraphs, kept.size()); ++own) {
      XFLOW_CHECK(begin_graph(own, kept[own].number));
      if (parallel::check_ordered_plan(tasks_[own]->graph.problem(cluster_), kept[own].plan)) episodes_[own]->go_to(kept[own].plan);
    }
    return {};
  }
  void keep_graphs() {
    auto& kept = trainer_.policy().graphs;
    for (std::size_t own = 0; own < kept.size(); ++own) kept[own].plan = episodes_[own]->view().plan();
  }

  // False if weights are no longer finite.
  Result<bool> update() {
    const std::uint64_t own = state().steps % kGraphs;
    const std::uint64_t round = state().steps / kGraphs;
    // Graphs are replaced at different times.
    if (!episodes_[own] || (round > 0 && (round + own * kUpdatesOfGraph / kGraphs) % kUpdatesOfGraph == 0))
      XFLOW_CHECK(begin_graph(own, state().steps));
    GoUpdate seen;
    return trainer_.update(*episodes_[own], seen);
  }

  // The mean of log(step / step of HEFT) over graphs for validation after some passes.
  Result<double> score_of(const std::vector<Matrix>& weights) {
    GoPolicy policy;
    policy.weights = weights;
    double sum = 0;
    for (const auto& task : validated_) {
      parallel::SearchBudget budget;
      GoPlanOptions options;
      options.passes = kValidationPasses;
      XFLOW_TRY(const parallel::OrderedResult found, plan_by_go(task->graph.problem(cluster_), policy, task->start, options, budget));
      if (task->step > 0) sum += std::log(found.step / task->step);
    }
    return sum / static_cast<double>(validated_.size());
  }
  Result<void> validate() {
    XFLOW_TRY(const double score, score_of(state().weights));
    if (score < state().best_score) {
      state().best_score = score;
      trainer_.policy().weights = state().weights;
    }
    keep_graphs();
    return report(score);
  }
  Result<void> report(double score) {
    if (options_.progress) options_.progress({state().steps, std::exp(score), std::exp(state().best_score)});
    return write_go_policy(options_.out, trainer_.policy());
  }

  const TrainPolicyOptions& options_;
  TrainingGraphs graphs_;
  parallel::DeviceCluster cluster_;
  GoTrainer trainer_;
  std::vector<std::unique_ptr<GoTask>> validated_;
  std::vector<std::unique_ptr<GoTask>> tasks_;
  std::vector<std::unique_ptr<GoEpisode>> episodes_;  // of tasks_
};

}  // namespace

Result<TrainPolicyResult> go_train(const TrainPolicyOptions& options) {
  if (options.objective != PolicyObjective::step)
    return fail(ErrorCode::invalid_argument,
                fmt::format("the method go has the objective step alone, not {}", to_string(options.objective)));
  XFLOW_TRY(TrainingGraphs graphs, TrainingGraphs::open(options.graphs, options.cluster));
  XFLOW_TRY(parallel::DeviceCluster cluster, parallel::open_cluster(options.cluster));
  GoPolicy policy = first_go_policy(options.seed);
  if (options.resume) {
    XFLOW_TRY(policy, read_go_policy(options.out));
  }
  XFLOW_TRY(GoTrainer trainer, GoTrainer::of(std::move(policy)));
  return GoTraining(options, std::move(graphs), std::move(cluster), std::move(trainer)).run();
}

}  // namespace xflow::policy
