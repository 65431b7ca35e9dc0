#include "src/parallel/ordered_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
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
constexpr std::uint64_t kProposalsBeforeIntervals = 1000;
// Temperatures at the beginning of chains, as shares of the step; those at their end are shares of these.
// With more nodes a proposal changes less of the step, and there are fewer proposals.
constexpr std::array<double, 4> kHottest = {0.001, 0.01, 0.001, 0.003};
constexpr double kNodesOfHottest = 2000;
constexpr double kShareAtEnd = 1.0 / 30;

// A plan that is improved, and how.
struct Lineage {
  Lineage(const OrderedProblem& problem, bool fuses, RandomNumbers& random) : moves(problem, fuses, random) {}

  bool is_better_than(const Lineage& other) const {
    return std::pair(best.missing, best.step) < std::pair(other.best.missing, other.best.step);
  }

  OrderedResult best;
  OrderedMoves moves;
  std::uint64_t chains = 0;
  std::uint64_t length = kShortestChain;  // of the next chain
  std::uint64_t proposals = 0;            // of all chains
  // Of the last plan that was accepted.
  std::vector<double> loads;  // by device
  std::vector<std::uint32_t> critical;
};

class OrderedSearch {
 public:
  // `bound`: of all plans that the search may find.
  OrderedSearch(const OrderedProblem& problem, bool fuses, double bound, std::uint64_t seed, SearchBudget& budget)
      : problem_(problem), fuses_(fuses), random_(seed), budget_(budget), simulator_(problem), bound_(bound) {
    lineages_.emplace_back(problem_, fuses_, random_);
  }

  // Simulates a start and keeps it if it is the best one; the first one in any case.
  void try_start(OrderedPlan plan) {
    Lineage& lineage = lineages_.back();
    const bool is_first = lineage.best.plan.devices.empty();
    if (!spend() && !(is_first && lineages_.size() == 1)) return;
    ++proposals_;
    const OrderedStep step = *simulator_.simulate(plan);
    if (is_first || std::pair(step.missing, step.seconds) < std::pair(lineage.best.missing, lineage.best.step))
      keep(lineage, std::move(plan), step);
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

  // Plans of intervals, for the plan that the search improves, or for another one beside it.
  void try_orders(bool is_beside) {
    if (is_beside) lineages_.emplace_back(problem_, fuses_, random_);
    for (const IntervalOrder order : {IntervalOrder::clustered, IntervalOrder::depth_first})
      try_starts([&](const std::vector<bool>& fused) { return interval_plan(problem_, fused, order, random_); });
  }

  // Until the budget ends, a plan meets the bound, or there were at least `most` proposals.
  void improve(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    while (!is_done() && proposals_ < most) anneal(next_lineage());
  }
  void improve_all() { improve(); }
  // Plans of intervals take longer to make, and are worse at first.
  void improve_beside_orders() {
    improve(kProposalsBeforeIntervals);
    if (!is_done() && problem_.cluster.size() > 1) try_orders(true);
    improve();
  }
  bool is_done() { return is_over_ || is_best(); }

  OrderedResult take() {
    OrderedResult best = std::move(better().best);
    best.proposals = proposals_;
    return best;
  }

 private:
  bool spend() {
    is_over_ = is_over_ || budget_.is_past(1) || !budget_.spend();
    return !is_over_;
  }

  // A lineage whose starts were not simulated has no plan.
  bool has_two() const { return lineages_.size() == 2 && !lineages_.back().best.plan.devices.empty(); }
  Lineage& better() { return has_two() && lineages_[1].is_better_than(lineages_[0]) ? lineages_[1] : lineages_[0]; }

  // The better plan gets two thirds of the proposals.
  Lineage& next_lineage() {
    if (!has_two()) return lineages_[0];
    Lineage& better = this->better();
    Lineage& worse = &better == &lineages_[0] ? lineages_[1] : lineages_[0];
    return better.proposals <= 2 * worse.proposals ? better : worse;
  }

  // Whether no plan is better.
  bool is_best() {
    const OrderedResult& best = better().best;
    return best.missing == 0 && best.step <= bound_;
  }

  void keep(Lineage& lineage, OrderedPlan plan, const OrderedStep& step) {
    lineage.best.plan = std::move(plan);
    lineage.best.step = step.seconds;
    lineage.best.missing = step.missing;
    look_at_plan(lineage);
  }

  // Of the plan that was simulated last.
  void look_at_plan(Lineage& lineage) {
    lineage.loads.assign(simulator_.busy().begin(), simulator_.busy().end());
    simulator_.find_critical_nodes(lineage.critical);
  }

  void anneal(Lineage& lineage) {
    const double scale = std::min(1.0, kNodesOfHottest / std::max(1.0, static_cast<double>(problem_.workload.nodes.size())));
    const std::uint64_t length = lineage.length;
    OrderedPlan plan = lineage.best.plan;
    OrderedStep current{lineage.best.step, lineage.best.missing};
    double temperature = scale * kHottest[lineage.chains % kHottest.size()] * lineage.best.step;
    if (++lineage.chains % 2 == 0) lineage.length *= 2;
    const double cooling = std::pow(kShareAtEnd, 1 / static_cast<double>(length));
    for (std::uint64_t step = 0; step < length; ++step, temperature *= cooling) {
      if (!spend()) return;
      ++lineage.proposals;
      if (!lineage.moves.propose(plan, lineage.loads, lineage.critical)) continue;
      ++proposals_;
      // Any step is accepted that misses fewer bytes.
      const double limit = current.seconds - temperature * std::log(random_.unit());
      const auto found = simulator_.simulate(plan, current.missing > 0 ? kNoLimit : limit);
      const bool is_accepted =
          found && (found->missing < current.missing || (found->missing == current.missing && found->seconds <= limit));
      if (!is_accepted) {
        lineage.moves.undo(plan);
        continue;
      }
      lineage.moves.keep(current.missing == found->missing ? current.seconds - found->seconds : 0);
      current = *found;
      look_at_plan(lineage);
      if (std::pair(current.missing, current.seconds) < std::pair(lineage.best.missing, lineage.best.step)) keep(lineage, plan, current);
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
  std::deque<Lineage> lineages_;  // one or two
  std::uint64_t proposals_ = 0;   // plans that were simulated
};

OrderedResult improved(const OrderedProblem& problem, const OrderedPlan& start, bool fuses, std::uint64_t seed, SearchBudget& budget,
                       void (OrderedSearch::*improve)()) {
  OrderedSearch search(problem, fuses, bound_from(problem, start, fuses), seed, budget);
  search.try_start(start);
  (search.*improve)();
  return search.take();
}

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
    search.try_orders(false);
  } else {
    search.try_starts([&](const std::vector<bool>& fused) { return heft_plan(problem, fused); });
  }
  if (options.method == OrderedMethod::local) {
    for (std::uint32_t device = 0; device < problem.cluster.size(); ++device)
      search.try_starts([&](const std::vector<bool>& fused) { return one_device_plan(problem, fused, device); });
    search.improve_beside_orders();
  } else if (options.method != OrderedMethod::heft) {
    search.improve();
  }
  return search.take();
}

OrderedResult improve_ordered(const OrderedProblem& problem, const OrderedPlan& start, bool fuses, std::uint64_t seed,
                              SearchBudget& budget) {
  return improved(problem, start, fuses, seed, budget, &OrderedSearch::improve_all);
}

OrderedResult improve_beside_intervals(const OrderedProblem& problem, const OrderedPlan& start, bool fuses, std::uint64_t seed,
                                       SearchBudget& budget) {
  return improved(problem, start, fuses, seed, budget, &OrderedSearch::improve_beside_orders);
}

}  // namespace xflow::parallel
