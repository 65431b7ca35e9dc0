// Values that nodes of the document still make, on other operands.
#pragma once

#include <string_view>
#include <unordered_map>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"

namespace xflow::onnx_io {

// For each value that took the place of a value of the model and is the same operations on what took the place of the operands: the output
// of the node of the document that makes it, once its inputs are renamed. Not where the graph has the value of the model as well: the node
// makes that.
std::unordered_map<ir::ValueId, Origin> rebuilt_values(const Document& document, const LiftedModel& model, const ir::Arena& arena,
                                                       const ir::Uses& uses, const ir::ValueMap& correspondence);

// The node of the document that makes `output`, where all that it does is to copy `value` (as what its operand became), for which a runtime
// takes as long as for an Identity; null for any other.
const Node* copying_node(const Document& document, const LiftedModel& model, const ir::Arena& arena, const ir::ValueMap& correspondence,
                         std::string_view output, ir::ValueId value);

}  // namespace xflow::onnx_io
