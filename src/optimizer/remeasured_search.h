// A search whose result does not depend on costs that were not measured well: those that are expected of
// kernels that were not timed, and provisional ones, of kernels that were timed under interference.
#pragma once

#include <optional>

#include "src/cost/cost_model.h"
#include "src/search/search.h"

namespace xflow::api {

// Searches with the costs of the model. Where kernels were not timed, costs are expected ones at first
// (CostModel::expect_costs), less than the estimates say. After a search the kernels of its result and of
// `graph` are timed, and the search restarts, until all kernels of a result were timed before it was found;
// then once more so with costs above the estimates. When a search takes longer than timing all kernels with
// expected costs, or after kMostTimedSearches searches, all kernels that a search asks for are timed. With a
// budget of seconds a search ends after a quarter of it, and the last one has the rest. The cheapest
// result is returned.
// The search uses provisional costs until half of the budget is used up, then times these kernels again
// within the limit of CostModel::allow_remeasuring. If a cost changes, the search restarts with the rest of
// the time, or with all of the states.
// Before a result is returned, kernels that differ between it and `graph` are timed again if their costs are
// still provisional. A lower bound is one of the costs that the result has: where the last search would have
// to be priced with other costs, one more follows, after which no kernel is timed again. Without expected
// and provisional costs this is a single search.
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
  // The time of a graph as a search counts it.
  std::optional<Nanoseconds> time_of(const ir::Graph& graph);
  // Sets the costs of the outcome to the current ones. It becomes the original if it is no longer cheaper.
  void price(search::Outcome& outcome);
  // Keeps the outcome for later if it is the cheapest one so far.
  void keep(const search::Outcome& outcome);
  // The outcome becomes the cheapest one of all searches, with its current costs. It keeps its bound, which
  // holds for the result of any search with these costs.
  void choose(search::Outcome& outcome);
  // Whether the outcome depends on expected costs, and no run will show whether it is faster.
  bool is_unsafe(const search::Outcome& outcome);
  // Sets the costs of kernels that were not timed (CostModel::expect_costs).
  void expect(std::optional<double> deviations);
  // Whether the search ends, since costs changed or the next one is to begin; `used`:
  // search::Options::interrupt.
  bool interrupts(double used);
  // The used part of the seconds of the budget; may be above 1.
  double used() const;
  // Prepares one more search; true.
  bool begins_again(const search::Outcome& outcome);
  double now() const;
  // Whether timing all kernels with expected costs would take less time than another search.
  bool is_timing_quicker() const;

  ir::Arena& arena_;
  const ir::Graph& graph_;
  cost::CostModel& model_;
  search::Rewriter& rewriter_;
  const std::optional<double> max_seconds_;
  search::Options next_;
  bool has_asked_ = false;
  bool has_overrun_ = false;  // a search began after the seconds were used up, since costs changed
  bool is_last_ = false;      // costs stay as they are in the last search, which finds a bound
  bool was_cut_ = false;      // the last search ended so that kernels can be timed
  const double begin_;
  double search_begin_ = 0;
  double searching_ = 0;  // seconds of the last search
  std::optional<double> expects_;
  int searches_ = 0;  // that ended with provisional costs
  int rounds_ = 0;    // that ended with expected costs
  std::optional<search::Outcome> cheapest_;
};

// The seconds that a restarted search may take after the time is used up: more than finding the last result
// took.
double seconds_to_restart(const search::Outcome& outcome);

}  // namespace xflow::api
