// What the typing of a rule's source assumes.
#pragma once

#include <string>
#include <vector>

#include "src/rules/instance.h"
#include "src/rules/rule.h"

namespace xflow::verifier {

// What the typing of an instance's source says besides the guards, as guards of the language, those of all elements of lists joined:
// "dim(a, 0) = dim(x, 1)", "d >= 1". A choice of how dimensions broadcast is one of them.
std::vector<std::string> assumed_guards(const rules::Rule& rule, const rules::RuleInstance& instance);

}  // namespace xflow::verifier
