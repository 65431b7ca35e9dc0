#include "src/onnx/fused_spelling.h"

#include "src/onnx/spelling_table.h"
#include "src/ops/operator.h"

namespace xflow::onnx_io {
namespace {

using ir::ValueId;

bool is_operation(const ir::Arena& arena, ValueId v, std::string_view op) {
  const ir::Node& node = arena.node(v);
  return node.kind == ir::NodeKind::operation && ops::get(node.op).signature.name == op;
}

// A constant that adds one number to each channel (axis 1) of a tensor of `rank` dimensions, as a vector of the channels.
std::optional<ValueId> channel_vector(ir::Arena& arena, ValueId v, const ir::Poly& channels, std::size_t rank) {
  const ir::TensorType type = arena.type(v);
  if (!arena.is_constant(v) || !type.ranked || type.rank() + 1 < rank || type.rank() > rank) return std::nullopt;
  const std::size_t axis = type.rank() + 1 - rank;  // of the channels in v
  for (std::size_t k = 0; k < type.rank(); ++k) {
    if (k == axis ? !(type.shape[k] == channels) : !type.shape[k].is_one()) return std::nullopt;
  }
  if (type.rank() == 1) return v;
  // Undo the reshape that lifting made of a vector.
  const ir::Node& node = arena.node(v);
  if (is_operation(arena, v, "reshape") && arena.type(node.operands[0]).ranked && arena.type(node.operands[0]).rank() == 1)
    return node.operands[0];
  auto reshaped = ops::apply(arena, "reshape", {v}, {{"shape", std::vector<ir::Poly>{channels}}});
  if (!reshaped) return std::nullopt;
  return *reshaped;
}

// conv(x, w) + b[C, 1, ..., 1] = Conv(x, w, b); ConvTranspose likewise.
std::optional<FusedSpelling> convolution_with_bias(ir::Arena& arena, ValueId value, int opset,
                                                   const std::function<bool(ValueId)>& may_absorb) {
  if (!is_operation(arena, value, "add")) return std::nullopt;
  const std::vector<ValueId> sides = arena.node(value).operands;
  for (std::size_t k = 0; k < 2; ++k) {
    const ValueId y = sides[k];
    if (!is_operation(arena, y, "conv") && !is_operation(arena, y, "conv_transpose")) continue;
    if (!may_absorb(y) || !(arena.type(y) == arena.type(value))) continue;
    const auto bias = channel_vector(arena, sides[1 - k], arena.type(y).shape.at(1), arena.type(y).rank());
    if (!bias) continue;
    auto spelled = spell(arena, y.node, opset);
    if (!spelled || spelled->spelled.inputs.size() != 2) continue;
    FusedSpelling result{spelled->type, std::move(spelled->spelled), arena.node(y).operands, {y}};
    result.spelled.inputs.emplace_back(ops::Spelled::OperandInput{static_cast<int>(result.operands.size())});
    result.operands.push_back(*bias);
    return result;
  }
  return std::nullopt;
}

// x * hard_sigmoid(x; 1/6, 1/2) = HardSwish(x), from opset 14.
std::optional<FusedSpelling> hard_swish(ir::Arena& arena, ValueId value, int opset, const std::function<bool(ValueId)>& may_absorb) {
  if (opset < 14 || !is_operation(arena, value, "mul")) return std::nullopt;
  const std::vector<ValueId>& sides = arena.node(value).operands;
  for (std::size_t k = 0; k < 2; ++k) {
    const ValueId gate = sides[k];
    const ValueId x = sides[1 - k];
    if (!is_operation(arena, gate, "hard_sigmoid") || arena.node(gate).operands[0] != x || !may_absorb(gate)) continue;
    const ir::Attributes& attributes = arena.node(gate).attributes;
    const auto is_sixth = ir::Real(*ir::Rational::make(1, 6));
    const ir::Real& alpha = attributes.real("alpha");
    if (!(alpha == is_sixth) && !is_sixth.nearest_in_type(alpha.to_double(), 24)) continue;
    if (!(attributes.real("beta") == ir::Real(*ir::Rational::make(1, 2)))) continue;
    return FusedSpelling{"HardSwish", ops::Spelled{{ops::Spelled::OperandInput{0}}, {}}, {x}, {gate}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<FusedSpelling> fused_spelling(ir::Arena& arena, ValueId value, int opset, const std::function<bool(ValueId)>& may_absorb) {
  if (auto found = convolution_with_bias(arena, value, opset, may_absorb)) return found;
  return hard_swish(arena, value, opset, may_absorb);
}

}  // namespace xflow::onnx_io
