#include "src/optimizer/remeasured_search.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/cost/incremental_cost.h"

namespace xflow::api {

double seconds_to_restart(const search::Outcome& outcome) { return 1.25 * outcome.best_seconds + 0.5; }

namespace {

constexpr int kMostSearches = 3;
constexpr double kPartOfFirst = 0.5;  // of the budget; after it kernels are timed again

// Sets the costs of the outcome to the current ones. Replaces the outcome by the original if it is no longer
// cheaper.
void remeasure(cost::CostModel& model, const ir::Graph& graph, search::Outcome& outcome) {
  const auto before = model.cost(graph);
  const auto after = model.cost(outcome.best);
  if (!before || !after) return;
  outcome.before = before->time;
  outcome.after = after->time;
  if (after->time < before->time) return;
  outcome.after = outcome.before;
  outcome.constant_bytes_after = outcome.constant_bytes_before;
  outcome.best = graph;
  outcome.correspondence.clear();
  outcome.steps.clear();
  outcome.others.clear();
}

}  // namespace

RemeasuredSearch::RemeasuredSearch(ir::Arena& arena, const ir::Graph& graph, cost::CostModel& model, search::Rewriter& rewriter,
                                   search::Options options)
    : arena_(arena), graph_(graph), model_(model), rewriter_(rewriter), max_seconds_(options.max_seconds), next_(std::move(options)) {
  next_.interrupt = [this](double used) {
    if (has_asked_ || used < kPartOfFirst || model_.statistics().provisional == 0) return false;
    has_asked_ = true;
    return model_.remeasure({});
  };
}

search::Outcome RemeasuredSearch::run() {
  ++searches_;
  return search::search(
      arena_, graph_, rewriter_, [this](const ir::WorkGraph& work) { return model_.follow(work); }, next_);
}

bool RemeasuredSearch::restarts(search::Outcome& outcome) {
  if (next_.stop && next_.stop()) return false;
  const std::array graphs = {graph_, outcome.best};
  if (outcome.stop != search::StopReason::costs_changed && !model_.remeasure(graphs)) return false;
  model_.forget();
  if (searches_ == kMostSearches) {
    remeasure(model_, graph_, outcome);
    return false;
  }
  next_.interrupt = nullptr;
  if (max_seconds_) {
    const double least = seconds_to_restart(outcome);
    next_.max_seconds = std::max(least, outcome.stop == search::StopReason::costs_changed ? kPartOfFirst * *max_seconds_ : 0);
  }
  return true;
}

}  // namespace xflow::api
