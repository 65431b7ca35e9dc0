// Types of outputs of operators that xflow does not compute with, where the document declares none.
#pragma once

#include <optional>
#include <span>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

// The type of output `output`, for operators of ONNX whose outputs follow from their inputs alone (QuantizeLinear, DequantizeLinear, LSTM,
// ...) and for If, whose branches declare it; nothing for others. Shapes as ONNX's operator documentation gives them; sizes that depend on
// data, or that xflow does not compute, are fresh symbols.
std::optional<ir::TensorType> opaque_output_type(const Document& document, ir::Arena& arena, const Node& node, std::uint32_t output,
                                                 std::span<const ir::ValueId> operands);

}  // namespace xflow::onnx_io
