// The kernels of parts of operations, and of their gradients.
#pragma once

#include <xflow/error.h>

#include <vector>

#include "src/ir/graph.h"
#include "src/ops/kernel_spec.h"
#include "src/parallel/part_program.h"

namespace xflow::parallel {

// Errors: those of cost::kernel_of; ill_typed if the part is no operation.
Result<ops::KernelSpec> part_kernel(ir::Arena& arena, const ir::Symbols::Valuation& sizes, const PartStep& step);

// The products for the gradients of a product y = a[.., M, K] b[.., K, N]: dy bT and aT dy. Empty for
// vectors.
std::vector<ops::KernelSpec> gradient_products(const ops::KernelSpec& product);

}  // namespace xflow::parallel
