// Quantised numbers: an integer q stands for (q - zero) scale (ONNX QuantizeLinear-25, DequantizeLinear-25).
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "src/ops/common.h"

namespace xflow::ops {

inline constexpr TypeSet kBytes = type_set({ir::DataType::int8, ir::DataType::uint8});
inline constexpr TypeSet kQuantized = kBytes | type_set({ir::DataType::int16, ir::DataType::uint16});
inline constexpr TypeSet kNibbles = type_set({ir::DataType::int4, ir::DataType::uint4});
inline constexpr TypeSet kPairs = type_set({ir::DataType::int2, ir::DataType::uint2});
inline constexpr TypeSet kFloat8 =
    type_set({ir::DataType::float8e4m3fn, ir::DataType::float8e4m3fnuz, ir::DataType::float8e5m2, ir::DataType::float8e5m2fnuz});
inline constexpr TypeSet kFloat4 = type_set({ir::DataType::float4e2m1});
// What QuantizeLinear and DequantizeLinear of an opset store numbers in.
TypeSet stored_types(int opset);

// Scales and zero points of x, operand 0: of the whole tensor, a scalar or one element; of each position of the axis, a list; or of blocks
// along the axis, a tensor of as many dimensions as x.
//
// Checks operand `operand`, which is called `name`, against the attributes axis and block.
Result<void> check_scale(Typing& typing, const Operation& operation, std::size_t operand, std::string_view name);
// Its element for the element of x at `index`.
Expr read_scale(Builder& builder, const Operation& operation, int operand, std::span<const ir::Poly> index);

// The attributes axis and block of an ONNX node whose scale is input 1, and back.
Result<void> lift_scale(const OnnxNode& node, ir::Attributes& attributes);
Result<void> export_scale(const Operation& operation, int opset, Exported& exported);

// The same without blocks, for operand `operand` as the scale of the dimension of size `size`: a scalar, one element or a list.
Result<void> check_scale_along(Typing& typing, const Operation& operation, std::size_t operand, std::string_view name,
                               const ir::Poly& size);
Expr read_scale_along(Builder& builder, const Operation& operation, int operand, const ir::Poly& index);

// The nearest integer to `x`, ties to even, plus `zero` (null: none) and kept in the range of `to`; for a floating type `to` the nearest
// number of that type to their sum.
Expr quantized(Builder& builder, ir::DataType to, ir::DataType computed_in, const Expr& x, const Expr& zero);

// A tensor of a product or convolution and its zero point or scale, by the numbers of the operands.
struct QuantizedOperand {
  std::size_t tensor;
  std::size_t parameter;
};
// Zero points or scales of a product: of the whole tensor, or of each row of a and each column of b. An absent one is none.
Result<void> check_product_parameters(Typing& typing, const Operation& operation, QuantizedOperand a, QuantizedOperand b);
// sum(k) (a - zero) (b - zero), of integers.
Expr quantized_product(Builder& builder, const Operation& operation, QuantizedOperand a, QuantizedOperand b,
                       std::span<const ir::Poly> index);
// The product of the scales for the output element at `index`.
Expr product_scale(Builder& builder, const Operation& operation, QuantizedOperand a, QuantizedOperand b, std::span<const ir::Poly> index);
// The same sum over windows of operand 0; w has a zero point for each output channel, or one.
Expr quantized_convolution(Builder& builder, const Operation& operation, QuantizedOperand x, QuantizedOperand w,
                           std::span<const ir::Poly> index);

// The attributes of a convolution of input 0 with input `w`, and back.
Result<ir::Attributes> lift_convolution(const OnnxNode& node, std::size_t w);
Result<void> export_convolution(const Operation& operation, std::size_t w, Exported& exported);
// lift_operands of MatMulInteger and ConvInteger. A zero point of the right operand alone is not supported: kernels tell operands that are
// not there by their number.
Result<Lifted> lift_with_zeros(const OnnxNode& node);
Result<void> require_left_zero(const Operation& operation);

// Operands of 8 bits with a scale of type `scale` and a zero point of their own type, by their numbers.
struct QuantizedTensor {
  std::size_t tensor;
  std::size_t scale;
  std::size_t zero;
};
Result<void> require_quantized(const Operation& operation, QuantizedTensor tensor, std::string_view name,
                               ir::DataType scale = ir::DataType::float32);
// "expected 'zero' to be uint8, found int8".
Result<void> require_data_type(const Operation& operation, std::size_t operand, std::string_view name, ir::DataType type);
// "expected 'a' to be int8 or uint8, found int32".
Result<void> require_bytes(const Operation& operation, std::size_t operand, std::string_view name);

}  // namespace xflow::ops
