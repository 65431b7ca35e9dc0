// The rows of all operators' ONNX mappings, looked up by ONNX operator.
#pragma once

#include <xflow/error.h>

#include <vector>

#include "src/onnx/document/node_view.h"

namespace xflow::onnx_io {

// The values of the outputs of `node` as one operator of the IR. Error::unsupported if no row of its operator and version covers it.
Result<std::vector<ir::ValueId>> lift_mapped(const NodeView& node);

// The ONNX operator and node content for operation `node` of the arena at `opset` of ONNX's own domain: the newest row that can express it.
struct ExportedNode {
  std::string_view domain;
  std::string_view type;
  ops::Exported exported;
};
// Error::unsupported says why no row can.
Result<ExportedNode> export_node(const ir::Arena& arena, ir::NodeId node, int opset);

}  // namespace xflow::onnx_io
