// Determines in which direction a rule can reduce the cost.
#pragma once

#include <cstdint>

#include "src/generator/enumerate/candidates.h"

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

}  // namespace xflow::generator
