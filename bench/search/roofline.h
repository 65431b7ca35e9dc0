// Kernel times by formula, for searches that measure nothing.
#pragma once

#include <memory>

#include "src/kernels/device.h"

namespace xflow::bench {

// The multiplications and additions of a product or convolution; 0 for other kernels.
double operations_of(const ops::KernelSpec& spec);

// A GPU as a roofline: a launch takes 5 us, 800 GB/s, 14 TFLOP/s. Nothing fuses, and copies (split, concat,
// transpose, slice, pad) are free if `copies_are_free`; otherwise up to four pointwise operations fuse after a
// kernel.
std::unique_ptr<cost::Device> roofline(bool copies_are_free);

}  // namespace xflow::bench
