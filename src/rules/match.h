// Where a rule's source occurs in a graph.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <memory>
#include <vector>

#include "src/ir/graph.h"
#include "src/rules/build.h"
#include "src/rules/pattern.h"

namespace xflow::rules {

struct MatchOptions {
  bool fast_math = false;   // also rules of float class `special` where operands are not known to be finite
  bool exact_only = false;  // only rules of float class `exact`
  // Gets the nodes that were looked at, some of them more than once: while these and their users stay as they are, so do the occurrences.
  std::vector<ir::NodeId>* reads = nullptr;
};

// One occurrence. Inner values of the source may be used elsewhere as well: they stay, and the cost decides.
struct Match {
  const Pattern* pattern = nullptr;
  Environment environment;           // what every name of the source stands for
  std::vector<ir::ValueId> outputs;  // what the rule's outputs replace, in the order of the rule
  std::vector<ir::NodeId> nodes;     // the operations that were matched, each once
};

// Calls `found` for every occurrence of the pattern whose first root is `root`, until it returns false. What cannot be decided (a guard
// on symbolic dimensions) is no occurrence. Expressions of constants are not matched: they cost nothing. `uses` is that of the graph.
void match(const Pattern& pattern, ir::Arena& arena, const ir::GraphView& uses, ir::NodeId root, const MatchOptions& options,
           const std::function<bool(Match&)>& found);

}  // namespace xflow::rules
