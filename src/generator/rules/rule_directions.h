// The ways to use a rule as an equation, each as a rule.
#pragma once

#include <vector>

#include "src/rules/rule.h"

namespace xflow::generator {

// The rule from source to target and back, for all its outputs at once and, of several, for each by itself, the others being inner values.
// Guards that say where the rule pays are left out, as are those on values: what is derived holds under those of the rules that derive it.
// `as_written`: from source to target alone, all outputs at once.
std::vector<rules::Rule> directions_of(const rules::Rule& rule, bool as_written);

// Whether a guard is one on the elements of a tensor, as nonzero(x).
bool is_about_values(const rules::Guard& guard);

}  // namespace xflow::generator
