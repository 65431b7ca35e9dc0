// Lifts one node of the document to operators of the IR.
#pragma once

#include <xflow/error.h>

#include <span>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/ops/integer_content.h"

namespace xflow::onnx_io {

constexpr std::int64_t kNewestOpset = 27;           // onnx 1.22
constexpr std::uint32_t kLeafSerial = 0xFFFFFFFFU;  // of an opaque leaf that is not a node of the document

// Lifts a node by a composition or an ONNX mapping and returns the values of its outputs.
// Error::unsupported, with the reason as the message, if the node has bodies, calls a local function, refers
// to attributes of a function, or is not covered by an operator of xflow.
Result<std::vector<ir::ValueId>> lift_operator(const Document& document, ir::Arena& arena, const Node& node,
                                               const std::vector<ir::ValueId>& operands);

// Returns the value, or a constant if the value is known integers or an identity of a constant.
ir::ValueId folded(ir::Arena& arena, ops::IntegerContent& contents, ir::ValueId value);

// Returns true if a local function has the domain and the name of the node's operator; the overload is
// ignored.
bool calls_function(const Document& document, const Node& node);

// Returns the local function with the domain, name and overload of the node's operator; null if there is
// none.
const Function* called_function(const Document& document, const Node& node);

}  // namespace xflow::onnx_io
