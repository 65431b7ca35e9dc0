// Assumed sizes that say nothing about the cost of a product.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/validation/sizes.h"

namespace xflow::api {

// Warnings, a sentence each: operands of matrix products that have more than one element only at other sizes than those that were assumed.
// `name_of`: of a value.
std::vector<std::string> one_by_one_warnings(const ir::Arena& arena, const ir::Graph& graph, const Sizes& sizes,
                                             const std::function<std::string(ir::ValueId)>& name_of);

}  // namespace xflow::api
