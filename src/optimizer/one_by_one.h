// Warns of assumed sizes that make the cost of a matrix product meaningless.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/validation/sizes.h"

namespace xflow::api {

// Returns one sentence for each operand of a matrix product that is 1 x 1 only because of assumed sizes.
// `name_of` names a value.
std::vector<std::string> one_by_one_warnings(const ir::Arena& arena, const ir::Graph& graph, const Sizes& sizes,
                                             const std::function<std::string(ir::ValueId)>& name_of);

}  // namespace xflow::api
