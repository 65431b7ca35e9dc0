// Proves that two models compute the same, or refutes it.
#pragma once

#include <xflow/error.h>
#include <xflow/verify_models.h>

#include <string>

#include "src/optimizer/session.h"

namespace xflow::equivalence {

// Implements verify_files of <xflow/verify_models.h>.
//
// 1. Both models are lifted into one arena. B reads A's inputs.
// 2. The clean-up rules, which are proved, are applied to both. Constant expressions are computed in double.
// 3. A sweep through B replaces each operation that A has too: the same operator, attributes and operands.
//    Nodes with bodies are the same if their bodies are proved to be equal (same_bodies.h).
//    Other values of B are looked up among those of A by a run, and the pairs proved (part.h).
// 4. An output that is now A's output is proved. If one is not, and the run shows that it differs by more
//    than rounding explains, the models are refuted.
Result<ModelProof> prove_models(const std::string& a, const std::string& b, const VerifyModelsOptions& options, api::Session& session);

}  // namespace xflow::equivalence
