// How the operands of an operation are read along each axis of its output, from its index notation: which
// axes are candidates for a split (the S, A and P axes of Jia, Zaharia and Aiken, MLSys 2019).
//
// A candidate is a necessary condition alone. That parts compute the whole is for the verifier to prove.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::partition {

// A dimension of an operand that is read at `stride` * i + (what does not depend on i), i the index of the
// output's axis.
struct FollowedDimension {
  int operand = 0;
  int dimension = 0;
  std::int64_t stride = 1;
  bool is_window = false;  // more than one element for each i: parts need a halo
  friend bool operator==(const FollowedDimension&, const FollowedDimension&) = default;
};

struct OutputAxis {
  std::vector<FollowedDimension> followed;  // by operand and dimension; other operands are replicated; may be none
  std::optional<std::string> obstacle;      // why the axis cannot be split; none: it is a candidate
};

// By axis of the output. Requires an operation whose output is ranked.
std::vector<OutputAxis> output_axes(ir::Arena& arena, ir::NodeId node, int output);

}  // namespace xflow::partition
