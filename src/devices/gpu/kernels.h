// Kernels of GPUs as plain data, before anything is launched: what a library is asked for, or source text.
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

// What follows a product or a convolution in the same launch: none, or a function of one operand
// (ops/fused_functions.def).
enum class Activation : std::uint8_t {
  none,
#define XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES) NAME,
#define XFLOW_FUSED_FUNCTION(NAME, TYPES, GRAPH, VALUE, LIBRARIES) NAME,
#include "src/ops/fused_functions.def"
};
std::string_view name(Activation activation);  // "relu"
// Whether cuDNN has it behind a convolution, cuBLASLt behind a product.
bool is_of_cudnn(Activation activation);
bool is_of_cublaslt(Activation activation);

// Batches of matrices, elements row by row: result[b] = activation(left[b] * right[b] + residual[b] + bias). As cublasLtMatmul computes it,
// whose matrices are column by column: there the operands are exchanged and m and n as well.
struct Product {
  ir::DataType type{};  // of all; the sums of half precision are of float
  std::int64_t m = 0;   // rows of left and of the result
  std::int64_t n = 0;   // columns of right and of the result
  std::int64_t k = 0;
  std::int64_t batch = 1;
  // Elements from one matrix to the next; 0: all have the same one.
  std::int64_t left_stride = 0;
  std::int64_t right_stride = 0;
  // Operands by their numbers in the kernel, those of post-operations counted.
  std::size_t left = 0;
  std::size_t right = 1;
  std::optional<std::size_t> bias = {};      // of n elements
  std::optional<std::size_t> residual = {};  // as the result
  Activation activation = Activation::none;
  friend bool operator==(const Product&, const Product&) = default;
};

// result = activation(convolution(image, weights) + residual + bias), cross-correlation as in ONNX. As cuDNN's graphs compute it.
struct Convolution {
  ir::DataType type{};
  Layout layout = Layout::plain;      // plain or channels_last, of all but the bias
  bool transposed = false;            // the gradient of the convolution's image: ONNX's ConvTranspose
  std::vector<std::int64_t> image;    // [N, C, spatial...] whatever the layout
  std::vector<std::int64_t> weights;  // as ONNX has them
  std::vector<std::int64_t> result;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> pads_before;
  std::vector<std::int64_t> pads_after;
  std::vector<std::int64_t> dilations;
  std::int64_t groups = 1;
  std::optional<std::size_t> bias = {};      // of as many elements as the result has channels
  std::optional<std::size_t> residual = {};  // as the result
  Activation activation = Activation::none;
  friend bool operator==(const Convolution&, const Convolution&) = default;
};

// A tensor of [batch, heads, rows, columns] and how many elements lie between neighbours along each.
struct Strided {
  std::array<std::int64_t, 4> dims{};
  std::array<std::int64_t, 4> strides{};
  friend bool operator==(const Strided&, const Strided&) = default;
};

// result = softmax(query key^T * scale + mask) value, the softmax along the columns. As cuDNN's graphs compute it: operands 0 to 3.
struct Attention {
  ir::DataType type{};  // half precision; sums and the softmax are of float
  Strided query;        // rows x depth
  Strided key;          // columns x depth
  Strided value;        // columns x depth of the result
  Strided result;
  std::optional<Strided> mask = {};  // rows x columns; a size of 1 is repeated
  double scale = 1;
  friend bool operator==(const Attention&, const Attention&) = default;
};

struct Kernel {
  std::variant<Product, Convolution, Attention, SourceProgram> work;  // source text has its prelude
  std::string text;  // one line, for reports; different for each of the ways of source text
};

// The kernels of `spec`, whose operands and results that have layouts lie in `layout`, of which each computes it: one product or
// convolution where the libraries have it with all its post-operations, otherwise source text, whose functions begin with `name`, in one or
// several ways; both for attention. Errors: unsupported, 'cannot run ... here: ...'.
Result<std::vector<Kernel>> kernels_of(const ops::KernelSpec& spec, Layout layout, std::string_view name);

// Whether the libraries compute it with all its post-operations.
std::optional<Product> product_of(const ops::KernelSpec& spec);
std::optional<Convolution> convolution_of(const ops::KernelSpec& spec, Layout layout);
std::optional<Attention> attention_of(const ops::KernelSpec& spec);

}  // namespace xflow::cost::gpu
