// Small kernels of the same kind as a large one. Their times give a lower bound for the large one.
#pragma once

#include <optional>

#include "src/ops/kernel_spec.h"

namespace xflow::cost {

struct Piece {
  ops::KernelSpec spec;
  double operations = 0;  // of the whole kernel: multiply-adds, or elements that a pooling reads
  double share = 1;       // the fraction of the operations that the small kernel has
};

// A product, convolution or pooling with the dimensions that determine its work cut to at most about a
// thousand, and without post-operations and padding. The outermost dimension of the work (rows of a product,
// batch of a convolution or pooling) is cut to a multiple of `threads`. nullopt for other kernels: they pass
// over their tensors a few times, so their bytes bound their time.
std::optional<Piece> piece_of(const ops::KernelSpec& spec, int threads = 1);

}  // namespace xflow::cost
