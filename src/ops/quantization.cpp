#include "src/ops/quantization.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "src/ir/narrow.h"
#include "src/ops/product.h"
#include "src/ops/window.h"

namespace xflow::ops {
namespace {

std::pair<std::int64_t, std::int64_t> range_of(ir::DataType type) {
  switch (type) {
    case ir::DataType::int8:
      return {-128, 127};
    case ir::DataType::uint8:
      return {0, 255};
    case ir::DataType::int16:
      return {-32768, 32767};
    case ir::DataType::int4:
      return {-8, 7};
    case ir::DataType::uint4:
      return {0, 15};
    case ir::DataType::int2:
      return {-2, 1};
    case ir::DataType::uint2:
      return {0, 3};
    default:
      return {0, 65535};
  }
}

// Whether the scale is for the whole tensor: a scalar or a list of one element.
bool is_single(const ir::TensorType& scale) { return scale.rank() == 0 || (scale.rank() == 1 && scale.shape[0].is_one()); }

int number(std::size_t operand) { return static_cast<int>(operand); }

// q minus its zero point in int32. An absent zero point is 0.
Expr less_zero(Builder& builder, const Operation& operation, const Expr& q, std::size_t zero, const ir::Poly& index) {
  Expr wide = builder.cast(ir::DataType::int32, q);
  if (!operation.has(zero)) return wide;
  return wide - builder.cast(ir::DataType::int32, read_scale_along(builder, operation, number(zero), index));
}

std::size_t axis_of(const Operation& operation) { return static_cast<std::size_t>(operation.attributes.known_integer("axis").value_or(0)); }

// A scale in float32: products of scales are computed in float32 for every type of scale.
Expr single(Builder& builder, const Operation& operation, int operand, Expr scale) {
  const bool is_single = operation.operands[static_cast<std::size_t>(operand)].data_type == ir::DataType::float32;
  return is_single ? scale : builder.cast(ir::DataType::float32, std::move(scale));
}

}  // namespace

TypeSet stored_types(int opset) {
  constexpr int kFirstWithFloat8 = 19;
  constexpr int kFirstWithNibbles = 21;
  constexpr int kFirstWithFloat4 = 23;
  constexpr int kFirstWithPairs = 25;
  TypeSet result = opset < kFirstWithNibbles ? kBytes : kQuantized | kNibbles;
  if (opset >= kFirstWithFloat8) result |= kFloat8;
  if (opset >= kFirstWithFloat4) result |= kFloat4;
  if (opset >= kFirstWithPairs) result |= kPairs;
  return result;
}

Result<void> check_scale(Typing& typing, const Operation& operation, std::size_t operand, std::string_view name) {
  const ir::TensorType& x = operation.operands[0];
  const ir::TensorType& scale = operation.operands[operand];
  const ir::Poly& block = operation.attributes.integer("block");
  if (is_single(scale)) return {};
  const auto axis = operation.attributes.known_integer("axis");
  if (!axis || *axis < 0 || static_cast<std::size_t>(*axis) >= x.rank()) {
    return fail(ErrorCode::ill_typed, fmt::format("expected 'axis' to be an axis of {}", ir::to_string(typing.symbols(), x)));
  }
  if (block.is_zero()) return check_scale_along(typing, operation, operand, name, x.shape[static_cast<std::size_t>(*axis)]);
  if (scale.rank() != x.rank()) {
    return fail(ErrorCode::ill_typed,
                fmt::format("expected '{}' to have as many dimensions as x, found {}", name, ir::to_string(typing.symbols(), scale)));
  }
  XFLOW_CHECK(typing.require_at_least_zero(block - 1, "'block' to be at least 1"));
  for (std::size_t k = 0; k < x.rank(); ++k) {
    const ir::Poly blocks = k == static_cast<std::size_t>(*axis) ? typing.symbols().ceil_div(x.shape[k], block) : x.shape[k];
    XFLOW_CHECK(typing.require_equal(scale.shape[k], blocks, fmt::format("'{}' to have an element for each block of x", name)));
  }
  return {};
}

Expr read_scale(Builder& builder, const Operation& operation, int operand, std::span<const ir::Poly> index) {
  const ir::Shape& scale = operation.operands[static_cast<std::size_t>(operand)].shape;
  if (scale.empty()) return builder.read(operand, {});
  const std::size_t axis = axis_of(operation);
  const ir::Poly& block = operation.attributes.integer("block");
  if (block.is_zero()) return read_scale_along(builder, operation, operand, index[axis]);
  std::vector<ir::Poly> at(index.begin(), index.end());
  at[axis] = builder.symbols().floor_div(at[axis], block);
  return builder.read(operand, std::move(at));
}

Result<void> lift_scale(const OnnxNode& node, ir::Attributes& attributes) {
  constexpr int kFirstWithAxis = 13;
  XFLOW_TRY(const std::size_t rank, input_rank(node, 0));
  XFLOW_TRY(const std::size_t scale_rank, input_rank(node, 1));
  std::int64_t axis = 0;
  std::int64_t block = 0;
  if (scale_rank > 0 && !is_single(node.input_type(1))) {
    if (node.opset() < kFirstWithAxis) return fail(ErrorCode::unsupported, "a scale for each position of an axis before opset 13");
    axis = node.integer("axis", 1);
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    block = scale_rank > 1 ? node.integer("block_size", 0) : 0;
    if (scale_rank > 1 && block < 1) return fail(ErrorCode::unsupported, "a scale of several dimensions without a block size");
  }
  attributes.set("axis", ir::Poly(axis));
  attributes.set("block", ir::Poly(block));
  return {};
}

Result<void> export_scale(const Operation& operation, int opset, Exported& exported) {
  constexpr int kFirstWithAxis = 13;
  constexpr int kFirstWithBlocks = 21;
  if (is_single(operation.operands[1])) return {};
  XFLOW_TRY(const std::int64_t axis, known_integer(operation, "axis"));
  XFLOW_TRY(const std::int64_t block, known_integer(operation, "block"));
  if (opset < kFirstWithAxis || (block > 0 && opset < kFirstWithBlocks))
    return fail(ErrorCode::unsupported, "cannot export a scale that is not a scalar in this opset");
  exported.attributes.emplace_back("axis", axis);
  if (block > 0) exported.attributes.emplace_back("block_size", block);
  return {};
}

Result<void> check_scale_along(Typing& typing, const Operation& operation, std::size_t operand, std::string_view name,
                               const ir::Poly& size) {
  const ir::TensorType& scale = operation.operands[operand];
  if (scale.rank() == 0) return {};
  if (scale.rank() != 1) {
    return fail(ErrorCode::ill_typed,
                fmt::format("expected '{}' to be a scalar or a list, found {}", name, ir::to_string(typing.symbols(), scale)));
  }
  if (scale.shape[0].is_one() || scale.shape[0] == size) return {};
  const std::string what = fmt::format("'{}' to have one element, or one for each position of its axis", name);
  // In a rule both cases count: a list of one element, and one with an element for each position.
  if (!scale.shape[0].is_constant() || !size.is_constant()) XFLOW_CHECK(typing.broadcast(scale.shape[0], size));
  return typing.require_equal(scale.shape[0], size, what);
}

Expr read_scale_along(Builder& builder, const Operation& operation, int operand, const ir::Poly& index) {
  const ir::Shape& scale = operation.operands[static_cast<std::size_t>(operand)].shape;
  if (scale.empty()) return builder.read(operand, {});
  return builder.read(operand, {scale[0].is_one() ? ir::Poly(0) : index});
}

Expr quantized(Builder& builder, ir::DataType to, ir::DataType computed_in, const Expr& x, const Expr& zero) {
  if (ir::is_narrow_floating(to)) return builder.cast(to, zero ? x + builder.cast(computed_in, zero) : x);
  const auto [low, high] = range_of(to);
  Expr value = builder.apply(Function::round_even, x);
  if (zero) value = value + builder.cast(computed_in, zero);
  value = builder.apply(Function::maximum, std::move(value), builder.literal(ir::Real(low)));
  value = builder.apply(Function::minimum, std::move(value), builder.literal(ir::Real(high)));
  return builder.cast(to, std::move(value));
}

Result<void> check_product_parameters(Typing& typing, const Operation& operation, QuantizedOperand a, QuantizedOperand b) {
  const ir::Shape& left = operation.operands[a.tensor].shape;
  const ir::Shape& right = operation.operands[b.tensor].shape;
  if (operation.has(a.parameter)) {
    const ir::Poly rows = left.size() < 2 ? ir::Poly(1) : left[left.size() - 2];
    XFLOW_CHECK(check_scale_along(typing, operation, a.parameter, "the parameter of a", rows));
  }
  if (operation.has(b.parameter)) {
    const ir::Poly columns = right.size() < 2 ? ir::Poly(1) : right.back();
    XFLOW_CHECK(check_scale_along(typing, operation, b.parameter, "the parameter of b", columns));
  }
  return {};
}

Expr quantized_product(Builder& builder, const Operation& operation, QuantizedOperand a, QuantizedOperand b,
                       std::span<const ir::Poly> index) {
  return product_sum(builder, operation, a.tensor, b.tensor, index, [&](const auto& left, const auto& right) {
    const ir::Poly row = left.size() < 2 ? ir::Poly(0) : left[left.size() - 2];
    const ir::Poly column = right.size() < 2 ? ir::Poly(0) : right.back();
    return less_zero(builder, operation, builder.read(number(a.tensor), left), a.parameter, row) *
           less_zero(builder, operation, builder.read(number(b.tensor), right), b.parameter, column);
  });
}

Expr product_scale(Builder& builder, const Operation& operation, QuantizedOperand a, QuantizedOperand b, std::span<const ir::Poly> index) {
  const std::size_t columns = operation.operands[b.tensor].rank() < 2 ? 0 : 1;
  const bool has_rows = operation.operands[a.tensor].rank() >= 2;
  const ir::Poly row = has_rows ? index[index.size() - 1 - columns] : ir::Poly(0);
  const ir::Poly column = columns > 0 ? index.back() : ir::Poly(0);
  const auto scale = [&](std::size_t operand, const ir::Poly& at) {
    return single(builder, operation, number(operand), read_scale_along(builder, operation, number(operand), at));
  };
  return scale(a.parameter, row) * scale(b.parameter, column);
}

Expr quantized_convolution(Builder& builder, const Operation& operation, QuantizedOperand x, QuantizedOperand w,
                           std::span<const ir::Poly> index) {
  return convolution_sum(builder, operation, w.tensor, index, [&](const Condition& inside, const auto& at, const auto& weight) {
    const Expr element = less_zero(builder, operation, builder.read(number(x.tensor), at), x.parameter, ir::Poly(0));
    return builder.select(inside, element, builder.literal(0)) *
           less_zero(builder, operation, builder.read(number(w.tensor), weight), w.parameter, weight[0]);
  });
}

Result<ir::Attributes> lift_convolution(const OnnxNode& node, std::size_t w) {
  XFLOW_TRY(const std::size_t rank, input_rank(node, 0));
  XFLOW_TRY(const std::size_t weight_rank, input_rank(node, w));
  if (rank < 3 || rank > 5 || weight_rank != rank) return fail(ErrorCode::unsupported, "a convolution has 1 to 3 spatial dimensions");
  XFLOW_TRY(ir::Attributes attributes, lift_window(node, std::span(node.input_type(w).shape).subspan(2)));
  attributes.set("groups", ir::Poly(node.integer("group", 1)));
  return attributes;
}

Result<void> export_convolution(const Operation& operation, std::size_t w_operand, Exported& exported) {
  const ir::Shape& w = operation.operands[w_operand].shape;
  if (auto kernel = ir::constant_shape(ir::Shape(w.begin() + 2, w.end())))
    exported.attributes.emplace_back("kernel_shape", *std::move(kernel));
  XFLOW_CHECK(export_window(operation, exported, true));
  XFLOW_TRY(const std::int64_t groups, known_integer(operation, "groups"));
  exported.attributes.emplace_back("group", groups);
  return {};
}

Result<Lifted> lift_with_zeros(const OnnxNode& node) {
  if (!node.has_input(2) && node.has_input(3)) return fail(ErrorCode::unsupported, "a zero point of the right operand alone");
  return lift_operands(node);
}

Result<void> require_left_zero(const Operation& operation) {
  if (operation.has(2) || !operation.has(3)) return {};
  return fail(ErrorCode::unsupported, "a zero point of the right operand alone");
}

Result<void> require_quantized(const Operation& operation, QuantizedTensor tensor, std::string_view name, ir::DataType scale) {
  XFLOW_CHECK(require_bytes(operation, tensor.tensor, name));
  XFLOW_CHECK(require_data_type(operation, tensor.scale, fmt::format("{}_scale", name), scale));
  return require_data_type(operation, tensor.zero, fmt::format("{}_zero", name), operation.operands[tensor.tensor].data_type);
}

Result<void> require_data_type(const Operation& operation, std::size_t operand, std::string_view name, ir::DataType type) {
  const ir::DataType found = operation.operands[operand].data_type;
  if (found == type) return {};
  return fail(ErrorCode::ill_typed, fmt::format("expected '{}' to be {}, found {}", name, ir::name(type), ir::name(found)));
}

Result<void> require_bytes(const Operation& operation, std::size_t operand, std::string_view name) {
  const ir::DataType found = operation.operands[operand].data_type;
  if (contains(kBytes, found)) return {};
  return fail(ErrorCode::ill_typed, fmt::format("expected '{}' to be int8 or uint8, found {}", name, ir::name(found)));
}

}  // namespace xflow::ops
