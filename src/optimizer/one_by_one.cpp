#include "src/optimizer/one_by_one.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/ops/operator.h"

namespace xflow::api {

std::vector<std::string> one_by_one_warnings(const ir::Arena& arena, const ir::Graph& graph, const Sizes& sizes,
                                             const std::function<std::string(ir::ValueId)>& name_of) {
  std::vector<std::string> warnings;
  if (sizes.assumed.empty() && sizes.assumed_inner.empty()) return warnings;
  const ir::OperatorId product = ops::id_of("matmul");
  const ir::Symbols::Valuation valuation = sizes.valuation();
  const auto is_one = [&](const ir::Poly& dim) { return arena.symbols().evaluate(dim, valuation) == 1; };
  std::set<ir::ValueId> seen;
  for (const ir::NodeId id : ir::topological_order(arena, graph)) {
    const ir::Node& node = arena.node(id);
    if (node.kind != ir::NodeKind::operation || node.op != product) continue;
    for (const ir::ValueId operand : node.operands) {
      const ir::Shape& shape = arena.type(operand).shape;
      if (shape.size() < 2 || !seen.insert(operand).second) continue;
      const auto last = shape.end() - 2;
      const bool is_open = !last[0].is_constant() || !last[1].is_constant();
      if (!is_open || !is_one(last[0]) || !is_one(last[1])) continue;
      warnings.push_back(fmt::format(
          "the assumed sizes make {} a matrix of 1 x 1, so its cost is not typical; give sizes with option 'shapes'", name_of(operand)));
    }
  }
  return warnings;
}

}  // namespace xflow::api
