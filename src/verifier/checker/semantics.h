// A hash of everything besides its text that the meaning of a rule depends on. A proof record is stale when
// it changes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/ops/expr.h"
#include "src/rules/instance.h"

namespace xflow::verifier {

// The index notation of output `output` of a node, and the index that it uses, which it creates; like
// ops::semantics_of.
using SemanticsOf = std::function<ops::Expr(ir::Arena& arena, ir::NodeId node, int output, std::vector<ir::Poly>& index)>;

// A hash over the index notation of every operator of every instance of a rule, and over the versions of the
// checker and the normaliser. Does not depend on generated names, nor on how often an operator occurs.
std::uint64_t semantics_hash(std::span<rules::RuleInstance> instances);
std::uint64_t semantics_hash(std::span<rules::RuleInstance> instances, const SemanticsOf& semantics_of);

}  // namespace xflow::verifier
