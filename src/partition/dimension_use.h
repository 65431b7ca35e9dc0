// How an operation reads the dimensions of its operands, from its index notation.
#pragma once

#include <optional>
#include <vector>

#include "src/ir/graph.h"
#include "src/partition/split_axes.h"

namespace xflow::partition {

struct DimensionUse {
  // Position of an axis in the list of split_axes: equal parts of it read equal parts of the dimension, and
  // perhaps a halo. Nothing: no axis, or no single one, is known to.
  std::optional<std::size_t> axis;
  // If each block of the axis reads several elements, which belong together as in a reshape: how many blocks
  // the dimension has. A part of the dimension that cuts through one is no part of the operation.
  std::optional<ir::Poly> blocks;
  // Some element of the result is a sum or maximum over the dimension, or is computed from one.
  bool is_reduced = false;
  // Each element of the result reads at most one element along it, at positions that parts of the result do
  // not have, as along the axis of a slice or of a concatenation: any division is possible.
  bool is_apart = false;
  // It is read along an axis of the output too: each part of that needs all of the dimension.
  bool is_needed_whole = false;
};

struct OperationUse {
  std::vector<SplitAxis> axes;
  std::vector<std::vector<DimensionUse>> operands;  // by operand and dimension
};

// Requires a ranked output. Operands without known ranks have no dimensions.
OperationUse operation_use(ir::Arena& arena, ir::NodeId node, int output);

}  // namespace xflow::partition
