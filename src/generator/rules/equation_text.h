// Prints a candidate as an equation for the comments of rules.
#pragma once

#include <span>
#include <string>

#include "src/generator/enumerate/candidates.h"
#include "src/generator/enumerate/graph_signature.h"

namespace xflow::generator {

// Example: "relu(concat(x, z)) = concat(relu(x), relu(z))". `leaves`: names of the leaves.
std::string equation_text(const GraphSignature& signature, const RuleCandidate& candidate, std::span<const std::string> leaves);

}  // namespace xflow::generator
