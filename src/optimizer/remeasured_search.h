// A search whose result does not depend on kernels that were timed under interference.
#pragma once

#include <optional>

#include "src/cost/cover.h"
#include "src/search/search.h"

namespace xflow::api {

// Searches with the costs of the model. Provisional costs are used as they are until half of the budget is used up; then these kernels are
// timed again (as far as the model may, see CostModel::allow_again). Where that changes a cost, the search restarts, with the rest of the
// time or all of the states. Before a result is returned, the kernels by which it differs from `graph` are timed again if they are
// provisional still. With costs none of which is provisional this is one search.
class RemeasuredSearch {
 public:
  // All arguments must outlive it.
  RemeasuredSearch(ir::Arena& arena, const ir::Graph& graph, cost::CostModel& model, search::Rewriter& rewriter, search::Options options);
  RemeasuredSearch(const RemeasuredSearch&) = delete;
  RemeasuredSearch& operator=(const RemeasuredSearch&) = delete;

  search::Outcome run();
  // Whether run() has to be called again, because costs changed. After the last search that is allowed, the outcome gets the costs of now.
  bool restarts(search::Outcome& outcome);

 private:
  ir::Arena& arena_;
  const ir::Graph& graph_;
  cost::CostModel& model_;
  search::Rewriter& rewriter_;
  const std::optional<double> max_seconds_;
  search::Options next_;
  bool has_asked_ = false;
  int searches_ = 0;
};

// Runs until nothing restarts.
search::Outcome remeasured_search(ir::Arena& arena, const ir::Graph& graph, cost::CostModel& model, search::Rewriter& rewriter,
                                  const search::Options& options);

// A search that restarts after the time is used up may take so much: longer than finding the last result took.
double seconds_to_restart(const search::Outcome& outcome);

}  // namespace xflow::api
