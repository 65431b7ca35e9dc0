// ONNX operators that are compositions of operators of the IR.
//
// Each composition is an equation between the ONNX operator and a small graph: a row of
// ops/fused_functions.def, or the equation above its function. Lowering writes the original node back as
// long as its value survives.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "src/onnx/document/node_view.h"

namespace xflow::onnx_io {

struct Composition {
  std::string_view domain;
  std::string_view type;
  int since = 1;
  int until = ops::kNewest;  // inclusive
  // Returns the values of the node's outputs. Error::unsupported for a node that the equation does not
  // cover: it stays opaque.
  std::function<Result<std::vector<ir::ValueId>>(const NodeView&)> lift;
};

// Returns all compositions. A node is looked up here first, then in the ONNX mappings of operators.
std::span<const Composition> compositions();

}  // namespace xflow::onnx_io
