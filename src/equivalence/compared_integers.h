// Integers that a model compares its inputs with.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::equivalence {

// For each integer input that an operation `equal` of the graph compares with a constant, the elements of
// the constants of at most 16 elements, ascending. A model may choose a branch by them (the sampling rate of
// an audio model), and a drawn integer is hardly one of them.
std::map<ir::ValueId, std::vector<std::int64_t>> compared_integers(const ir::Arena& arena, const ir::Graph& graph);

}  // namespace xflow::equivalence
