// Texts about rules for people.
#pragma once

#include <string>

#include "src/rules/rule.h"

namespace xflow::api {

// The equation in the comment above a rule, or the first line of a comment without an equation. A rule
// without a comment gets an equation of its terms.
std::string equation_of(const rules::Rule& rule);

// The text of a rule, its float class and hash, and the types and facts that its proof assumes for a typical
// instance of the rule's open choices.
std::string describe_rule(const rules::Rule& rule);

}  // namespace xflow::api
