// Shapes that a model computes while it runs, although they are known before.
#pragma once

#include <unordered_map>
#include <vector>

#include "src/onnx/document.h"
#include "src/onnx/lift.h"

namespace xflow::onnx_io {

struct SettledShapes {
  // Integers that nodes read for their shapes, axes and the like alone, as constants: their values at all sizes of the inputs, or where a
  // shape is read by Reshapes alone, with the marks 0 (as the operand) and -1 (what is left) for sizes that are not known.
  std::unordered_map<ir::ValueId, ir::Constant> values;
  // Nodes that only these values need, in the order of the document.
  std::vector<NodeId> superfluous;
};

// Of the main graph; what is read there by a body of a node stays, and what depends on results of opaque nodes, whose sizes are declared
// and not known.
SettledShapes settled_shapes(const Document& document, const LiftedModel& model, ir::Arena& arena);

}  // namespace xflow::onnx_io
