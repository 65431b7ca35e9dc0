// A small kernel of the same kind as a large one, whose time tells what the large one takes at least.
#pragma once

#include <optional>

#include "src/ops/kernel_spec.h"

namespace xflow::cost {

struct Piece {
  ops::KernelSpec spec;
  double operations = 0;  // of the whole kernel: multiplications with additions, or elements that are looked at
  double share = 1;       // of these, what the piece has
};

// A product, a convolution or a pooling of which each size that makes work is cut to a few hundred, times `threads` in the first one;
// without post-operations and padding. Nothing for other kernels, which pass over their tensors a few times: their bytes bound their time.
std::optional<Piece> piece_of(const ops::KernelSpec& spec, int threads = 1);

}  // namespace xflow::cost
