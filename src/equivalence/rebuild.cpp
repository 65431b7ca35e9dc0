#include "src/equivalence/rebuild.h"

#include <variant>

#include "src/ops/operator.h"

namespace xflow::equivalence {

void Rebuild::equate(ir::ValueId from, ir::ValueId to) {
  map_.insert_or_assign(from, to);
  const ir::TensorType& a = arena_.type(from);
  const ir::TensorType& b = arena_.type(to);
  if (!a.ranked || !b.ranked || a.rank() != b.rank()) return;
  for (std::size_t k = 0; k < a.rank(); ++k)
    if (const auto symbol = a.shape[k].as_symbol()) set_size(*symbol, b.shape[k]);
}

void Rebuild::set_size(ir::SymbolId symbol, const ir::Poly& size) {
  if (sizes_.contains(symbol) || kept_sizes_.contains(symbol)) return;
  if (size == ir::Poly(symbol)) {
    kept_sizes_.insert(symbol);
  } else {
    sizes_.emplace(symbol, size);
  }
}

ir::ValueId Rebuild::at(ir::ValueId value) const {
  const auto found = map_.find(value);
  return found == map_.end() ? value : found->second;
}

ir::TensorType Rebuild::with_sizes(const ir::TensorType& type) {
  ir::TensorType result = type;
  for (ir::Poly& size : result.shape) size = arena_.symbols().substitute(size, sizes_);
  return result;
}

ir::Attributes Rebuild::with_sizes(const ir::Attributes& attributes) {
  ir::Attributes result;
  for (const ir::Attribute& attribute : attributes.list()) {
    ir::AttributeValue value = attribute.value;
    if (auto* integer = std::get_if<ir::Poly>(&value)) *integer = arena_.symbols().substitute(*integer, sizes_);
    if (auto* list = std::get_if<std::vector<ir::Poly>>(&value))
      for (ir::Poly& element : *list) element = arena_.symbols().substitute(element, sizes_);
    result.set(attribute.name, std::move(value));
  }
  return result;
}

Result<ir::NodeId> Rebuild::opaque(ir::NodeId id, std::vector<ir::ValueId> operands) {
  const ir::Node& node = arena_.node(id);
  std::vector<ir::TensorType> types;
  types.reserve(node.outputs.size());
  for (const ir::TensorType& type : node.outputs) types.push_back(with_sizes(type));
  if (operands == node.operands && types == node.outputs) return id;
  return arena_.opaque(node.serial, std::move(operands), std::move(types));
}

Result<ir::ValueId> Rebuild::operand(ir::ValueId value) {
  if (const auto known = map_.find(value); known != map_.end()) return known->second;
  if (!arena_.is_constant(value) || arena_.is_absent(value)) return value;
  XFLOW_TRY(const ir::ValueId constant_value, constant(value));
  map_.emplace(value, constant_value);
  return constant_value;
}

Result<void> Rebuild::visit(ir::NodeId id) {
  const ir::Node& node = arena_.node(id);
  if (node.is_constant || node.kind == ir::NodeKind::input) return {};
  std::vector<ir::ValueId> operands;
  operands.reserve(node.operands.size());
  for (const ir::ValueId value : node.operands) {
    XFLOW_TRY(const ir::ValueId mapped, operand(value));
    operands.push_back(mapped);
  }
  ir::NodeId now = id;
  if (node.kind == ir::NodeKind::opaque) {
    XFLOW_TRY(now, opaque(id, std::move(operands)));
  } else if (operands != node.operands || !sizes_.empty()) {
    ops::Typing typing(arena_.symbols());
    XFLOW_TRY(now, ops::apply(arena_, typing, node.op, std::move(operands), with_sizes(node.attributes)));
  }
  const std::size_t outputs = std::min(arena_.node(id).outputs.size(), arena_.node(now).outputs.size());
  for (std::uint32_t k = 0; k < outputs; ++k) equate({id, k}, {now, k});
  return rebuilt(id, now);
}

Result<ir::Graph> Rebuild::run(const ir::Graph& graph) {
  for (const ir::NodeId id : ir::topological_order(arena_, graph)) XFLOW_CHECK(visit(id));
  ir::Graph result;
  for (const ir::ValueId output : graph.outputs) {
    XFLOW_TRY(const ir::ValueId value, operand(output));
    result.outputs.push_back(value);
  }
  return result;
}

}  // namespace xflow::equivalence
