// What follows from all of a rule: its kind, the class of its floating point results, its hash.
#pragma once

#include "src/rules/rule.h"

namespace xflow::rules {

// Sets pointwise, moves_data, float_class, number_effects and hash of a rule that is otherwise checked.
void find_kinds(Rule& rule);

}  // namespace xflow::rules
