// The kernels of parts of operations, and of their gradients.
#pragma once

#include <xflow/error.h>

#include <optional>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/kernel_spec.h"
#include "src/parallel/part_program.h"

namespace xflow::parallel {

// The kernels of the operations that a step consists of, in their order. Errors: those of cost::kernel_of;
// ill_typed if the part is no operation; unsupported if version `opset` of ONNX's operator set lacks one of
// them.
Result<std::vector<ops::KernelSpec>> part_kernels(ir::Arena& arena, const ir::Symbols::Valuation& sizes, const PartStep& step,
                                                  std::optional<int> opset);

// The products for the gradients of a product y = a[.., M, K] b[.., K, N]: dy bT and aT dy. Empty for
// vectors.
std::vector<ops::KernelSpec> gradient_products(const ops::KernelSpec& product);

}  // namespace xflow::parallel
