// Both sides of a rule compared by evaluation on raw shapes: no solver chooses the shapes, no typing of a proof is used, only the rule's
// facts (its guards, and what it takes for the source to be well typed).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/rules/instance.h"
#include "src/rules/rule.h"
#include "src/verifier/counterexample/concrete.h"

namespace xflow::verifier {

struct RawCheck {
  std::size_t shapes = 0;              // that satisfy the facts; with `complete`, all there are in the box of small sizes
  bool complete = false;               // every assignment of the box was tried
  std::size_t compared = 0;            // shapes on which all elements were defined and equal
  std::optional<std::string> failure;  // shapes on which the target has no type, or an element that differs
};

// Up to `wanted` different assignments that satisfy the facts: all of a box of small sizes if the box is small, otherwise drawn, and moved
// towards equations that fail.
RawCheck check_raw(rules::RuleInstance& instance, std::size_t wanted, std::uint64_t seed);

// The same of shapes that `guards` alone admit: text, parsed and evaluated on numbers. `failure` is also a shape that they admit although a
// fact of the proof does not hold there, or a size that the proof takes for another one.
RawCheck check_raw_by_text(const rules::Rule& rule, rules::RuleInstance& instance, const std::vector<std::string>& guards,
                           std::size_t wanted, std::uint64_t seed);

}  // namespace xflow::verifier
