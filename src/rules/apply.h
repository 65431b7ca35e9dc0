// Applies a matched rule.
#pragma once

#include <optional>

#include "src/ir/graph.h"
#include "src/rules/match.h"

namespace xflow::rules {

class ConstantRules;

// Builds the rule's target in the arena and returns the replacements for ir::replace: source output ->
// target output. Returns nothing if a target output does not have exactly the type of the value it replaces
// (canonical equality), or if the target is the same graph as the source. `constants` makes new constant
// expressions smaller; null: they stay as the target has them.
std::optional<ir::ValueMap> apply(ir::Arena& arena, const Match& match, const ConstantRules* constants = nullptr);

}  // namespace xflow::rules
