// Candidates of two outputs, which are rules as rewrites alone: as equations they are two candidates of one
// output.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/generator/enumerate/candidates.h"

namespace xflow::generator {

// Whether both outputs of the source read some input in common (or a matcher would have to try all pairs of
// operations in a model), some operation of the target is part of both, and the target weighs less. Inputs
// need not have the same names on both sides.
bool can_gain_together(const GraphSignature& signature, const SmallGraph& source, const SmallGraph& target);

// Whether each output of the target reads no more inputs than that of the source: then two rules of one
// output do the same.
bool are_two_rewrites(const GraphSignature& signature, const RuleCandidate& candidate);

// Without what both sides do last to both an output: x = u; f(y) = f(v) follows from x = u; y = v. What is
// left keeps an input in common. `values`: a hash of each output, as Evaluator::values.
RuleCandidate without_common_ends(const GraphSignature& signature, RuleCandidate candidate,
                                  const std::function<std::vector<std::uint64_t>(const SmallGraph&)>& values);

}  // namespace xflow::generator
