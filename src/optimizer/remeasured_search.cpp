#include "src/optimizer/remeasured_search.h"

#include <algorithm>
#include <array>

#include "src/cost/live_cost.h"

namespace xflow::api {

double seconds_to_restart(const search::Outcome& outcome) { return 1.25 * outcome.best_seconds + 0.5; }

namespace {

constexpr int kMostSearches = 3;
constexpr double kPartOfFirst = 0.5;  // of the budget, after which kernels are timed again

// What the outcome costs by the present costs; the original where that is not less.
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

search::Outcome remeasured_search(ir::Arena& arena, const ir::Graph& graph, cost::CostModel& model, search::Rewriter& rewriter,
                                  const search::Options& options) {
  const auto follow = [&](const ir::WorkGraph& work) { return model.follow(work); };
  search::Options next = options;
  bool asked = false;
  next.interrupt = [&](double used) {
    if (asked || used < kPartOfFirst || model.statistics().provisional == 0) return false;
    asked = true;
    return model.measure_again({});
  };
  for (int searches = 1;; ++searches) {
    search::Outcome outcome = search::search(arena, graph, rewriter, follow, next);
    const std::array graphs = {graph, outcome.best};
    if (next.stop && next.stop()) return outcome;
    if (outcome.stop != search::StopReason::interrupt && !model.measure_again(graphs)) return outcome;
    model.forget();
    if (searches == kMostSearches) {
      remeasure(model, graph, outcome);
      return outcome;
    }
    next.interrupt = nullptr;
    if (!next.max_seconds) continue;
    const double least = seconds_to_restart(outcome);
    next.max_seconds = std::max(least, outcome.stop == search::StopReason::interrupt ? kPartOfFirst * *options.max_seconds : 0);
  }
}

}  // namespace xflow::api
