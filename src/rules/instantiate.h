// Instantiates a rule at every choice of what it leaves open. The rule is the conjunction of its instances.
//
// A rule can leave open:
// - the lengths of sequences of dimensions and the ranks of variables without a declared type: 0 to kMaxRank
//   dimensions per variable; matching tests this bound again;
// - the number of operands of a list: 1 to kMaxListOperands;
// - optional dimensions: the dimension or 1;
// - axes, sets of axes, permutations and flags: all of them;
// - how two dimensions of the source broadcast: equal, or one of them is 1.
//
// Other attribute variables and all dimensions stay symbolic. A choice has no instance if its source is not
// well typed or a guard is false: no graph matches it.
//
// A rule that has only pointwise operators (Rule::pointwise) has one instance, on scalars. Each element of a
// composition of pointwise operators is the same function of one element of each variable, whatever the
// shapes. Matching tests that the target has the type of the source.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <vector>

#include "src/rules/instance.h"
#include "src/rules/rule.h"

namespace xflow::rules {

inline constexpr std::size_t kMaxRank = 8;
inline constexpr std::size_t kMaxListOperands = 4;
inline constexpr std::size_t kMaxChoices = 20000;

// Calls `use` with each instance of a rule, one at a time, so that they need not all be kept. `use` returns
// false to stop. `ends` is called before every choice, including choices that do not type; true stops with
// Error::limit.
// Errors: ill_typed if no choice types the source, or if the target does not type for some choice (the
// message names the clash); limit for more than kMaxChoices choices (bound ranks by guards such as rank(x)
// <= 4), or if `ends` returned true.
Result<void> for_each_instance(const Rule& rule, const std::function<bool(RuleInstance)>& use, const std::function<bool()>& ends = {});

// Returns all instances. Errors are those of for_each_instance, and limit for more than `most` instances.
Result<std::vector<RuleInstance>> instantiate(const Rule& rule, std::size_t most = kMaxChoices, const std::function<bool()>& ends = {});

}  // namespace xflow::rules
