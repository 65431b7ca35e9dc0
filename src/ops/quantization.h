// Quantised numbers: an integer q represents (q - zero) scale (ONNX QuantizeLinear-25, DequantizeLinear-25).
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
// The quantised element types of QuantizeLinear and DequantizeLinear in an opset.
TypeSet stored_types(int opset);

// Scales and zero points of x (operand 0) have one of three forms:
//   - for the whole tensor: a scalar or a list of one element,
//   - for each position of the axis: a list,
//   - for blocks along the axis: a tensor of the rank of x.
//
// Checks operand `operand`, named `name` in errors, against the attributes axis and block.
Result<void> check_scale(Typing& typing, const Operation& operation, std::size_t operand, std::string_view name);
// The element of the scale or zero point for the element of x at `index`.
Expr read_scale(Builder& builder, const Operation& operation, int operand, std::span<const ir::Poly> index);

// Lifts and exports the attributes axis and block of an ONNX node whose scale is input 1.
Result<void> lift_scale(const OnnxNode& node, ir::Attributes& attributes);
Result<void> export_scale(const Operation& operation, int opset, Exported& exported);

// check_scale and read_scale without blocks, for a scale along a dimension of size `size`: a scalar, a list
// of one element, or a list.
Result<void> check_scale_along(Typing& typing, const Operation& operation, std::size_t operand, std::string_view name,
                               const ir::Poly& size);
Expr read_scale_along(Builder& builder, const Operation& operation, int operand, const ir::Poly& index);

// For an integer type `to`: `x` rounded to the nearest integer, ties to even, plus `zero`, saturated to the
// range of `to`. For a floating type `to`: the number of that type nearest to `x` plus `zero`. A null `zero`
// is 0.
Expr quantized(Builder& builder, ir::DataType to, ir::DataType computed_in, const Expr& x, const Expr& zero);

// The operand numbers of a tensor of a product or convolution and of its zero point or scale.
struct QuantizedOperand {
  std::size_t tensor;
  std::size_t parameter;
};
// Checks the zero points or scales of a product: one for the whole tensor, or one for each row of a and each
// column of b. They may be absent.
Result<void> check_product_parameters(Typing& typing, const Operation& operation, QuantizedOperand a, QuantizedOperand b);
// sum(k) (a - a_zero) (b - b_zero) over integers. The parameters are the zero points.
Expr quantized_product(Builder& builder, const Operation& operation, QuantizedOperand a, QuantizedOperand b,
                       std::span<const ir::Poly> index);
// The product of the scales of a and b for the output element at `index`. The parameters are the scales.
Expr product_scale(Builder& builder, const Operation& operation, QuantizedOperand a, QuantizedOperand b, std::span<const ir::Poly> index);
// sum(c, r) (x - x_zero) (w - w_zero) over windows of operand 0. w has one zero point, or one for each
// output channel.
Expr quantized_convolution(Builder& builder, const Operation& operation, QuantizedOperand x, QuantizedOperand w,
                           std::span<const ir::Poly> index);

// Lifts and exports the attributes of a convolution of input 0 with input `w`.
Result<ir::Attributes> lift_convolution(const OnnxNode& node, std::size_t w);
Result<void> export_convolution(const Operation& operation, std::size_t w, Exported& exported);
// lift_operands of MatMulInteger and ConvInteger. Error::unsupported for a zero point of the right operand
// only: kernels leave out absent operands, so they could not tell it from a zero point of the left operand.
Result<Lifted> lift_with_zeros(const OnnxNode& node);
// The same check for a kernel.
Result<void> require_left_zero(const Operation& operation);

// The operand numbers of a tensor of 8-bit integers, of its scale and of its zero point.
struct QuantizedTensor {
  std::size_t tensor;
  std::size_t scale;
  std::size_t zero;
};
// Checks that the tensor is int8 or uint8, its scale has type `scale`, and its zero point has the type of
// the tensor.
Result<void> require_quantized(const Operation& operation, QuantizedTensor tensor, std::string_view name,
                               ir::DataType scale = ir::DataType::float32);
// Checks an element type: "expected 'zero' to be uint8, found int8".
Result<void> require_data_type(const Operation& operation, std::size_t operand, std::string_view name, ir::DataType type);
// Checks for an 8-bit integer type: "expected 'a' to be int8 or uint8, found int32".
Result<void> require_bytes(const Operation& operation, std::size_t operand, std::string_view name);

}  // namespace xflow::ops
