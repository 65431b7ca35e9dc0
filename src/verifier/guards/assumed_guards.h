// Guards that the typing of a rule's source assumes.
#pragma once

#include <string>
#include <vector>

#include "src/rules/instance.h"
#include "src/rules/rule.h"

namespace xflow::verifier {

// What the typing of an instance's source assumes besides the guards, as guards of the rule language:
// "dim(a, 0) = dim(x, 1)", "d >= 1". Guards on all elements of lists are joined. A choice of how dimensions
// broadcast is such a guard.
std::vector<std::string> assumed_guards(const rules::Rule& rule, const rules::RuleInstance& instance);

}  // namespace xflow::verifier
