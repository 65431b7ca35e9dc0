// One node of the document as operators of the IR.
#pragma once

#include <xflow/error.h>

#include <span>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/ops/integer_content.h"

namespace xflow::onnx_io {

constexpr std::int64_t kNewestOpset = 27;           // onnx 1.22
constexpr std::uint32_t kLeafSerial = 0xFFFFFFFFU;  // of an opaque leaf that is no node of the document

// The values of the node's outputs by a composition or an ONNX mapping. Error::unsupported, whose message is the reason, where there is
// none: the node has bodies, calls a local function, refers to attributes of a function, or is not what an operator of xflow covers.
Result<std::vector<ir::ValueId>> lift_operator(const Document& document, ir::Arena& arena, const Node& node,
                                               const std::vector<ir::ValueId>& operands);

// The value itself, or a constant in the place of integers that are known and of an identity of a constant.
ir::ValueId folded(ir::Arena& arena, ops::IntegerContent& contents, ir::ValueId value);

// Whether a local function has the domain and the name of the node's operator, whatever its overload.
bool calls_function(const Document& document, const Node& node);

// The local function that the node calls: of its domain, name and overload. Null if there is none.
const Function* called_function(const Document& document, const Node& node);

}  // namespace xflow::onnx_io
