// A kernel as plain data: one launch that a device times or runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/ir/type.h"

namespace xflow::ops {

enum class Op : std::uint8_t;          // op.h, included only by files that name single operators
enum class FunctionId : std::uint8_t;  // function_id.h

// A dense tensor of known size.
struct TensorSpec {
  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::int64_t> dims;
  bool constant = false;  // known before the run: a library may pack it outside the measured time
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// The function of a kernel or a post-operation: an operator of the IR or a fused function
// (fused_functions.def).
struct StepFunction {
  std::optional<Op> op = {};
  std::optional<FunctionId> fused = {};
  // The graph of a fused function in the model, "x;x;sigmoid;mul". Set only for devices whose times depend
  // on it (Device::reads_function_graphs).
  std::string graph = {};
  // The name of a function that is neither. Profiles contain functions of other devices and versions.
  std::string unknown = {};

  bool is(Op other) const { return op == other; }
  friend bool operator==(const StepFunction&, const StepFunction&) = default;
};

// A function applied to a kernel's result, element by element, in the same launch.
struct PostOperation {
  StepFunction function;             // a pointwise operator or a fused function
  std::size_t position = 0;          // which operand the result is: sub with position 1 and operand c is c - result
  std::vector<double> reals;         // the real attributes in the order of the signature
  std::vector<TensorSpec> operands;  // the other operands (bias, residual), broadcast to the result
  friend bool operator==(const PostOperation&, const PostOperation&) = default;
};

// Kernels that devices treat alike, with their operators; operands; attributes.
enum class KernelFamily : std::uint8_t {
  product,              // Matmul; a[..., M, K], b[..., K, N]
  convolution,          // Conv, ConvTranspose; x[N, C, spatial...], w; strides, pads (begins, then ends), dilations, groups; output_padding
  pooling,              // MaxPool, AveragePool; x[N, C, spatial...]; kernel, strides, pads, dilations; count_include_pad
  reduction,            // ReduceSum, ...; x; axes, keep_dims
  softmax,              // Softmax, LogSoftmax; x; axis
  layer_normalization,  // no operator; x, scale, shift; axes, epsilon
  rms_normalization,    // layer_normalization without subtracting the mean
  attention,            // no operator; query, key, value, mask; perm (of the key), scale
  pointwise,            // a pointwise operator or a fused function; its operands; kernel covers add post-operations
  copy,                 // an operator that moves data; its operands and attributes
  reorder,              // no operator; x; from, to: layouts
  none,                 // no operator: costs nothing and moves nothing (a reshape in place, an identity)
  other,                // any other operator, with its operands and attributes
};

// One kernel: its function, tensors, attributes and post-operations.
struct KernelSpec {
  KernelFamily family = KernelFamily::other;
  StepFunction function;
  std::vector<TensorSpec> operands;
  std::vector<TensorSpec> results;
  // The attributes, by the type of their values.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> integers;
  std::vector<std::pair<std::string, double>> reals;
  std::vector<std::pair<std::string, std::string>> words;
  std::vector<PostOperation> post;

  bool is(Op op) const { return function.is(op); }
  bool is(KernelFamily other) const { return family == other; }
  const std::vector<std::int64_t>* find(std::string_view name) const;  // null if there is no such attribute
  std::optional<double> real(std::string_view name) const;
  std::string_view word(std::string_view name) const;  // empty if there is no such attribute
  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;
};

inline bool is_pointwise(const KernelSpec& spec) { return spec.family == KernelFamily::pointwise; }
// Whether devices may fuse other operations into this kernel.
inline bool is_anchor(const KernelSpec& spec) { return spec.is(KernelFamily::product) || spec.is(KernelFamily::convolution); }
inline bool is_normalization(const KernelSpec& spec) {
  return spec.is(KernelFamily::layer_normalization) || spec.is(KernelFamily::rms_normalization);
}

// The kernel of a pointwise operator without attributes.
KernelSpec pointwise_spec(Op op, std::vector<TensorSpec> operands, TensorSpec result);

// The operands of a kernel, followed by those of its post-operations.
std::vector<TensorSpec> all_operands(const KernelSpec& spec);

// Whether ONNX broadcasting of the operand with the result gives the shape of the result.
bool broadcasts_to(const TensorSpec& operand, const TensorSpec& result);

}  // namespace xflow::ops
