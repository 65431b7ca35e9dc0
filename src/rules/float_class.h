// The float class of a rule.
#pragma once

#include <string>
#include <vector>

#include "src/rules/rule.h"

namespace xflow::rules {

// A float class and its reasons.
struct NumberClass {
  FloatClass float_class = FloatClass::special;
  std::vector<std::string> effects;  // as Rule::number_effects
};

// Computes the float class of a rule. Names must be resolved, and the rule is assumed to hold for real
// numbers.
//
// Exact: either no operator rounds, and source and target elements that are equal for ordinary numbers
// also agree bit for bit on infinities, NaN and -0, where functions that are not computed, such as cast,
// may give any number; or both sides apply the same functions to the same elements.
//
// Rounding: none of the following is found:
// - the target drops a variable;
// - one side has a comparison, a rounding to integers or a conversion that the other side does not apply to
//   the same operands;
// - one side has a division, logarithm, root, power or exponential that can leave its domain, and the other
//   side does not have it;
// - the bound of the target's rounding error is not within that of the source;
// - source and target elements that are equal for ordinary numbers differ for infinities, NaN or zeros.
//
// Elements of one variable that are read through different operators count as different elements.
//
// Special: every other rule.
NumberClass classify(const Rule& rule);

}  // namespace xflow::rules
