// Types a graph with numbers in place of its symbols, like the operators of a model with these sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::verifier {

// The shapes of the outputs; nullopt if an attribute or a size has no value, or an operator has no type.
std::optional<std::vector<std::vector<std::int64_t>>> typed_shapes(
    const ir::Arena& arena, const ir::Graph& graph, const std::function<std::optional<std::int64_t>(const ir::Poly&)>& value);

}  // namespace xflow::verifier
