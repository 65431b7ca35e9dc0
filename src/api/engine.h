// The optimiser behind every public entry: from a graph in the IR to a cheaper one.
#pragma once

#include <xflow/optimize.h>
#include <xflow/result.h>

#include <functional>
#include <vector>

#include "src/api/graph_moves.h"
#include "src/api/sizes.h"
#include "src/rules/rule_set.h"
#include "src/search/search.h"

namespace xflow::api {

// The rules of the options, all of them proved: the shipped ones by their hashes, others by a record beside their file that is replayed, or
// decided now. Errors: unreadable or io (a rule file), syntax, not_proved (names the rule and says what was found instead),
// invalid_argument (no rule to skip of that name).
Result<rules::VerifiedRules> load_rules(const OptimizeOptions& options);

struct Problem {
  ir::Arena& arena;
  ir::Graph graph;
  std::vector<NamedInput> inputs;
  std::function<Result<void>(const ir::Arena&, ir::NodeId)> can_spell;  // null: everything can be written
  std::vector<GraphMove>* moves = nullptr;                              // that were made already; their gains are filled in
};

// Measures and searches; fills in what the report says of it. Errors: as optimize of <xflow/optimize.h>.
Result<search::Outcome> improve(const Problem& problem, const OptimizeOptions& options, const ProgressCallback& progress,
                                OptimizeReport& report);

}  // namespace xflow::api
