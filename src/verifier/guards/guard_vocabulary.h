// The guards that inference tries, and their truth on concrete sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/rules/instance.h"
#include "src/rules/rule.h"
#include "src/verifier/counterexample/concrete.h"

namespace xflow::verifier {

// Integers of one concrete instance by the text of the expression that names them: "C", "strides[0]", "dim(y, 2)", "axis".
using Features = std::map<std::string, std::int64_t, std::less<>>;

// Of dimensions and attribute variables, of chosen attributes, of the dimensions of variables and outputs.
Features features_of(const rules::RuleInstance& instance, const Concrete& concrete, const Assignment& assignment);

// Nothing where a name has no value.
std::optional<std::int64_t> value(const rules::Expression& expression, const Features& features);
std::optional<bool> holds(const rules::Guard& guard, const Features& features);

// What the typing of an instance's source says besides the guards, as guards of the language, those of all elements of lists joined:
// "dim(a, 0) = dim(x, 1)", "d >= 1". A choice of how dimensions broadcast is one of them.
std::vector<std::string> assumed_guards(const rules::Rule& rule, const rules::RuleInstance& instance);

// All guards of the vocabulary for this rule, weak and simple ones first. `instance` is one of its instances.
std::vector<rules::Guard> vocabulary(const rules::Rule& rule, const rules::RuleInstance& instance, const Concrete& concrete);

// Equations of all elements of lists are joined: p[0] = q[0] and p[1] = q[1] become p = q, the first half of four begins(p) = begins(q).
std::vector<rules::Guard> joined(const std::vector<rules::Guard>& guards, const rules::Rule& rule, const rules::RuleInstance& instance);

}  // namespace xflow::verifier
