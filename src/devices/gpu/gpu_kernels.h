// GPU kernels as plain data: a description for a library, or source text.
#pragma once

#include <xflow/error.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/kernels/device.h"
#include "src/kernels/kernel_source.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost::gpu {

// The activation fused into the launch of a product or a convolution: none, or a function of one operand
// (ops/fused_functions.def).
enum class Activation : std::uint8_t {
  none,
#define XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES) NAME,
#define XFLOW_FUSED_FUNCTION(NAME, TYPES, GRAPH, VALUE, LIBRARIES) NAME,
#include "src/ops/fused_functions.def"
};
std::string_view name(Activation activation);  // "relu"
// Whether cuDNN can fuse it with a convolution, or cuBLASLt with a product.
bool is_of_cudnn(Activation activation);
bool is_of_cublaslt(Activation activation);

// A batch of row-major matrix products: result[b] = activation(left[b] * right[b] + residual[b] + bias).
// cublasLtMatmul computes it. Its matrices are column-major, so left and right as well as m and n are
// swapped there.
struct Product {
  ir::DataType type{};  // of all tensors; products of half precision are summed in float
  std::int64_t m = 0;   // rows of left and of the result
  std::int64_t n = 0;   // columns of right and of the result
  std::int64_t k = 0;
  std::int64_t batch = 1;
  // Elements between consecutive matrices of the batch; 0: one matrix for the whole batch.
  std::int64_t left_stride = 0;
  std::int64_t right_stride = 0;
  // Operand numbers in the kernel, including the operands of post-operations.
  std::size_t left = 0;
  std::size_t right = 1;
  std::optional<std::size_t> bias = {};      // a vector of n elements
  std::optional<std::size_t> residual = {};  // has the shape of the result
  Activation activation = Activation::none;
  friend bool operator==(const Product&, const Product&) = default;
};

// result = activation(convolution(image, weights) + residual + bias), a cross-correlation as in ONNX. cuDNN
// graphs compute it.
struct Convolution {
  ir::DataType type{};
  Layout layout = Layout::plain;      // plain or channels_last, of all tensors but the bias
  bool transposed = false;            // ConvTranspose of ONNX: the gradient with respect to the image
  std::vector<std::int64_t> image;    // [N, C, spatial...] in every layout
  std::vector<std::int64_t> weights;  // in the order of ONNX
  std::vector<std::int64_t> result;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> pads_before;
  std::vector<std::int64_t> pads_after;
  std::vector<std::int64_t> dilations;
  std::int64_t groups = 1;
  std::optional<std::size_t> bias = {};      // as many elements as the result has channels
  std::optional<std::size_t> residual = {};  // has the shape of the result
  Activation activation = Activation::none;
  friend bool operator==(const Convolution&, const Convolution&) = default;
};

// A tensor of [batch, heads, rows, columns] with its strides in elements.
struct Strided {
  std::array<std::int64_t, 4> dims{};
  std::array<std::int64_t, 4> strides{};
  friend bool operator==(const Strided&, const Strided&) = default;
};

// result = softmax(query key^T * scale + mask) value, with the softmax along the columns. Operands 0 to 3
// are query, key, value and mask. cuDNN graphs compute it.
struct Attention {
  ir::DataType type{};  // half precision; sums and the softmax are computed in float
  Strided query;        // rows x depth
  Strided key;          // columns x depth
  Strided value;        // columns x depth of the result
  Strided result;
  std::optional<Strided> mask = {};  // rows x columns; sizes of 1 broadcast
  double scale = 1;
  friend bool operator==(const Attention&, const Attention&) = default;
};

struct GpuKernel {
  std::variant<Product, Convolution, Attention, SourceProgram> work;  // source text includes its prelude
  // One line, for reports. Alternatives in source text have different texts.
  std::string text;
};

// The alternative kernels that compute `spec`, with its operands and results that have layouts in `layout`:
// one product or convolution if a library supports it with all its post-operations, otherwise one or several
// source texts; both for attention. Function names in source text begin with `name`. Errors: unsupported,
// 'cannot run ... here: ...'.
Result<std::vector<GpuKernel>> kernels_of(const ops::KernelSpec& spec, Layout layout, std::string_view name);

// The library description of `spec` including all post-operations; nothing if the libraries do not support
// it.
std::optional<Product> product_of(const ops::KernelSpec& spec);
std::optional<Convolution> convolution_of(const ops::KernelSpec& spec, Layout layout);
std::optional<Attention> attention_of(const ops::KernelSpec& spec);

}  // namespace xflow::cost::gpu
