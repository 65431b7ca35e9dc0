// Features of a kernel's work, for models of its time.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "src/ops/kernel_spec.h"

namespace xflow::cost::profile {

// The features of a kernel. Its time is the sum of each feature times a rate.
struct Features {
  double launches = 1;
  double products = 0;     // operations of convolutions, products, pooling and reductions
  double bytes = 0;        // read and written
  double elementwise = 0;  // operators of pointwise chains, once per element
  std::array<double, 4> list() const { return {launches, products, bytes, elementwise}; }
};
Features features_of(const ops::KernelSpec& spec);

// What a model of a class may learn from: logarithms of the sizes of the first two operands and of the first
// result, of the features, and the number of post-operations. As many numbers for all kernels; 0 for sizes
// that a kernel does not have.
std::vector<double> sizes_of(const ops::KernelSpec& spec);

// The channels of one group of a convolution or a transposed convolution.
struct GroupChannels {
  double inputs = 0;
  double outputs = 0;
};
// nullopt for other kernels, and for a convolution of one group.
std::optional<GroupChannels> group_channels_of(const ops::KernelSpec& spec);

// Whether no size is negative and all tensors together have less than 10^18 bytes.
bool has_plausible_sizes(const ops::KernelSpec& spec);

// The type in which a kernel computes: that of its result, or of the operands of a product in a narrow type.
ir::DataType computing_type(const ops::KernelSpec& spec);

// The class of a kernel, such as "convolution 1x1 float32", "pointwise float32", "copy int64". Kernels of a
// class share a model.
std::string class_of(const ops::KernelSpec& spec);

// log(1 + feature) of each feature.
std::array<double, 4> logarithms(const Features& features);
// The distance of two kernels: the sum over the features of |log(1 + a) - log(1 + b)|.
double distance(const std::array<double, 4>& a, const std::array<double, 4>& b);
double distance(const Features& a, const Features& b);

}  // namespace xflow::cost::profile
