// Which way a rule can pay.
#pragma once

#include <cstdint>

#include "src/generator/enumerate/candidates.h"

namespace xflow::generator {

// Whether some sizes make the target cheaper than the source, and the other way round. The cost of a graph is a sum over its operations: a
// launch, every element that is read or written, and every multiplication of products and convolutions (a sixteenth of an element each).
// Sizes are drawn from 1 to 1,024 for each unknown dimension, the same 256 times for every rule. A concat or split is an operation too.
struct Gain {
  bool forwards = false;
  bool backwards = false;
};
Gain gain_of(const GraphSignature& signature, const Candidate& candidate);

}  // namespace xflow::generator
