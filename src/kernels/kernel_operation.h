// The operation that a kernel computes: the inverse of an operator's kernel().
#pragma once

#include <xflow/error.h>

#include "src/ir/graph.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost {

// Makes, in `arena`, the operation whose kernel is `spec` without its post-operations; its operands are inputs, in order. It is the right
// one: its own kernel is equal to `spec`. Error::unsupported for kernels that are no single operator (composites, reorders).
Result<ir::NodeId> operation_of(ir::Arena& arena, const ops::KernelSpec& spec);

}  // namespace xflow::cost
