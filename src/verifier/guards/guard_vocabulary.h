// The guards that inference tries.
#pragma once

#include <vector>

#include "src/rules/instance.h"
#include "src/rules/rule.h"
#include "src/verifier/counterexample/concrete.h"

namespace xflow::verifier {

// All guards of the vocabulary for this rule, weak and simple ones first. `instance` is one of its instances.
std::vector<rules::Guard> vocabulary(const rules::Rule& rule, const rules::RuleInstance& instance, const Concrete& concrete);

// Equations of all elements of lists are joined: p[0] = q[0] and p[1] = q[1] become p = q, the first half of four begins(p) = begins(q).
std::vector<rules::Guard> joined(const std::vector<rules::Guard>& guards, const rules::Rule& rule, const rules::RuleInstance& instance);

}  // namespace xflow::verifier
