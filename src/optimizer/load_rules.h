// The rules that a search applies, all of them proved.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <functional>
#include <limits>
#include <set>

#include "src/rules/rule_set.h"

namespace xflow::api {

// The rules of the options, all of them proved: the shipped ones by their hashes, others by a record beside their file that is replayed, or
// decided now. Errors: unreadable or io (a rule file), syntax, not_proved (names the rule and says what was found instead),
// invalid_argument (no rule to skip of that name), limit (a rule that was not decided in `seconds`).
// `known`: hashes of the user's own rules that were proved before; those that are proved now are added. Null: none.
Result<rules::VerifiedRules> load_rules(const OptimizeOptions& options, double seconds = std::numeric_limits<double>::infinity(),
                                        std::function<bool()> stop = {}, std::set<rules::RuleHash>* known = nullptr);

}  // namespace xflow::api
