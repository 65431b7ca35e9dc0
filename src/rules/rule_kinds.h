// Properties of a whole rule: its kind, its float class, its hash.
#pragma once

#include "src/rules/rule.h"

namespace xflow::rules {

// Sets pointwise, moves_data, float_class, number_effects and hash of a rule that passed the other checks.
// The float class is that of `classified`, unless it is null.
void find_kinds(Rule& rule, const Rule* classified = nullptr);

}  // namespace xflow::rules
