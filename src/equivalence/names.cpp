#include "src/equivalence/names.h"

#include <utility>

namespace xflow::equivalence {

Names::Names(const ir::Arena& arena, const ir::Graph& graph, NameMap names) : names_(std::move(names)) {
  const auto order = ir::topological_order(arena, graph);
  // The name of the node that follows; users come before their operands.
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const ir::Node& node = arena.node(*id);
    std::string_view name;
    for (std::uint32_t k = 0; k < node.outputs.size() && name.empty(); ++k)
      if (const auto known = names_.find({*id, k}); known != names_.end()) name = known->second;
    if (name.empty()) continue;
    for (const ir::ValueId operand : node.operands) names_.try_emplace(operand, name);
  }
}

std::string Names::of(ir::ValueId value) const {
  const auto known = names_.find(value);
  return known == names_.end() ? std::string() : std::string(known->second);
}

}  // namespace xflow::equivalence
