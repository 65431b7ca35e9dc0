// Types of outputs of operators that xflow does not compute with, where the document declares none.
#pragma once

#include <optional>
#include <span>

#include "src/ir/graph.h"
#include "src/onnx/document.h"

namespace xflow::onnx_io {

// The type of output `output`, for operators of ONNX whose outputs follow from their inputs alone (QuantizeLinear, DequantizeLinear, LSTM,
// ...); nothing for others. Shapes as ONNX's operator documentation gives them.
std::optional<ir::TensorType> opaque_output_type(ir::Arena& arena, const Node& node, std::uint32_t output,
                                                 std::span<const ir::ValueId> operands);

}  // namespace xflow::onnx_io
