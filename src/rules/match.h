// Finds the occurrences of a rule's source in a graph.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/ir/graph.h"
#include "src/rules/build.h"
#include "src/rules/pattern.h"

namespace xflow::rules {

// Options of matching.
struct MatchOptions {
  bool fast_math = false;   // allow rules of float class `special` on operands that are not known to be finite
  bool exact_only = false;  // match only rules of float class `exact`
  bool constants = false;   // match constant expressions alone, instead of operations that run
  // Receives the visited nodes, some of them more than once. While these nodes and their users do not
  // change, neither do the occurrences. May be null.
  std::vector<ir::NodeId>* reads = nullptr;
  // The operations to match, one for each node of the pattern; operands may still be swapped. Empty: any.
  std::span<const ir::NodeId> given = {};
  // In an e-graph a pattern has as many occurrences as there are combinations of equal values. `steps` are
  // left for all patterns, at most `most_steps` for one pattern at one operation. `is_cut` is set to true
  // where they ended it. Null: no limits.
  std::uint64_t* steps = nullptr;
  std::uint64_t most_steps = 0;
  bool* is_cut = nullptr;
};

// One occurrence of a source. Inner values of the source may have other uses: they then stay in the graph,
// and the cost decides.
struct Match {
  const Pattern* pattern = nullptr;
  Environment environment;           // the bindings of all names of the source
  std::vector<ir::ValueId> outputs;  // the values that the rule's outputs replace, in the order of the rule
  std::vector<ir::NodeId> nodes;     // the matched operations, each once
};

// Calls `found` for every occurrence of the pattern whose first root is `root`, until `found` returns false.
// An undecidable condition (a guard on symbolic dimensions) is not a match. Constant expressions are not
// matched without MatchOptions::constants, because they cost nothing. `uses` is the view of the same graph.
void match(const Pattern& pattern, ir::Arena& arena, const ir::GraphView& uses, ir::NodeId root, const MatchOptions& options,
           const std::function<bool(Match&)>& found);

}  // namespace xflow::rules
