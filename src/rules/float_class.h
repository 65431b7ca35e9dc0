// The float class of a rule.
#pragma once

#include <string>
#include <vector>

#include "src/rules/rule.h"

namespace xflow::rules {

struct NumberClass {
  FloatClass float_class = FloatClass::special;
  std::vector<std::string> effects;  // as Rule::number_effects
};

// Decides the class of a rule whose names are resolved, which is taken to be true for real numbers.
//
// Exact: no operator rounds, and no two elements of source and target that are equal for ordinary numbers differ in the bits of an
// infinity, a NaN or a -0.
//
// Rounding: nothing of this is found:
// - a variable is dropped;
// - a comparison, a rounding to integers or a conversion has no counterpart on the other side with the same operands;
// - a division, logarithm, root, power or exponential that can leave its domain has none either;
// - the bound of the target's rounding error is not within that of the source;
// - two elements that are equal for ordinary numbers differ for infinities, NaN or zeros.
NumberClass classify(const Rule& rule);

}  // namespace xflow::rules
