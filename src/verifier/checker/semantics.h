// What the meaning of a rule depends on besides its text, as a hash: a record of a proof is stale when it changes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/ops/expr.h"
#include "src/rules/instance.h"

namespace xflow::verifier {

// The index notation of output `output` of a node, at an index that it makes; as ops::semantics_of.
using SemanticsOf = std::function<ops::Expr(ir::Arena& arena, ir::NodeId node, int output, std::vector<ir::Poly>& index)>;

// A hash over the index notation of every operator of every instance of a rule, and over the versions of the checker and of the
// normaliser. Does not depend on names that a run makes up, nor on how often an operator occurs.
std::uint64_t semantics_hash(std::span<rules::RuleInstance> instances);
std::uint64_t semantics_hash(std::span<rules::RuleInstance> instances, const SemanticsOf& semantics_of);

}  // namespace xflow::verifier
