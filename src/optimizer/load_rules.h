// Loads the rules that a search applies; all of them are proved.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <functional>
#include <limits>
#include <set>

#include "src/rules/verified_rules.h"

namespace xflow::api {

// Loads the rules of the options. A shipped rule is proved if its hash is known; another rule by replaying
// the record beside its file, or by deciding it now.
// Errors: unreadable or io (a rule file), syntax, not_proved (names the rule and says what was found
// instead), invalid_argument (a rule to skip does not exist), limit (a rule was not decided in `seconds`).
// `known`: hashes of the user's own rules that were proved before; newly proved rules are added. Null: none.
Result<rules::VerifiedRules> load_rules(const OptimizeOptions& options, double seconds = std::numeric_limits<double>::infinity(),
                                        std::function<bool()> stop = {}, std::set<rules::RuleHash>* known = nullptr);

}  // namespace xflow::api
