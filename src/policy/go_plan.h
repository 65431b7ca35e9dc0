// Plans of a whole step by a trained network of GO.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "src/parallel/ordered_search.h"
#include "src/parallel/search_budget.h"
#include "src/policy/go_choices.h"
#include "src/policy/go_trainer.h"

namespace xflow::policy {

struct GoPlanOptions {
  std::uint64_t seed = 1;
  GoHeads heads;
  // Calls of the network for all nodes; 0: until the budget is spent.
  std::uint32_t passes = 0;
  double share = 1;  // of the budget's time
  // In place of the simulation of a planned step: what else a plan takes, or nothing as soon as it is known
  // to take more seconds than the limit.
  std::function<std::optional<parallel::OrderedStep>(const parallel::OrderedPlan&, double limit)> judge = {};
};

// The best plan that the policy passes from a start. A pass computes the choices of all nodes; then plans
// are simulated: the most probable choices, and choices that are drawn at temperatures of 1 and 1.5. A plan
// that is not worse is the one that the next choices change, and that the next pass sees; in three of four
// passes also one that is worse by about 0.1 %, less for more than 2,000 nodes. Fewer nodes change after a
// pass that made the step no shorter, and more after others. The start passes check_ordered_plan. A step of
// the budget is a simulation; the start is simulated in any case. It ends early when the step meets
// ordered_bound(), if no other judge is given. Errors: internal for weights of other sizes.
Result<parallel::OrderedResult> plan_by_go(const parallel::OrderedProblem& problem, const GoPolicy& policy,
                                           const parallel::OrderedPlan& start, const GoPlanOptions& options,
                                           parallel::SearchBudget& budget);

}  // namespace xflow::policy
