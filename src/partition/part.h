// The operation that computes a part of an operation, and the ranges of the operands that it reads.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <optional>
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
  // Of an axis of joined operands: those in which the part begins and ends, as positions in
  // SplitAxis::joined.
  std::size_t from = 0;
  std::size_t to = 0;
};

// Elements [start, start + size) of a dimension of an operand.
struct OperandRange {
  int operand = 0;
  int dimension = 0;
  ir::Poly start;
  ir::Poly size;
  friend bool operator==(const OperandRange&, const OperandRange&) = default;
};

// The part of a mean: its result counts as much as it has of the terms.
struct TermShare {
  ir::Poly terms;
  ir::Poly all;
  friend bool operator==(const TermShare&, const TermShare&) = default;
};

// The part of a table: rows [begin, begin + size) of `all` rows.
struct TableRows {
  int indices = 0;        // the operand
  std::size_t after = 0;  // dimensions of the output after those of the indices
  ir::Poly begin;
  ir::Poly size;
  ir::Poly all;
  bool is_first = false;
  bool is_last = false;
  bool wraps = true;  // an index may be negative: it counts from the end
  friend bool operator==(const TableRows&, const TableRows&) = default;
};

struct PartOperation {
  std::vector<OperandRange> ranges;  // of the dimensions that are not read whole, by operand and dimension
  ir::Attributes attributes;
  std::optional<TermShare> share;  // by which the result of the operator is multiplied
  std::optional<TableRows> rows;   // without them, the result is 0 where an index is that of another row
  std::vector<int> unread;         // operands that the part does not have
  friend bool operator==(const PartOperation&, const PartOperation&) = default;
};

// The part of an operation at parts of several of its axes. The requirements that ranges are in their
// operands are left to the caller. Errors: unsupported, for an axis with an obstacle, and for a dimension of
// an operand that is read along two of the axes.
Result<PartOperation> part_operation(const ir::Arena& arena, ir::NodeId node, std::span<const SplitAxis> axes,
                                     std::span<const AxisPart> parts);

// The indices modulo the number of rows. `is_open`: numbers are operations, which the verifier knows, and
// not constants.
Result<ir::ValueId> wrapped_indices(ir::Arena& arena, ops::Typing& typing, ir::ValueId indices, const ir::Poly& rows, bool is_open);

// Adds the part to an arena. `operands` are its ranges of the operands of the whole, and anything for those
// that it does not have. The node has the results of the part. Errors: ill_typed, if the part has no meaning
// as an operation.
Result<ir::NodeId> apply_part(ir::Arena& arena, ops::Typing& typing, ir::OperatorId op, const PartOperation& part,
                              std::vector<ir::ValueId> operands);

// Adds slices of `operands`, which are as those of the whole, and the part. Errors: as above.
Result<ir::NodeId> add_part(ir::Arena& arena, ops::Typing& typing, ir::OperatorId op, const PartOperation& part,
                            std::vector<ir::ValueId> operands);

}  // namespace xflow::partition
