// Proofs in readable index notation.
#pragma once

#include <string>

#include "src/verifier/proof.h"

namespace xflow::verifier {

// The numbered terms of source - target, and how they cancel:
//   0: sum(k'3: [k'3 >= 0, K - k'3 - 1 >= 0] x[o'1, k'3] * v[k'3, o'2])
//   1: -1 * sum(k'7: ...)
//   0 and 1 cancel, with k'3 = z'9 in 0, k'7 = z'9 in 1
std::string explain(const Names& names, const Proof::OutputProof& proof);

}  // namespace xflow::verifier
