// Determines in which direction a rule can reduce the cost.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "src/generator/enumerate/candidates.h"
#include "src/rules/rule.h"

namespace xflow::generator {

// Whether some sizes make the target cheaper than the source, and the other way round. The cost of a graph
// is the sum over its operations of a launch, the elements read and written, and the multiplications of
// products and convolutions (1/16 of an element each). Unknown dimensions are drawn from 1 to 1,024, with
// the same 256 draws for every rule. A concat or split counts as an operation.
struct Gain {
  bool forwards = false;
  bool backwards = false;
};
Gain gain_of(const GraphSignature& signature, const RuleCandidate& candidate);

// The fewest inputs that make the target worth it if they are constants, as positions in
// GeneralShapes::inputs(); empty if there are none. Operations on constants alone are folded and cost
// nothing. Worth it: for none of the drawn sizes the target costs more, and more of its operations are
// folded, as in x + (s + t) beside (x + s) + t. Of several such sets the one with the most parameters.
std::vector<std::size_t> constants_that_pay(const GraphSignature& signature, const RuleCandidate& candidate);
// Whether an input is one that is a constant in models: a kernel, channels, a row.
bool is_parameter(const GraphSignature& signature, std::uint8_t input);
// The parameters, as positions like these, if the target costs less for all drawn sizes once they are
// constants; empty if it does not.
std::vector<std::size_t> parameters_that_pay(const GraphSignature& signature, const RuleCandidate& candidate);
// Whether the target costs less for all drawn sizes, without any constants.
bool always_pays(const GraphSignature& signature, const RuleCandidate& candidate);
// Whether the target has two operations less, and reads none of the numbers that the source reads: it is a
// function that models write with several operations.
bool loses_numbers(const GraphSignature& signature, const RuleCandidate& candidate);
// The rule with guards that ask for these inputs to be constants, as NAME-folded. Nothing if there are none.
std::optional<rules::Rule> with_constants(rules::Rule rule, std::span<const std::size_t> inputs);

}  // namespace xflow::generator
