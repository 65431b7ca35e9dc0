// What a kernel computes, as a graph.
#pragma once

#include <xflow/error.h>

#include <span>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost {

// The results of `spec` with its post-operations, made in `arena` of these operands (those of post-operations
// follow the kernel's own). Fused functions (ops/fused_functions.h) become the graph that they have, otherwise
// that of their row. Error::unsupported for what is neither an operator nor a fused function, and for reorders,
// which no graph has.
Result<std::vector<ir::ValueId>> graph_of(ir::Arena& arena, const ops::KernelSpec& spec, std::span<const ir::ValueId> operands);

// Makes, in `arena`, the operation whose kernel is `spec` without its post-operations; its operands are inputs, in order.
// Error::unsupported for kernels that are no single operator, and for those that lack an attribute or have one that the operator has not.
Result<ir::NodeId> operation_of(ir::Arena& arena, const ops::KernelSpec& spec);

// Whether the operators of `spec` make results of its sizes from operands of its sizes. A kernel that fails this reads or writes out of
// range: it must be neither timed nor run. Error::unsupported, "cannot run ... here: ...", with what the operator expected.
Result<void> check_shapes(const ops::KernelSpec& spec);

}  // namespace xflow::cost
