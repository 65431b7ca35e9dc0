// The claim that parts of an operation compute the whole, as the verifier takes it.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/partition/part.h"
#include "src/partition/split_axes.h"
#include "src/rules/instance.h"

namespace xflow::partition {

// Where a part lies on an axis that has at least two parts.
enum class PartPosition : std::uint8_t { first, middle, last };

struct PlacedAxis {
  std::size_t axis = 0;  // position in the list of split_axes
  PartPosition place = PartPosition::middle;
  // Of an axis of joined operands, whose parts have no place: those in which the part begins and ends, as
  // positions in SplitAxis::joined.
  std::size_t from = 0;
  std::size_t to = 0;
  friend auto operator<=>(const PlacedAxis&, const PlacedAxis&) = default;
};

// The claim for all parts that lie so on these axes of the output, of whatever begin and size:
//   slice(op(x, ..)) = op(slice(x), ..)
// Together with the law that the slices of consecutive ranges, concatenated, are the whole, this is the
// split into any number of parts. The facts are that ranges lie in their operands; a first or middle part
// of an axis with windows ends before the padding at the end.
//
// Errors: those of part_operation; ill_typed if the part is not an operation or has another shape.
Result<rules::RuleInstance> part_claim(const ir::Arena& arena, ir::NodeId node, int output, std::span<const SplitAxis> axes,
                                       std::span<const PlacedAxis> placed);

// The claim that the operation is the sum, or the maximum, of two parts of a reduction, whatever the length
// of the reduction. By induction it holds for any number of parts. Indices of rows are those that are not
// negative. Errors: as above.
Result<rules::RuleInstance> reduction_claim(const ir::Arena& arena, ir::NodeId node, int output, std::span<const SplitAxis> axes,
                                            std::size_t axis);

// A part of a table is no table, so that rows have two more claims. The last part is the sum of one in the
// middle and another last one: this is the step of the induction. Errors: as above.
Result<rules::RuleInstance> neighbours_claim(const ir::Arena& arena, ir::NodeId node, int output, std::span<const SplitAxis> axes,
                                             std::size_t axis);
// The operation is that at the indices modulo the number of rows, which are not negative.
Result<rules::RuleInstance> wrap_claim(const ir::Arena& arena, ir::NodeId node, int output, std::span<const SplitAxis> axes,
                                       std::size_t axis);

// The same for a part of the operation that lies so on axes of the output, of whatever begin and size: a
// part of several axes and of a reduction.
Result<rules::RuleInstance> part_reduction_claim(const ir::Arena& arena, ir::NodeId node, int output, std::span<const SplitAxis> axes,
                                                 std::span<const PlacedAxis> placed, std::size_t axis);

}  // namespace xflow::partition
