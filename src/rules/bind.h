// The second half of matching: declared types, attributes that are expressions, and guards.
#pragma once

#include "src/rules/match.h"

namespace xflow::rules {

// The operation that a pattern node matched.
struct MatchedNode {
  ir::NodeId id{};
  bool swapped = false;  // its two operands were matched in the other order
};

// Completes `environment`, in which the values of the source and its attribute variables stand, by the dimensions of declared types. False
// where a type does not fit or a guard does not hold for certain. `nodes` are the operations that pattern nodes matched.
bool bind_types(const Pattern& pattern, ir::Arena& arena, const ir::GraphView& uses, const std::vector<MatchedNode>& nodes,
                const MatchOptions& options, Environment& environment);

}  // namespace xflow::rules
