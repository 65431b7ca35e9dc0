// Counterexamples as text, evaluated again.
#pragma once

#include <xflow/error.h>

#include <string>
#include <string_view>

#include "src/rules/rule.h"

namespace xflow::verifier {

struct Replayed {
  bool different = false;  // the sides differ, or the target has no type
  // "output y at [0, 1]: source 7, target 10", or what the target asks for.
  std::string text;
};

// Evaluates both sides of a rule, exactly, on the sizes and entries of a text as Counterexample::to_string writes it: parts with `;`
// between them, which are "for CHOICE" (what the rule leaves open), "NAME = INTEGER, ..." (dimensions and attributes), "TENSOR = [[1,
// 1/2]]". A last part "output NAME at [INDICES]..." says which element to show; without one the first difference is shown. Dimensions that
// tensors have may be left out. Errors: syntax (the text), invalid_argument (a name that the rule does not have, a value that is missing, a
// shape that does not fit, a guard that does not hold).
Result<Replayed> replay_counterexample(const rules::Rule& rule, std::string_view text);

}  // namespace xflow::verifier
