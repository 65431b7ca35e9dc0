// What a graph becomes where a rule matches.
#pragma once

#include <optional>

#include "src/ir/graph.h"
#include "src/rules/match.h"

namespace xflow::rules {

// Builds the rule's target in the arena and returns what stands in place of what: for ir::replace. Nothing where the target does not have
// exactly the types of what it replaces (canonical equality), or where it is the same graph.
std::optional<ir::ValueMap> apply(ir::Arena& arena, const Match& match);

}  // namespace xflow::rules
