// The kernel of one node of a graph at concrete sizes.
#pragma once

#include <xflow/error.h>

#include <optional>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost {

// A kernel and the values that it reads, one for each operand of the spec.
struct NodeLaunch {
  ops::KernelSpec spec;
  std::vector<ir::ValueId> operands;
};

// The kernel of an operation whose dimensions and attributes become integers under `sizes`. Constant
// operands are marked, because a device packs them before the run. A power with a constant exponent of 2,
// 1/2 or -1 becomes square, square root or reciprocal. Error::unsupported if the operator has no kernel, or
// if a dimension has no value in `sizes` or a negative one.
Result<NodeLaunch> kernel_of(const ir::Arena& arena, ir::NodeId node, const ir::Symbols::Valuation& sizes);

// The tensor of a value at these sizes; nullopt if a dimension is unknown or negative.
std::optional<ops::TensorSpec> tensor_of(const ir::Arena& arena, ir::ValueId value, const ir::Symbols::Valuation& sizes);

// The real attributes of a pointwise operation, in the order of its operator's signature.
std::vector<double> step_reals(const ir::Node& node);

}  // namespace xflow::cost
