// A rule at every choice of what it leaves open: the claims that together are the rule.
//
// Open are: the lengths of sequences of dimensions and the ranks of variables without a declared type (0 to kMaxRank dimensions in all, the
// bound of a variable's rank that matching tests again), the number of operands of a list (1 to kMaxListOperands), optional dimensions (the
// dimension or 1), axes, sets of axes, permutations and flags (all of them), and how two dimensions of the source broadcast (equal, or one
// of them 1). Other attribute variables and all dimensions stay symbolic. A choice for which no source is well typed, or for which a guard
// is false, has no instance: no graph matches it.
//
// A rule of pointwise operators alone (Rule::pointwise) has one instance, on scalars: each element of a composition of pointwise operators
// is the same function of one element of each variable, whatever the shapes; matching tests that the target has the type of the source.
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

// The instances of a rule one after the other, so that they need not all be kept; `use` returns false where the rest does not matter.
// `ends` is asked before every choice, also where none of them types; true stops.
// Error::ill_typed: no choice types the source, or the target does not type for one; the message says what clashed. Error::limit: more than
// kMaxChoices choices (bound ranks by guards such as rank(x) <= 4), or stopped by `ends`.
Result<void> for_each_instance(const Rule& rule, const std::function<bool(RuleInstance)>& use, const std::function<bool()>& ends = {});

// All of them. Errors: the same; limit also for more than `most` instances.
Result<std::vector<RuleInstance>> instantiate(const Rule& rule, std::size_t most = kMaxChoices, const std::function<bool()>& ends = {});

}  // namespace xflow::rules
