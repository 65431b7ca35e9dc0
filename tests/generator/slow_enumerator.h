// All graphs of a signature the slow and obvious way: every set of operations, every choice of outputs, one of each under renaming; of
// these what is enumerated (enumerate.h). Of two outputs matrices alone, without constants.
#pragma once

#include <cstddef>
#include <vector>

#include "src/generator/enumerate/graph_signature.h"

namespace xflow::generator {

// By number of operators: how many graphs there are with at most `max_outputs` outputs.
std::vector<std::size_t> count_slowly(const GraphSignature& signature, std::size_t max_operators, std::size_t max_outputs);

}  // namespace xflow::generator
