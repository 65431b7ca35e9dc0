#include "src/verifier/counterexample/typed_shapes.h"

#include <unordered_map>
#include <utility>

#include "src/ops/operator.h"

namespace xflow::verifier {

using ir::Poly;

std::optional<std::vector<std::vector<std::int64_t>>> typed_shapes(const ir::Arena& arena, const ir::Graph& graph,
                                                                   const std::function<std::optional<std::int64_t>(const Poly&)>& value) {
  const auto known = [&](const std::vector<Poly>& list) -> std::optional<std::vector<Poly>> {
    std::vector<Poly> result;
    result.reserve(list.size());
    for (const Poly& p : list) {
      const auto v = value(p);
      if (!v) return std::nullopt;
      result.emplace_back(*v);
    }
    return result;
  };
  ir::Symbols symbols;
  ops::Typing typing(symbols);
  std::unordered_map<ir::ValueId, ir::TensorType> types;
  for (const ir::NodeId id : ir::topological_order(arena, graph)) {
    const ir::Node& node = arena.node(id);
    std::vector<ir::TensorType> outputs = node.outputs;
    if (node.kind == ir::NodeKind::operation) {
      ir::Attributes attributes;
      for (const ir::Attribute& a : node.attributes.list()) {
        ir::AttributeValue v = a.value;
        const auto* const p = std::get_if<Poly>(&a.value);
        const auto* const list = std::get_if<std::vector<Poly>>(&a.value);
        const auto values = p != nullptr ? known({*p}) : list != nullptr ? known(*list) : std::vector<Poly>();
        if (!values) return std::nullopt;
        if (p != nullptr) v = values->front();
        if (list != nullptr) v = *values;
        attributes.set(a.name, std::move(v));
      }
      std::vector<ir::TensorType> operands;
      operands.reserve(node.operands.size());
      for (const ir::ValueId v : node.operands) operands.push_back(arena.is_absent(v) ? arena.type(v) : types.at(v));
      auto typed = ops::get(node.op).type(typing, {operands, attributes, {}});
      if (!typed) return std::nullopt;
      outputs = *std::move(typed);
    } else {
      for (ir::TensorType& t : outputs) {
        auto shape = known(t.shape);
        if (!shape) return std::nullopt;
        t.shape = *std::move(shape);
      }
    }
    for (std::uint32_t k = 0; k < outputs.size(); ++k) types.emplace(ir::ValueId{id, k}, std::move(outputs[k]));
  }
  std::vector<std::vector<std::int64_t>> result;
  result.reserve(graph.outputs.size());
  for (const ir::ValueId v : graph.outputs) {
    auto shape = ir::constant_shape(types.at(v).shape);
    if (!shape) return std::nullopt;
    result.push_back(*std::move(shape));
  }
  return result;
}

}  // namespace xflow::verifier
