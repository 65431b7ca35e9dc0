// Integer features of a concrete instance of a rule, and the evaluation of guards on them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "src/rules/instance.h"
#include "src/rules/rule.h"
#include "src/verifier/counterexample/concrete.h"

namespace xflow::verifier {

// Keyed by the text of the expression that names the integer: "C", "strides[0]", "dim(y, 2)", "axis".
using Features = std::map<std::string, std::int64_t, std::less<>>;

// The features: dimensions and attribute variables, chosen attributes, and the dimensions of variables and
// outputs.
Features features_of(const rules::RuleInstance& instance, const Concrete& concrete, const Assignment& assignment);

// Both return nullopt if a name has no value.
std::optional<std::int64_t> value(const rules::Expression& expression, const Features& features);
std::optional<bool> holds(const rules::Guard& guard, const Features& features);

}  // namespace xflow::verifier
