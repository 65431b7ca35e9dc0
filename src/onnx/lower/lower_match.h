// Finds values that nodes of the document still produce, on other operands.
#pragma once

#include <string_view>
#include <unordered_map>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"

namespace xflow::onnx_io {

// Maps each value that replaced a value of the model, and is the same operations on the replacements of the
// operands, to the node output of the document that produces it once the inputs of the node are renamed.
// Leaves out values of the model that the graph still has, because the node produces those.
std::unordered_map<ir::ValueId, Origin> rebuilt_values(const Document& document, const LiftedModel& model, const ir::Arena& arena,
                                                       const ir::Uses& uses, const ir::ValueMap& correspondence);

// Returns the node of the document that makes `output` if it only copies `value` (which replaced its
// operand). Such a node takes a runtime as long as an Identity. Null for any other node.
const Node* copying_node(const Document& document, const LiftedModel& model, const ir::Arena& arena, const ir::ValueMap& correspondence,
                         std::string_view output, ir::ValueId value);

}  // namespace xflow::onnx_io
