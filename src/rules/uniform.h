// Which families of rules hold for every number because they hold for three.
#pragma once

#include <xflow/error.h>

#include <string>
#include <vector>

#include "src/rules/rule.h"

namespace xflow::rules {

// Checks that a family is uniform, by its member of three parts. `indexed` are the names that occur with {i}
// or {1..n} in its text: the member has x1, x2 and x3 for x.
//
// Let n > 3, and let 1..n be three consecutive blocks, each not empty. A family is uniform if the member
// of n parts is the member of three parts in which each indexed value is the concatenation of a block of
// values, and each indexed size the sum of a block of sizes. What the member of n says about a part then
// is what the proved member of three says about the block of that part alone. The conditions:
//
// - An indexed variable has a declared type with one indexed size, alone in a dimension: its list axis. No
//   other type has indexed sizes.
// - Of the source, a statement is one of
//     - shared: no indexed names, except all parts of a value as operands of a concatenation along their
//       list axis;
//     - the parts of a shared value by split, whose sizes are indexed, in order and all;
//     - an indexed value, for each part alike, by operators of which a block of parts gives the block of
//       results: pointwise ones, a matmul or conv (of one group) of a shared value with indexed columns,
//       rows or output channels.
// - Of the target: the same, but an indexed value may have any operators, unless it is concatenated.
// - Guards mention indexed names in const() and varies() only.
//
// Error::ill_typed with the place and the condition that does not hold.
Result<void> check_uniform(const Rule& three, const std::vector<std::string>& indexed);

}  // namespace xflow::rules
