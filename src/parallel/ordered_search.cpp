#include "src/parallel/ordered_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "src/parallel/fused_workload.h"
#include "src/parallel/ordered_bound.h"
#include "src/parallel/ordered_moves.h"
#include "src/parallel/ordered_starts.h"
#include "src/parallel/random_numbers.h"

namespace xflow::parallel {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kShortestChain = 200;
// Temperatures at the beginning of chains, as shares of the step; those at their end are shares of these.
// With more nodes a proposal changes less of the step, and there are fewer proposals.
constexpr std::array<double, 4> kHottest = {0.001, 0.01, 0.001, 0.003};
constexpr double kNodesOfHottest = 2000;
constexpr double kShareAtEnd = 1.0 / 30;

class OrderedSearch {
 public:
  // `bound`: of all plans that the search may find.
  OrderedSearch(const OrderedProblem& problem, bool fuses, double bound, std::uint64_t seed, SearchBudget& budget)
      : problem_(problem), fuses_(fuses), random_(seed), budget_(budget), simulator_(problem), bound_(bound) {}

  // Simulates a start and keeps it if it is the best one; the first one in any case.
  void try_start(OrderedPlan plan) {
    const bool is_first = best_.plan.devices.empty();
    if (!spend() && !is_first) return;
    ++best_.proposals;
    const OrderedStep step = *simulator_.simulate(plan);
    if (is_first || std::pair(step.missing, step.seconds) < std::pair(best_.missing, best_.step)) keep(std::move(plan), step);
  }

  // Each kind of plan with each set of fusions.
  template <typename Maker>
  void try_starts(const Maker& make) {
    const std::size_t choices = problem_.fusions.size();
    if (!fuses_ || choices == 0) {
      try_start(make(std::vector<bool>(choices, false)));
      return;
    }
    std::vector<bool> gaining(choices);
    for (std::size_t k = 0; k < choices; ++k) gaining[k] = problem_.fusions[k].saved > 0;
    try_start(make(gaining));
    try_start(make(chain_fusions(problem_)));
  }

  void try_orders() {
    for (const IntervalOrder order : {IntervalOrder::clustered, IntervalOrder::depth_first})
      try_starts([&](const std::vector<bool>& fused) { return interval_plan(problem_, fused, order, random_); });
  }

  void improve() {
    OrderedMoves moves(problem_, fuses_, random_);
    const double scale = std::min(1.0, kNodesOfHottest / std::max(1.0, static_cast<double>(problem_.workload.nodes.size())));
    std::uint64_t length = kShortestChain;
    for (std::size_t k = 0; !is_over_ && !is_best(); ++k) {
      anneal(moves, length, scale * kHottest[k % kHottest.size()]);
      if (k % 2 == 1) length *= 2;
    }
  }

  OrderedResult take() { return std::move(best_); }

 private:
  bool spend() {
    is_over_ = is_over_ || budget_.is_past(1) || !budget_.spend();
    return !is_over_;
  }

  // Whether no plan is better.
  bool is_best() const { return best_.missing == 0 && best_.step <= bound_; }

  void keep(OrderedPlan plan, const OrderedStep& step) {
    best_.plan = std::move(plan);
    best_.step = step.seconds;
    best_.missing = step.missing;
    look_at_plan();
  }

  // Of the plan that was simulated last.
  void look_at_plan() {
    loads_.assign(simulator_.busy().begin(), simulator_.busy().end());
    simulator_.find_critical_nodes(critical_);
  }

  void anneal(OrderedMoves& moves, std::uint64_t length, double hottest) {
    OrderedPlan plan = best_.plan;
    OrderedStep current{best_.step, best_.missing};
    double temperature = hottest * best_.step;
    const double cooling = std::pow(kShareAtEnd, 1 / static_cast<double>(length));
    for (std::uint64_t step = 0; step < length; ++step, temperature *= cooling) {
      if (!spend()) return;
      if (!moves.propose(plan, loads_, critical_)) continue;
      ++best_.proposals;
      // Any step is accepted that misses fewer bytes.
      const double limit = current.seconds - temperature * std::log(random_.unit());
      const auto found = simulator_.simulate(plan, current.missing > 0 ? kNoLimit : limit);
      const bool is_accepted =
          found && (found->missing < current.missing || (found->missing == current.missing && found->seconds <= limit));
      if (!is_accepted) {
        moves.undo(plan);
        continue;
      }
      moves.keep(current.missing == found->missing ? current.seconds - found->seconds : 0);
      current = *found;
      look_at_plan();
      if (std::pair(current.missing, current.seconds) < std::pair(best_.missing, best_.step)) keep(plan, current);
      if (is_best()) return;
    }
  }

  const OrderedProblem problem_;
  const bool fuses_;
  RandomNumbers random_;
  SearchBudget& budget_;
  OrderedSimulator simulator_;
  const double bound_;  // of the step
  bool is_over_ = false;
  OrderedResult best_;
  // Of the last plan that was accepted.
  std::vector<double> loads_;  // by device
  std::vector<std::uint32_t> critical_;
};

}  // namespace

const char* name(OrderedMethod method) {
  switch (method) {
    case OrderedMethod::heft:
      return "heft";
    case OrderedMethod::local:
      return "local";
    case OrderedMethod::intervals:
      return "intervals";
  }
  return "";
}

OrderedResult search_ordered(const OrderedProblem& problem, const OrderedSearchOptions& options, SearchBudget& budget) {
  OrderedSearch search(problem, options.fuses, ordered_bound(problem, options.fuses), options.seed, budget);
  if (options.method == OrderedMethod::intervals) {
    search.try_orders();
  } else {
    search.try_starts([&](const std::vector<bool>& fused) { return heft_plan(problem, fused); });
  }
  if (options.method == OrderedMethod::local)
    for (std::uint32_t device = 0; device < problem.cluster.size(); ++device)
      search.try_starts([&](const std::vector<bool>& fused) { return one_device_plan(problem, fused, device); });
  if (options.method != OrderedMethod::heft) search.improve();
  return search.take();
}

OrderedResult improve_ordered(const OrderedProblem& problem, const OrderedPlan& start, bool fuses, std::uint64_t seed,
                              SearchBudget& budget) {
  OrderedSearch search(problem, fuses, bound_from(problem, start, fuses), seed, budget);
  search.try_start(start);
  search.improve();
  return search.take();
}

}  // namespace xflow::parallel
