// Types of outputs of operators that xflow does not compute with, for outputs that the document does not
// declare.
#pragma once

#include <optional>
#include <span>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

// Returns the type of output `output` for ONNX operators whose output types follow from their inputs
// (QuantizeLinear, DequantizeLinear, LSTM, ...) and for If, whose branches declare it; nothing for other
// operators. Shapes follow ONNX's operator documentation. Sizes that depend on data, or that xflow does not
// compute, are fresh symbols.
std::optional<ir::TensorType> opaque_output_type(const Document& document, ir::Arena& arena, const Node& node, std::uint32_t output,
                                                 std::span<const ir::ValueId> operands);

}  // namespace xflow::onnx_io
