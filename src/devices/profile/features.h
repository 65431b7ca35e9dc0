// What a kernel has to do, for models of its time.
#pragma once

#include <array>
#include <string>

#include "src/ops/kernel_spec.h"

namespace xflow::cost::profile {

// Multiplied by a rate each, and added up, they are a time.
struct Features {
  double launches = 1;
  double products = 0;     // arithmetic of convolutions, products, pooling, reductions: operations
  double bytes = 0;        // of operands and results
  double elementwise = 0;  // operators of chains, once for each element
  std::array<double, 4> list() const { return {launches, products, bytes, elementwise}; }
};
Features features_of(const ops::KernelSpec& spec);

// Whether no size is negative and all tensors together have less than 10^18 bytes.
bool has_plausible_sizes(const ops::KernelSpec& spec);

// Kernels whose times have one model: "convolution 1x1 float32", "pointwise float32", "copy int64".
std::string class_of(const ops::KernelSpec& spec);

// How far apart two kernels are: the sum of the differences of the logarithms of what they have to do.
double distance(const Features& a, const Features& b);

}  // namespace xflow::cost::profile
