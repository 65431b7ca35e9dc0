// The operators of a graph that rewrites made of another one.
#pragma once

#include <vector>

#include "src/ir/graph.h"
#include "src/parallel/split_model.h"

namespace xflow::parallel {

// `before`: the operators of the first graph. `correspondence` maps values of it that changed to equal
// values of `graph`. An operator of which each operation is still there stays one. Any other operation of
// `graph` that runs is an operator by itself. Operands come before users.
std::vector<OperatorSource> rewritten_operators(const ir::Arena& arena, const ir::Graph& graph, const ir::ValueMap& correspondence,
                                                const std::vector<OperatorSource>& before);

}  // namespace xflow::parallel
