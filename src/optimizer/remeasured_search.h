// A search whose result does not depend on provisional costs: times of kernels measured under interference.
#pragma once

#include <optional>

#include "src/cost/cost_model.h"
#include "src/search/search.h"

namespace xflow::api {

// Searches with the costs of the model. The search uses provisional costs until half of the budget is used
// up, then times these kernels again within the limit of CostModel::allow_remeasuring. If a cost changes,
// the search restarts with the rest of the time, or with all of the states.
// Before a result is returned, kernels that differ between it and `graph` are timed again if their costs are
// still provisional. Without provisional costs this is a single search.
class RemeasuredSearch {
 public:
  // All arguments must outlive the object.
  RemeasuredSearch(ir::Arena& arena, const ir::Graph& graph, cost::CostModel& model, search::Rewriter& rewriter, search::Options options);
  RemeasuredSearch(const RemeasuredSearch&) = delete;
  RemeasuredSearch& operator=(const RemeasuredSearch&) = delete;

  search::Outcome run();
  // Returns true if run() must be called again because costs changed. After the last allowed search the
  // outcome gets the current costs instead.
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

// The seconds that a restarted search may take after the time is used up: more than finding the last result
// took.
double seconds_to_restart(const search::Outcome& outcome);

}  // namespace xflow::api
