// The second phase of matching: declared types, computed attributes and guards.
#pragma once

#include "src/rules/match.h"

namespace xflow::rules {

// The operation that a pattern node matched.
struct MatchedNode {
  ir::NodeId id{};
  bool swapped = false;    // its two operands were matched in the other order
  bool is_stored = false;  // the model has a constant instead of it
};

// Solves the dimensions of declared types and adds them to `environment`, which holds the source's values
// and attribute variables. Returns false if a type does not fit or a guard cannot be shown to hold. `nodes`
// are the operations that the pattern nodes matched.
bool bind_types(const Pattern& pattern, ir::Arena& arena, const ir::GraphView& uses, const std::vector<MatchedNode>& nodes,
                const MatchOptions& options, Environment& environment);

}  // namespace xflow::rules
