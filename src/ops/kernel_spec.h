// What a device is asked to time or run: one kernel launch as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/ir/type.h"

namespace xflow::ops {

enum class Op : std::uint8_t;          // op.h: only files that treat single operators depend on their list
enum class FunctionId : std::uint8_t;  // function_id.h

// A dense tensor of known size.
struct TensorSpec {
  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::int64_t> dims;
  bool constant = false;  // known before the run: a library may pack it outside the measured time
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// What a kernel or a post-operation computes: an operator of the IR, or a fused function (fused_functions.def).
struct StepFunction {
  std::optional<Op> op = {};
  std::optional<FunctionId> fused = {};
  // Of a fused function, where its time depends on it (Device::reads_function_graphs): the graph that a model has, "x;x;sigmoid;mul".
  std::string graph = {};
  std::string unknown = {};  // the name of something that is neither: profiles have what other devices and versions know

  bool is(Op other) const { return op == other; }
  friend bool operator==(const StepFunction&, const StepFunction&) = default;
};

// One step applied to a kernel's result, element by element, in the same launch.
struct PostOperation {
  StepFunction function;             // a pointwise operator or a fused function
  std::size_t position = 0;          // the operand of the operator that the result is: sub with 1 and operand c is c - result
  std::vector<double> reals;         // its real attributes in the order of its signature
  std::vector<TensorSpec> operands;  // its other operands (bias, residual), broadcast to the result
  friend bool operator==(const PostOperation&, const PostOperation&) = default;
};

// Kinds of kernels that devices treat alike, with their operators, operands and attributes.
enum class KernelFamily : std::uint8_t {
  product,              // Matmul; a[..., M, K], b[..., K, N]
  convolution,          // Conv, ConvTranspose; x[N, C, spatial...], w; strides, pads (begins, then ends), dilations, groups; output_padding
  pooling,              // MaxPool, AveragePool; x[N, C, spatial...]; kernel, strides, pads, dilations; count_include_pad
  reduction,            // ReduceSum, ...; x; axes, keep_dims
  softmax,              // Softmax, LogSoftmax; x; axis
  layer_normalization,  // no operator; x, scale, shift; axes, epsilon
  rms_normalization,    // the same without the mean
  attention,            // no operator; query, key, value, mask; perm (of the key), scale
  pointwise,            // a pointwise operator or a fused function; its operands; the kernel cover adds post-operations
  copy,                 // an operator that moves data; its operands and attributes
  reorder,              // no operator; x; from, to: layouts
  none,                 // no operator: costs nothing and moves nothing (a reshape in place, an identity)
  other,                // any other operator, with its operands and attributes
};

// One kernel: what is computed.
struct KernelSpec {
  KernelFamily family = KernelFamily::other;
  StepFunction function;
  std::vector<TensorSpec> operands;
  std::vector<TensorSpec> results;
  // The attributes, by the kind of their values.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> integers;
  std::vector<std::pair<std::string, double>> reals;
  std::vector<std::pair<std::string, std::string>> words;
  std::vector<PostOperation> post;

  bool is(Op op) const { return function.is(op); }
  bool is(KernelFamily other) const { return family == other; }
  const std::vector<std::int64_t>* find(std::string_view name) const;
  std::optional<double> real(std::string_view name) const;
  std::string_view word(std::string_view name) const;  // empty where there is none of this name
  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;
};

inline bool is_pointwise(const KernelSpec& spec) { return spec.family == KernelFamily::pointwise; }
// What others may be fused into.
inline bool is_anchor(const KernelSpec& spec) { return spec.is(KernelFamily::product) || spec.is(KernelFamily::convolution); }
inline bool is_normalization(const KernelSpec& spec) {
  return spec.is(KernelFamily::layer_normalization) || spec.is(KernelFamily::rms_normalization);
}

// The kernel of one pointwise operator without attributes.
KernelSpec pointwise_spec(Op op, std::vector<TensorSpec> operands, TensorSpec result);

// The operands of a kernel, and then those of its post-operations.
std::vector<TensorSpec> all_operands(const KernelSpec& spec);

// Whether an operand is broadcast to a result of these sizes, as in ONNX, without making it larger.
bool broadcasts_to(const TensorSpec& operand, const TensorSpec& result);

}  // namespace xflow::ops
