// Shapes that a model computes at run time although they are known earlier, and copies of constants.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"

namespace xflow::onnx_io {

struct FoldedShapes {
  // Names of values that the document computes from sizes and that are constants of the lifted graph (see
  // lift.h), with at most ir::Constant::kSmall elements.
  std::unordered_set<std::string_view> constants;
  // Partly known shapes that only Reshapes read, with the marks 0 (size of the operand) and -1 (inferred)
  // for unknown sizes.
  std::unordered_map<ir::ValueId, ir::Constant> marked;
  // Identities of constants of the document, and the names that their readers can read instead.
  std::unordered_map<std::string_view, std::string_view> identities;
  // Nodes that are needed only for these values, in the order of the document.
  std::vector<NodeId> superfluous;
  // Nodes that compute constants which are stored instead (folded_constants.h), in the order of the
  // document.
  std::vector<NodeId> folded;
};

// Finds the shapes to fold in the main graph. Values that bodies of nodes read, outputs, and values that
// depend on results of opaque nodes stay. With `exact`, floating-point constants stay as well, because an
// initializer is not computed by the runtime.
FoldedShapes fold_shapes(const Document& document, const LiftedModel& model, ir::Arena& arena, bool exact);

}  // namespace xflow::onnx_io
