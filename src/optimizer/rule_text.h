// Rules for people.
#pragma once

#include <string>

#include "src/rules/rule.h"

namespace xflow::api {

// The equation that the comment above a rule gives, or what else its comment begins with; of a rule without one its terms.
std::string equation_of(const rules::Rule& rule);

// The text of a rule, types and facts that its proof assumes for a typical one of the choices that it leaves open, its float class and
// hash.
std::string describe_rule(const rules::Rule& rule);

}  // namespace xflow::api
