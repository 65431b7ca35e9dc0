// Shapes that a model computes while it runs, although they are known before, and copies of constants.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"

namespace xflow::onnx_io {

struct FoldedShapes {
  // Names of values that are constants of the lifted graph (see lift.h), of at most ir::Constant::kSmall elements, which the document
  // computes from sizes.
  std::unordered_set<std::string_view> constants;
  // Shapes that Reshapes alone read and that are known in part, with the marks 0 (as the operand) and -1 (what is left) for the rest.
  std::unordered_map<ir::ValueId, ir::Constant> marked;
  // Identities of constants of the document, and what their readers can read instead.
  std::unordered_map<std::string_view, std::string_view> identities;
  // Nodes that only these values need, in the order of the document.
  std::vector<NodeId> superfluous;
  // Nodes that compute constants which are stored instead (folded_constants.h), in the order of the document.
  std::vector<NodeId> folded;
};

// Of the main graph; what is read there by a body of a node stays, and so do outputs and what depends on results of opaque nodes. With
// `exact`, numbers of floating point stay as well: an initializer is computed elsewhere than in the runtime.
FoldedShapes fold_shapes(const Document& document, const LiftedModel& model, ir::Arena& arena, bool exact);

}  // namespace xflow::onnx_io
