// Small kernels of the same kind as a large one. Their times give a lower bound for the large one.
#pragma once

#include <optional>

#include "src/ops/kernel_spec.h"

namespace xflow::cost {

// A small kernel and its share of the work of the large one.
struct SmallKernel {
  ops::KernelSpec spec;
  double operations = 0;  // of the whole kernel: multiply-adds, or elements that a pooling reads
  double share = 1;       // the fraction of the operations that the small kernel has
};

// A product, convolution or pooling without post-operations and padding whose dimensions that determine its
// work are cut to at most 128 to 1024. The outermost of these dimensions is cut to 256 times `threads` for a
// product (rows) and to `threads` for a convolution or pooling (batch). nullopt for other kernels: they pass
// over their tensors a few times, so their bytes bound their time.
std::optional<SmallKernel> small_kernel_of(const ops::KernelSpec& spec, int threads = 1);

}  // namespace xflow::cost
