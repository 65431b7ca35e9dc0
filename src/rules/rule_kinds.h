// Properties of a whole rule: its kind, its float class, its hash.
#pragma once

#include "src/rules/rule.h"

namespace xflow::rules {

// Sets pointwise, moves_data, float_class, number_effects and hash of a rule that passed the other checks.
void find_kinds(Rule& rule);

}  // namespace xflow::rules
