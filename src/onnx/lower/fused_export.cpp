#include "src/onnx/lower/fused_export.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "src/onnx/lift/mapping_table.h"
#include "src/onnx/lower/function_match.h"
#include "src/ops/fused_functions.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::onnx_io {
namespace {

using ir::ValueId;

bool is_operation(const ir::Arena& arena, ValueId v, ops::Op op) {
  const ir::Node& node = arena.node(v);
  return node.kind == ir::NodeKind::operation && ops::get(node.op).op == op;
}

// Returns a constant that adds one number to each channel (axis 1) of a tensor of `rank` dimensions, as a
// vector of the channels.
std::optional<ValueId> channel_vector(ir::Arena& arena, ValueId v, const ir::Poly& channels, std::size_t rank) {
  const ir::TensorType type = arena.type(v);
  if (!arena.is_constant(v) || !type.ranked || type.rank() + 1 < rank || type.rank() > rank) return std::nullopt;
  const std::size_t axis = type.rank() + 1 - rank;  // axis of the channels in v
  for (std::size_t k = 0; k < type.rank(); ++k) {
    if (k == axis ? !(type.shape[k] == channels) : !type.shape[k].is_one()) return std::nullopt;
  }
  if (type.rank() == 1) return v;
  // Undo the reshape of the vector that lifting made.
  const ir::Node& node = arena.node(v);
  if (is_operation(arena, v, ops::Op::Reshape) && arena.type(node.operands[0]).ranked && arena.type(node.operands[0]).rank() == 1)
    return node.operands[0];
  auto reshaped = ops::apply(arena, "reshape", {v}, {{"shape", std::vector<ir::Poly>{channels}}});
  if (!reshaped) return std::nullopt;
  return *reshaped;
}

// conv(x, w) + b[C, 1, ..., 1] = Conv(x, w, b); ConvTranspose likewise.
std::optional<FusedExport> convolution_with_bias(ir::Arena& arena, ValueId value, int opset, const MayAbsorb& may_absorb) {
  if (!is_operation(arena, value, ops::Op::Add)) return std::nullopt;
  const std::vector<ValueId> sides = arena.node(value).operands;
  for (std::size_t k = 0; k < 2; ++k) {
    const ValueId y = sides[k];
    if (!is_operation(arena, y, ops::Op::Conv) && !is_operation(arena, y, ops::Op::ConvTranspose)) continue;
    if (!may_absorb(y, 1) || !(arena.type(y) == arena.type(value))) continue;
    const auto bias = channel_vector(arena, sides[1 - k], arena.type(y).shape.at(1), arena.type(y).rank());
    if (!bias) continue;
    auto exported = export_node(arena, y.node, opset);
    if (!exported || exported->exported.inputs.size() != 2) continue;
    FusedExport result{exported->type, std::move(exported->exported), arena.node(y).operands, {y}};
    result.exported.inputs.emplace_back(ops::Exported::OperandInput{static_cast<int>(result.operands.size())});
    result.operands.push_back(*bias);
    return result;
  }
  return std::nullopt;
}

// Matches an ONNX operator of the table of functions (ops/fused_functions.def).
std::optional<FusedExport> function(ir::Arena& arena, ValueId value, int opset, const MayAbsorb& may_absorb) {
  const bool is_bfloat16 = arena.type(value).data_type == ir::DataType::bfloat16;
  for (const ops::OnnxFunction& candidate : ops::onnx_functions()) {
    const int since = is_bfloat16 ? candidate.exported_bfloat16_since : candidate.exported_since;
    if (opset < since || !candidate.domain.empty()) continue;
    auto match = match_function(arena, value, candidate, may_absorb);
    if (!match) continue;
    ops::Exported exported;
    for (int k = 0; k < static_cast<int>(match->operands.size()); ++k) exported.inputs.emplace_back(ops::Exported::OperandInput{k});
    if (candidate.condition)
      exported.attributes.emplace_back(std::string(candidate.condition->name), std::string(candidate.condition->value));
    return FusedExport{candidate.type, std::move(exported), std::move(match->operands), std::move(match->absorbed)};
  }
  return std::nullopt;
}

// (x - mean) / sqrt(mean of (x - mean)^2 + epsilon), means over `axes`, in the form that lifting produces.
struct NormalizedValue {
  ValueId x;
  std::vector<std::int64_t> axes;
  float epsilon = 0;
  std::vector<ValueId> absorbed;  // all inner values; the quotient is not among them
};

class NormalizedMatch {
 public:
  NormalizedMatch(const ir::Arena& arena, const MayAbsorb& may_absorb) : arena_(arena), may_absorb_(may_absorb) {}

  std::optional<NormalizedValue> find(ValueId value) {
    if (!is_operation(arena_, value, ops::Op::Div)) return std::nullopt;
    const std::vector<ValueId>& quotient = arena_.node(value).operands;
    const ValueId centered = quotient[0];
    const auto difference = inner(centered, ops::Op::Sub, 3);
    const auto root = inner(quotient[1], ops::Op::Sqrt, 1);
    const auto sum = root ? inner(root->at(0), ops::Op::Add, 1) : std::nullopt;
    if (!difference || !sum || mean_of(difference->at(1)) != difference->at(0)) return std::nullopt;
    found_.x = difference->at(0);
    const std::size_t number = arena_.is_constant(sum->at(0)) ? 0 : 1;
    const auto square = mean_of(sum->at(1 - number));
    const auto factors = square ? inner(*square, ops::Op::Mul, 1) : std::nullopt;
    if (!factors || factors->at(0) != centered || factors->at(1) != centered) return std::nullopt;
    const ir::Node& constant = arena_.node(sum->at(number));
    if (constant.kind != ir::NodeKind::constant) return std::nullopt;
    const auto epsilon = ir::doubles(constant.constant);
    if (!epsilon || epsilon->size() != 1) return std::nullopt;
    found_.epsilon = static_cast<float>(epsilon->front());
    if (static_cast<double>(found_.epsilon) != epsilon->front()) return std::nullopt;
    return std::move(found_);
  }

 private:
  std::optional<std::vector<ValueId>> inner(ValueId v, ops::Op op, std::size_t uses) {
    if (!is_operation(arena_, v, op) || !may_absorb_(v, uses)) return std::nullopt;
    found_.absorbed.push_back(v);
    return arena_.node(v).operands;
  }

  // Returns the operand of a mean. All means must have the same axes.
  std::optional<ValueId> mean_of(ValueId v) {
    const auto operands = inner(v, ops::Op::ReduceMean, 1);
    if (!operands) return std::nullopt;
    const ir::Attributes& attributes = arena_.node(v).attributes;
    const auto axes = attributes.known_integers("axes");
    if (!axes || attributes.known_integer("keep_dims") != 1 || (!found_.axes.empty() && *axes != found_.axes)) return std::nullopt;
    found_.axes = *axes;
    return operands->at(0);
  }

  const ir::Arena& arena_;
  const MayAbsorb& may_absorb_;
  NormalizedValue found_;
};

// Returns a constant as one of exactly this shape, without leading dimensions of 1.
std::optional<ValueId> of_shape(ir::Arena& arena, ValueId v, const ir::Shape& shape) {
  const ir::TensorType type = arena.type(v);
  if (!arena.is_constant(v) || !type.ranked || type.rank() < shape.size()) return std::nullopt;
  const auto split = type.shape.begin() + static_cast<std::ptrdiff_t>(type.rank() - shape.size());
  if (!std::all_of(type.shape.begin(), split, [](const ir::Poly& size) { return size.is_one(); })) return std::nullopt;
  if (!std::equal(split, type.shape.end(), shape.begin(), shape.end())) return std::nullopt;
  if (split == type.shape.begin()) return v;
  auto reshaped = ops::apply(arena, "reshape", {v}, {{"shape", shape}});
  if (!reshaped) return std::nullopt;
  return *reshaped;
}

// A product or sum of a constant and a part; the part alone if there is no constant.
struct WithConstant {
  std::optional<ValueId> constant;
  ValueId part;
};
WithConstant split_constant(const ir::Arena& arena, ValueId value, ops::Op op) {
  if (!is_operation(arena, value, op)) return {std::nullopt, value};
  const std::vector<ValueId>& sides = arena.node(value).operands;
  for (std::size_t k = 0; k < 2; ++k)
    if (arena.is_constant(sides[k])) return {sides[k], sides[1 - k]};
  return {std::nullopt, value};
}

// The parameters of a normalisation in the form that its ONNX node takes.
struct Parameters {
  std::vector<ValueId> operands;
  std::vector<ops::Exported::Input> inputs;
};

// Adds one parameter: fitted to the node, or filled with `otherwise` if the graph has none. Returns false if
// the parameter does not fit.
template <typename Fit>
bool add_parameter(Parameters& parameters, std::optional<ValueId> value, const Fit& fit, ir::DataType type, const ir::Shape& shape,
                   double otherwise) {
  if (value) {
    const std::optional<ValueId> fitted = fit(*value);
    if (!fitted) return false;
    parameters.operands.push_back(*fitted);
    parameters.inputs.emplace_back(ops::Exported::OperandInput{static_cast<int>(parameters.operands.size())});
    return true;
  }
  const auto elements = ir::element_count(shape).constant();
  const auto dims = ir::constant_shape(shape);
  if (!elements || !dims) return false;
  auto made = ir::make_constant(type, *dims, std::vector<double>(static_cast<std::size_t>(*elements), otherwise));
  if (!made) return false;
  parameters.inputs.emplace_back(ops::Exported::ConstantInput{*std::move(made)});
  return true;
}

FusedExport normalization_node(std::string_view type, NormalizedValue parts, Parameters parameters) {
  FusedExport result{type, {}, {parts.x}, std::move(parts.absorbed)};
  result.operands.insert(result.operands.end(), parameters.operands.begin(), parameters.operands.end());
  result.exported.inputs.emplace_back(ops::Exported::OperandInput{0});
  for (ops::Exported::Input& input : parameters.inputs) result.exported.inputs.push_back(std::move(input));
  result.exported.attributes.emplace_back("epsilon", parts.epsilon);
  return result;
}

// normalized(x) * s + t = InstanceNormalization(x, s, t), from opset 6, or LayerNormalization(x, s, t), from
// opset 17. A missing s is all ones, a missing t all zeros.
std::optional<FusedExport> normalization(ir::Arena& arena, ValueId value, int opset, const MayAbsorb& may_absorb) {
  const ir::TensorType type = arena.type(value);
  if (!type.ranked) return std::nullopt;
  const WithConstant sum = split_constant(arena, value, ops::Op::Add);
  const WithConstant product = split_constant(arena, sum.part, ops::Op::Mul);
  if ((sum.constant && !may_absorb(sum.part, 1)) || (product.constant && !may_absorb(product.part, 1))) return std::nullopt;
  auto parts = NormalizedMatch(arena, may_absorb).find(product.part);
  if (!parts || parts->axes.empty() || !(arena.type(parts->x) == type)) return std::nullopt;
  const auto first = static_cast<std::size_t>(parts->axes.front());
  for (std::size_t k = 0; k < parts->axes.size(); ++k)
    if (static_cast<std::size_t>(parts->axes[k]) != first + k) return std::nullopt;
  if (first + parts->axes.size() != type.rank()) return std::nullopt;
  if (sum.constant) parts->absorbed.push_back(sum.part);
  if (product.constant) parts->absorbed.push_back(product.part);

  // bfloat16 needs opset 22.
  if (first == 2 && opset >= (type.data_type == ir::DataType::bfloat16 ? 22 : 6)) {
    Parameters parameters;
    const auto fit = [&](ValueId v) { return channel_vector(arena, v, type.shape[1], type.rank()); };
    const ir::Shape channels{type.shape[1]};
    if (add_parameter(parameters, product.constant, fit, type.data_type, channels, 1) &&
        add_parameter(parameters, sum.constant, fit, type.data_type, channels, 0))
      return normalization_node("InstanceNormalization", *std::move(parts), std::move(parameters));
  }
  if (opset >= 17 && type.data_type == ir::DataType::float32) {
    Parameters parameters;
    const ir::Shape row(type.shape.begin() + static_cast<std::ptrdiff_t>(first), type.shape.end());
    const auto fit = [&](ValueId v) { return of_shape(arena, v, row); };
    if (!add_parameter(parameters, product.constant, fit, type.data_type, row, 1)) return std::nullopt;
    if (sum.constant && !add_parameter(parameters, sum.constant, fit, type.data_type, row, 0)) return std::nullopt;
    FusedExport result = normalization_node("LayerNormalization", *std::move(parts), std::move(parameters));
    result.exported.attributes.emplace_back("axis", static_cast<std::int64_t>(first) - static_cast<std::int64_t>(type.rank()));
    return result;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FusedExport> gemm_export(const ir::Arena& arena, ValueId value, int opset, const MayAbsorb& may_absorb) {
  if (opset < 7 || !is_operation(arena, value, ops::Op::Add)) return std::nullopt;
  const ir::TensorType& type = arena.type(value);
  const bool has_type = type.data_type == ir::DataType::float32 || type.data_type == ir::DataType::float64;
  if (!has_type || !type.ranked || type.rank() != 2) return std::nullopt;
  const std::vector<ValueId>& sides = arena.node(value).operands;
  for (std::size_t k = 0; k < 2; ++k) {
    const ValueId product = sides[k];
    const ir::TensorType& addend = arena.type(sides[1 - k]);
    if (!is_operation(arena, product, ops::Op::Matmul) || !may_absorb(product, 1) || !(arena.type(product) == type)) continue;
    const std::vector<ValueId>& factors = arena.node(product).operands;
    if (std::ranges::any_of(factors, [&](ValueId v) { return arena.type(v).rank() != 2; }) || addend.rank() > 2) continue;
    bool fits = true;
    for (std::size_t d = 0; d < addend.rank(); ++d) {
      const ir::Poly& size = addend.shape[addend.rank() - 1 - d];
      fits = fits && (size.is_one() || size == type.shape[1 - d]);
    }
    if (!fits) continue;
    ops::Exported exported;
    for (int operand = 0; operand < 3; ++operand) exported.inputs.emplace_back(ops::Exported::OperandInput{operand});
    return FusedExport{"Gemm", std::move(exported), {factors[0], factors[1], sides[1 - k]}, {product}};
  }
  return std::nullopt;
}

std::optional<FusedExport> fused_export(ir::Arena& arena, ValueId value, int opset, const MayAbsorb& may_absorb) {
  if (auto found = convolution_with_bias(arena, value, opset, may_absorb)) return found;
  if (auto found = normalization(arena, value, opset, may_absorb)) return found;
  return function(arena, value, opset, may_absorb);
}

}  // namespace xflow::onnx_io
