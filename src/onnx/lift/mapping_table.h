// The rows of the ONNX mappings of all operators, looked up by ONNX operator.
#pragma once

#include <xflow/error.h>

#include <string_view>
#include <vector>

#include "src/onnx/document/node_view.h"

namespace xflow::onnx_io {

// Lifts `node` as one operator of the IR and returns the values of its outputs. Error::unsupported if no row
// covers the operator and version of the node.
Result<std::vector<ir::ValueId>> lift_mapped(const NodeView& node);

// Returns true if every row of this operator of ONNX's own domain maps it to a pointwise operator: the
// shape of the result is the broadcast of the shapes of all inputs, and each element depends on the elements
// at its place.
bool is_elementwise(std::string_view op_type);

// The ONNX operator and node content for an operation of the arena at `opset` of ONNX's own domain.
struct ExportedNode {
  std::string_view domain;
  std::string_view type;
  ops::Exported exported;
};
// Exports with the newest row that can express the operation. Error::unsupported, with the reason, if no row
// can.
Result<ExportedNode> export_node(const ir::Arena& arena, ir::NodeId node, int opset);

}  // namespace xflow::onnx_io
