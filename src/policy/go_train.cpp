#include "src/policy/go_train.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "src/parallel/large_graphs.h"
#include "src/parallel/ordered_search.h"
#include "src/policy/go_plan.h"

namespace xflow::policy {
namespace {

constexpr std::uint64_t kGraphs = 8;           // that are trained side by side
constexpr std::uint64_t kUpdatesOfGraph = 24;  // before another one takes its place
constexpr std::uint64_t kUpdatesOfReport = 100;
constexpr std::uint64_t kValidated = 3;
constexpr std::uint32_t kValidationPasses = 4;
constexpr std::uint64_t kFirstGoValidated = std::uint64_t{1} << 31U;  // of numbers of graphs

// A graph with the plan of HEFT.
struct GoTask {
  parallel::LargeGraph graph;
  parallel::OrderedPlan start;
  double step = 0;
};

class GoTraining {
 public:
  GoTraining(const GoTrainOptions& options, GoTrainer trainer)
      : options_(options), trainer_(std::move(trainer)), tasks_(kGraphs), episodes_(kGraphs) {}

  Result<GoPolicy> run() {
    for (std::uint64_t number = 0; number < kValidated; ++number) {
      XFLOW_TRY(auto task, open(kFirstGoValidated + number));
      validated_.push_back(std::move(task));
    }
    XFLOW_CHECK(report());
    while (state().steps < options_.updates && !options_.cancel.is_finishing()) {
      const std::uint64_t own = state().steps % kGraphs;
      const std::uint64_t round = state().steps / kGraphs;
      // Graphs are replaced at different times.
      if (!episodes_[own] || (round + own * kUpdatesOfGraph / kGraphs) % kUpdatesOfGraph == 0) {
        XFLOW_TRY(tasks_[own], open(state().steps));
        episodes_[own] = std::make_unique<GoEpisode>(problem(*tasks_[own]), tasks_[own]->start);
      }
      GoUpdate seen;
      if (!trainer_.update(*episodes_[own], seen)) break;
      mean_ -= std::log(seen.mean_ratio);
      best_ -= std::log(seen.best_ratio);
      entropy_ += seen.entropy;
      ++seen_;
      if (state().steps % kUpdatesOfReport == 0) XFLOW_CHECK(report());
    }
    return std::move(trainer_.policy());
  }

 private:
  TrainingState& state() { return trainer_.policy().training; }
  parallel::OrderedProblem problem(const GoTask& task) const { return {task.graph.workload, options_.cluster, task.graph.fusions}; }

  Result<std::unique_ptr<GoTask>> open(std::uint64_t number) {
    auto task = std::make_unique<GoTask>();
    const std::uint32_t nodes = options_.sizes[number % options_.sizes.size()];
    const std::uint64_t high = 1 + state().seed * 0x9e3779b97f4a7c15U % (kFirstGoSeed - 1);
    XFLOW_TRY(task->graph, parallel::large_graph(nodes, high * kFirstGoSeed + number, options_.cluster));
    parallel::SearchBudget budget;
    parallel::OrderedResult start = parallel::search_ordered(problem(*task), {parallel::OrderedMethod::heft, true, 1}, budget);
    task->start = std::move(start.plan);
    task->step = start.step;
    return task;
  }

  // Compares the last weights with the best ones.
  Result<void> report() {
    GoPolicy last;
    last.weights = state().weights;
    double sum = 0;
    for (const auto& task : validated_) {
      parallel::SearchBudget budget;
      XFLOW_TRY(const parallel::OrderedResult found, plan_by_go(problem(*task), last, task->start, {1, {}, kValidationPasses}, budget));
      sum += std::log(found.step / task->step) / kValidated;
    }
    if (sum < state().best_score) {
      state().best_score = sum;
      trainer_.policy().weights = state().weights;
    }
    const auto count = static_cast<double>(std::max<std::uint64_t>(seen_, 1));
    if (options_.progress)
      options_.progress({state().steps, std::exp(-mean_ / count), std::exp(-best_ / count), entropy_ / count, std::exp(sum),
                         std::exp(state().best_score)},
                        trainer_.policy());
    mean_ = best_ = entropy_ = 0;
    seen_ = 0;
    return {};
  }

  const GoTrainOptions& options_;
  GoTrainer trainer_;
  std::vector<std::unique_ptr<GoTask>> validated_;
  std::vector<std::unique_ptr<GoTask>> tasks_;
  std::vector<std::unique_ptr<GoEpisode>> episodes_;
  // Sums since the last report.
  double mean_ = 0;
  double best_ = 0;
  double entropy_ = 0;
  std::uint64_t seen_ = 0;
};

}  // namespace

Result<GoPolicy> go_train(const GoTrainOptions& options, const GoPolicy* policy) {
  XFLOW_TRY(GoTrainer trainer, GoTrainer::of(policy != nullptr ? *policy : first_go_policy(options.seed)));
  return GoTraining(options, std::move(trainer)).run();
}

}  // namespace xflow::policy
