// The operation that computes a part of an operation, and the ranges of the operands that it reads.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <span>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/operator.h"
#include "src/partition/split_axes.h"

namespace xflow::partition {

// Blocks [begin, begin + count) of an axis. Where a part lies at an end of the axis is said beside the
// numbers, since these may be symbolic: the first part has the padding before the first element, and reads
// its operands from their first element; the last part likewise at the end.
struct AxisPart {
  std::size_t axis = 0;  // position in the list of split_axes
  ir::Poly begin;
  ir::Poly count;
  bool is_first = false;
  bool is_last = false;
};

// Elements [start, start + size) of a dimension of an operand.
struct OperandRange {
  int operand = 0;
  int dimension = 0;
  ir::Poly start;
  ir::Poly size;
  friend bool operator==(const OperandRange&, const OperandRange&) = default;
};

struct PartOperation {
  std::vector<OperandRange> ranges;  // of the dimensions that are not read whole, by operand and dimension
  ir::Attributes attributes;
};

// The part of an operation at parts of several of its axes. The requirements that ranges are in their
// operands are left to the caller. Errors: unsupported, for an axis with an obstacle, and for a dimension of
// an operand that is read along two of the axes.
Result<PartOperation> part_operation(const ir::Arena& arena, ir::NodeId node, std::span<const SplitAxis> axes,
                                     std::span<const AxisPart> parts);

// Adds the part to an arena: slices of `operands`, which are as those of the whole, and the operation.
// Errors: ill_typed, if the part has no meaning as an operation.
Result<ir::NodeId> add_part(ir::Arena& arena, ops::Typing& typing, ir::OperatorId op, const PartOperation& part,
                            std::vector<ir::ValueId> operands);

}  // namespace xflow::partition
