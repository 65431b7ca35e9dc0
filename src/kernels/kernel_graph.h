// Conversion of a kernel into the graph that it computes.
#pragma once

#include <xflow/error.h>

#include <span>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost {

// Adds the graph of `spec` with its post-operations to `arena` and returns its results. `operands` has the
// kernel's own operands, followed by those of the post-operations. A fused function (ops/fused_functions.h)
// becomes the graph that it carries, otherwise the graph of its row in the table. Error::unsupported for
// reorders, which have no graph, and for kernels that are neither an operator nor a fused function.
Result<std::vector<ir::ValueId>> graph_of(ir::Arena& arena, const ops::KernelSpec& spec, std::span<const ir::ValueId> operands);

// Adds to `arena` the operation whose kernel is `spec` without its post-operations. Its operands are new
// inputs, in order. Error::unsupported for kernels that are not a single operator, and for those that lack
// an attribute of the operator or have one that the operator does not have.
Result<ir::NodeId> operation_of(ir::Arena& arena, const ops::KernelSpec& spec);

// Checks that the operators of `spec` map its operand sizes to its result sizes. A kernel that fails would
// read or write out of range: it must be neither timed nor run. Error::unsupported, "cannot run ... here:
// ...", with the sizes that the operator expected.
Result<void> check_shapes(const ops::KernelSpec& spec);

}  // namespace xflow::cost
