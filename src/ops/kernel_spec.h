// What a device is asked to time or run: one kernel launch as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/ir/type.h"

namespace xflow::ops {

// A dense tensor of known size.
struct TensorSpec {
  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::int64_t> dims;
  bool constant = false;  // known before the run: a library may pack it outside the measured time
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// One step applied to a kernel's result, element by element, in the same launch.
struct PostOperation {
  std::string name;                  // a pointwise operator: "relu", "add", "hard_sigmoid", "clip"
  std::vector<double> reals;         // its real attributes in the order of its signature
  std::vector<TensorSpec> operands;  // its other operands (bias, residual), broadcast to the result
  friend bool operator==(const PostOperation&, const PostOperation&) = default;
};

// One kernel. `kernel` names what is computed. Devices know these families:
//
// clang-format off
//   kernel                  operands, integers and word
//   matmul                  a[..., M, K], b[..., K, N]
//   convolution             x[N, C, spatial...], w; strides, pads (begins then ends), dilations, groups
//   transposed_convolution  the same, and output_padding
//   pool_max, pool_average  x[N, C, spatial...]; kernel, strides, pads, dilations; pool_average: count_include_pad
//   reduce                  x; word: sum, mean, max, l2; axes, keep_dims
//   softmax                 x; axis
//   pointwise/NAME          the operands of the pointwise operator NAME; the kernel cover adds post-operations
//   copy                    moves data; word: transpose, concat, split, slice, pad, gather, expand, tile, resize, reshape; its attributes
//   none                    costs nothing and moves nothing (a reshape in place, an identity)
// clang-format on
//
// A kernel of any other name is that operator of the IR, with its attributes.
struct KernelSpec {
  std::string kernel;
  std::string word;
  std::vector<TensorSpec> operands;
  std::vector<TensorSpec> results;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> integers;
  std::vector<std::pair<std::string, double>> reals;
  std::vector<PostOperation> post;

  const std::vector<std::int64_t>* find(const std::string& name) const;
  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;
};

// The operands of a kernel, and then those of its post-operations.
std::vector<TensorSpec> all_operands(const KernelSpec& spec);

// Whether an operand is broadcast to a result of these sizes, as in ONNX, without making it larger.
bool broadcasts_to(const TensorSpec& operand, const TensorSpec& result);

// One line, equal exactly for equal specs: the key in the cost database.
std::string to_string(const KernelSpec& spec);

}  // namespace xflow::ops
