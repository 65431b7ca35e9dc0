// Evaluates counterexamples that are given as text.
#pragma once

#include <xflow/error.h>

#include <string>
#include <string_view>

#include "src/rules/rule.h"

namespace xflow::verifier {

struct Replayed {
  bool different = false;  // the sides differ, or the target has no type
  // "output y at [0, 1]: source 7, target 10", or why the target has no type.
  std::string text;
};

// Evaluates both sides of a rule exactly, on the sizes and entries of a text in the format of
// Counterexample::to_string. The parts of the text are separated by `;`: "for CHOICE" (what the rule leaves
// open), "NAME = INTEGER, ..." (dimensions and attributes), "TENSOR = [[1, 1/2]]". A last part
// "output NAME at [INDICES]..." selects the element to show; without it the first difference is shown.
// Dimensions that tensors have may be omitted.
//
// Errors: syntax (the text), invalid_argument (a name that the rule does not have, a missing value, a shape
// that does not fit, a guard that does not hold).
Result<Replayed> replay_counterexample(const rules::Rule& rule, std::string_view text);

}  // namespace xflow::verifier
