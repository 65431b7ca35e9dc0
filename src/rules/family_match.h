// Finds the occurrences of the members of a family without a last number.
#pragma once

#include <functional>

#include "src/rules/match.h"
#include "src/rules/open_family.h"

namespace xflow::rules {

// Calls `found` for occurrences at the operation `root` of members that are no rules of the file.
//
// A family whose source counts its parts (by the outputs of a split) has the member of that number, as
// match() finds it. A family of siblings has one occurrence for each of up to three sets whose first
// sibling is `root`: those whose operands the same operators make, all siblings, and those whose results
// the same operators read. Siblings agree in what the parts of the source share; if they share no operand,
// they are at most kMostLevels operations from a common operand. At most kMostParts siblings are taken,
// none of which depends on another.
void match_family(const OpenFamily& family, ir::Arena& arena, const ir::GraphView& uses, ir::NodeId root, const MatchOptions& options,
                  const std::function<bool(Match&)>& found);

}  // namespace xflow::rules
