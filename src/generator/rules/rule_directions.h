// The directions of a rule as an equation, each as a rule of its own.
#pragma once

#include <vector>

#include "src/rules/rule.h"

namespace xflow::generator {

// Returns the rule from source to target and back, for all its outputs at once. A rule of several outputs
// also gives a rule for each single output; its other outputs are inner values there. Guards that say where
// the rule pays are left out, and so are guards on values: a derivation holds under the guards of the rules
// that it uses. `as_written`: only from source to target, with all outputs at once.
std::vector<rules::Rule> directions_of(const rules::Rule& rule, bool as_written);

// Whether a guard is about the elements of a tensor, such as nonzero(x).
bool is_about_values(const rules::Guard& guard);

}  // namespace xflow::generator
