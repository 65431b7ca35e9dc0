// The axes along which an operation can be split, from its index notation: axes of its output and
// reductions (the S, A, P and R axes of Jia, Zaharia and Aiken, MLSys 2019).
//
// A candidate is a necessary condition alone. That parts compute the whole is to be proved (split_proof.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::partition {

// A dimension of an operand that is read along an axis: block q of the axis reads elements
// `stride` * q + low to `stride` * q + high. Positions below 0 and above the end are padding.
struct FollowedDimension {
  int operand = 0;
  int dimension = 0;
  ir::Poly stride;
  ir::Poly low;
  ir::Poly high;

  // Whether neighbouring blocks read the same elements.
  bool overlaps() const;
  friend bool operator==(const FollowedDimension&, const FollowedDimension&) = default;
};

// An operand whose elements are a range of an axis.
struct JoinedOperand {
  int operand = 0;
  int dimension = 0;
  ir::Poly begin;  // on the axis
  ir::Poly size;
};

// A table of which the elements of an integer operand choose the rows.
struct IndexedTable {
  int indices = 0;         // the operand
  std::size_t before = 0;  // dimensions of the output before those of the indices
  std::size_t after = 0;
};

enum class AxisKind : std::uint8_t {
  output,   // parts compute parts of the output
  sum,      // parts compute terms of a sum
  mean,     // parts compute means of some terms, each of which counts as much as it has terms
  maximum,  // parts compute operands of a maximum
  minimum,  // parts compute operands of a minimum
  rows,     // parts have rows of a table; they compute 0 for an index of another row, and are added
};
// "sum"
const char* name(AxisKind kind);
// The operator that makes the result from the parts of a reduction: "add".
const char* combining_operator(AxisKind kind);

struct SplitAxis {
  AxisKind kind = AxisKind::output;
  int dimension = 0;                        // of the output; of reductions their number
  ir::Poly block = 1;                       // a part has a multiple of so many elements
  ir::Poly blocks;                          // in the whole axis
  std::vector<FollowedDimension> followed;  // by operand and dimension; the other operands are read whole
  std::optional<IndexedTable> table;        // of rows
  std::vector<JoinedOperand> joined;        // the operands that are one after the other along it; then none is followed
  std::optional<std::string> obstacle;      // why the axis cannot be split; none: it is a candidate

  bool is_reduction() const { return kind != AxisKind::output; }
  const FollowedDimension* find(int operand, int along) const;
};

// The dimensions of an output in their order, then the reductions. Requires a ranked output.
std::vector<SplitAxis> split_axes(ir::Arena& arena, ir::NodeId node, int output);

}  // namespace xflow::partition
