// Properties of a whole rule: its kind, its float class, its hash.
#pragma once

#include "src/rules/rule.h"

namespace xflow::rules {

// Sets pointwise, moves_data and hash of a rule that passed the other checks.
void find_kinds(Rule& rule);
// Sets float_class and number_effects of a rule that has its hash: those of `classified`, which is in the
// order of the hashes, or else as classify() does.
Result<void> find_float_class(Rule& rule, std::span<const ClassifiedRule> classified);

}  // namespace xflow::rules
