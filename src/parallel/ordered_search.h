// Searches of a plan of a whole step: devices, order and fusions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/parallel/ordered_step.h"
#include "src/parallel/search_budget.h"

namespace xflow::parallel {

// A plan and its step.
struct OrderedResult {
  OrderedPlan plan;
  double step = 0;              // seconds
  double missing = 0;           // bytes, as in OrderedStep
  std::uint64_t proposals = 0;  // plans that were simulated
};

enum class OrderedMethod : std::uint8_t {
  heft,       // heft_plan alone
  local,      // the local search, from the better of heft_plan and the best single device, and from intervals
  intervals,  // the local search, from the best interval_plan over all kinds of orders
};
// "heft", "local", "intervals".
const char* name(OrderedMethod method);

struct OrderedSearchOptions {
  OrderedMethod method = OrderedMethod::local;
  bool fuses = true;  // otherwise no choice is taken
  std::uint64_t seed = 1;
};

// The best plan that a method finds within the budget, of which a simulated plan is a step. With `fuses`
// each start is tried with chain_fusions and with all fusions that save time; the first start is simulated
// in any case. `local` improves two plans: after some proposals, a third of them go to the best plan of
// `intervals`, and two thirds when it has become the better one. A plan that misses fewer bytes of memory is
// better than any that misses more. Deterministic for a number of steps: the time limit only ends the
// sequence, and is looked at before each proposal. It ends early when the step meets ordered_bound(). The
// problem passes check_workload and check_fusions.
OrderedResult search_ordered(const OrderedProblem& problem, const OrderedSearchOptions& options, SearchBudget& budget);

// The local search alone, which is never worse than the start: simulated annealing on the step with the
// proposals of OrderedMoves, each of which is simulated. A chain starts at the best plan at a temperature of
// 0.1 % to 1 % of the step, less for more than 2,000 nodes, and ends at a thirtieth of it; chains become
// longer. Without `fuses`, the fusions of the start stay. The start passes check_ordered_plan.
OrderedResult improve_ordered(const OrderedProblem& problem, const OrderedPlan& start, bool fuses, std::uint64_t seed,
                              SearchBudget& budget);
// The same from two plans: the start, and the best plan of `intervals`, which share proposals as in `local`.
OrderedResult improve_beside_intervals(const OrderedProblem& problem, const OrderedPlan& start, bool fuses, std::uint64_t seed,
                                       SearchBudget& budget);

}  // namespace xflow::parallel
