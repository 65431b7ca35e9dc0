// The guards that inference tries.
#pragma once

#include <vector>

#include "src/rules/instance.h"
#include "src/rules/rule.h"
#include "src/verifier/counterexample/concrete.h"

namespace xflow::verifier {

// All guards of the vocabulary for this rule, weak and simple ones first. `instance` is one of its
// instances.
std::vector<rules::Guard> vocabulary(const rules::Rule& rule, const rules::RuleInstance& instance, const Concrete& concrete);

// Joins equations that cover all elements of lists: p[0] = q[0] and p[1] = q[1] become p = q; those of the
// first half of four elements become begins(p) = begins(q).
std::vector<rules::Guard> joined(const std::vector<rules::Guard>& guards, const rules::Rule& rule, const rules::RuleInstance& instance);

}  // namespace xflow::verifier
