// The types of a graph for numbers in place of its symbols, as the operators of a model with these sizes type them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::verifier {

// The shapes of the outputs; nothing where an attribute or a size has no value, or an operator no type.
std::optional<std::vector<std::vector<std::int64_t>>> typed_shapes(
    const ir::Arena& arena, const ir::Graph& graph, const std::function<std::optional<std::int64_t>(const ir::Poly&)>& value);

}  // namespace xflow::verifier
