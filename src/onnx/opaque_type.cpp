#include "src/onnx/opaque_type.h"

#include <array>
#include <string_view>

namespace xflow::onnx_io {

std::optional<ir::TensorType> opaque_output_type(ir::Arena& arena, const Node& node, std::uint32_t output,
                                                 std::span<const ir::ValueId> operands) {
  if (!is_default_domain(node.domain) || operands.empty() || output != 0) return std::nullopt;
  const auto type_of = [&](std::size_t k) -> const ir::TensorType* {
    return k < operands.size() && !arena.is_absent(operands[k]) ? &arena.type(operands[k]) : nullptr;
  };
  const ir::TensorType* x = type_of(0);
  if (x == nullptr || !x->ranked || x->data_type == ir::DataType::undefined) return std::nullopt;
  ir::TensorType result = *x;
  // y = saturate(round(x / scale) + zero_point): the type of the zero point, else output_dtype (opset 21), else uint8.
  if (node.op_type == "QuantizeLinear") {
    const Attribute* declared = node.find("output_dtype");
    const std::int64_t number = declared != nullptr ? declared->integer().value_or(0) : 0;
    result.data_type = number != 0 ? static_cast<ir::DataType>(number) : ir::DataType::uint8;
    if (const ir::TensorType* zero = type_of(2)) result.data_type = zero->data_type;
    return result;
  }
  // y = (x - zero_point) * scale: the type of the scale.
  if (node.op_type == "DequantizeLinear") {
    const ir::TensorType* scale = type_of(1);
    if (scale == nullptr) return std::nullopt;
    result.data_type = scale->data_type;
    return result;
  }
  // The shape and type of the operand.
  static constexpr std::array<std::string_view, 30> kSameType = {"Acos",
                                                                 "Acosh",
                                                                 "Asin",
                                                                 "Asinh",
                                                                 "Atan",
                                                                 "Atanh",
                                                                 "BitShift",
                                                                 "BitwiseNot",
                                                                 "Celu",
                                                                 "Cosh",
                                                                 "CumProd",
                                                                 "Hardmax",
                                                                 "LpNormalization",
                                                                 "LRN",
                                                                 "MeanVarianceNormalization",
                                                                 "Mish",
                                                                 "RandomNormalLike",
                                                                 "RandomUniformLike",
                                                                 "ReverseSequence",
                                                                 "Round",
                                                                 "ScatterElements",
                                                                 "ScatterND",
                                                                 "Scatter",
                                                                 "Selu",
                                                                 "Shrink",
                                                                 "Sinh",
                                                                 "Softsign",
                                                                 "Tan",
                                                                 "ThresholdedRelu",
                                                                 "Bernoulli"};
  for (const std::string_view name : kSameType)
    if (node.op_type == name) return result;
  return std::nullopt;
}

}  // namespace xflow::onnx_io
