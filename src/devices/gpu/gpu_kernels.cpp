#include "src/devices/gpu/gpu_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "src/ops/fused_functions.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

namespace xflow::cost::gpu {
namespace {

using ops::KernelSpec;
using ops::TensorSpec;

bool has_library_type(const TensorSpec& tensor) {
  return tensor.data_type == ir::DataType::float32 || tensor.data_type == ir::DataType::float16 ||
         tensor.data_type == ir::DataType::bfloat16;
}

std::int64_t count(std::span<const std::int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

// The activation of a step without attributes; nothing if there is none.
std::optional<Activation> activation_of(const ops::StepFunction& step) {
  const ops::FusedFunction* function = ops::find_function(step);
  return function == nullptr ? std::nullopt : std::optional(static_cast<Activation>(static_cast<int>(function->id) + 1));
}

// The tensors that the post-operations add, and the activation that ends them.
struct Epilogue {
  std::optional<std::size_t> bias;
  std::optional<std::size_t> residual;
  Activation activation = Activation::none;
};

// `is_bias`: whether a tensor is a bias of the result. Nothing if no library can compute these
// post-operations.
std::optional<Epilogue> epilogue_of(const KernelSpec& spec, const std::function<bool(const TensorSpec&)>& is_bias) {
  Epilogue epilogue;
  std::size_t operand = spec.operands.size();
  for (const ops::PostOperation& post : spec.post) {
    if (epilogue.activation != Activation::none) return std::nullopt;
    if (post.operands.empty()) {
      const auto activation = post.reals.empty() ? activation_of(post.function) : std::nullopt;
      if (!activation) return std::nullopt;
      epilogue.activation = *activation;
      continue;
    }
    if (!post.function.is(ops::Op::Add) || post.operands.size() != 1) return std::nullopt;
    const TensorSpec& added = post.operands[0];
    if (added.data_type != spec.results[0].data_type) return std::nullopt;
    const bool is_residual = added.dims == spec.results[0].dims;
    std::optional<std::size_t>& place = is_residual ? epilogue.residual : epilogue.bias;
    if (place || (!is_residual && !is_bias(added))) return std::nullopt;
    place = operand++;
  }
  return epilogue;
}

bool all_positive(std::span<const std::int64_t> dims) {
  return std::ranges::all_of(dims, [](std::int64_t d) { return d > 0; });
}

std::vector<std::int64_t> integers(const KernelSpec& spec, const char* name, std::size_t size, std::int64_t otherwise) {
  const std::vector<std::int64_t>* found = spec.find(name);
  return found == nullptr || found->empty() ? std::vector<std::int64_t>(size, otherwise) : *found;
}

}  // namespace

std::string_view name(Activation activation) {
  return activation == Activation::none ? "none" : ops::name(static_cast<ops::FunctionId>(static_cast<int>(activation) - 1));
}

bool is_of_cudnn(Activation activation) {
  bool is = activation == Activation::none;
#define XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES) \
  if (activation == Activation::NAME) {                        \
    LIBRARIES                                                  \
  }
#define XFLOW_FUSED_FUNCTION(NAME, TYPES, GRAPH, VALUE, LIBRARIES) XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES)
#define XFLOW_CUDNN(MODE) is = true;
#include "src/ops/fused_functions.def"
  return is;
}

bool is_of_cublaslt(Activation activation) {
  bool is = activation == Activation::none;
#define XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES) \
  if (activation == Activation::NAME) {                        \
    LIBRARIES                                                  \
  }
#define XFLOW_FUSED_FUNCTION(NAME, TYPES, GRAPH, VALUE, LIBRARIES) XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES)
#define XFLOW_CUBLASLT(EPILOGUE) is = true;
#include "src/ops/fused_functions.def"
  return is;
}

std::optional<Product> product_of(const KernelSpec& spec) {
  if (!spec.is(ops::KernelFamily::product) || spec.operands.size() != 2 || spec.results.size() != 1 || !has_library_type(spec.results[0]))
    return std::nullopt;
  const std::vector<std::int64_t>& left = spec.operands[0].dims;
  const std::vector<std::int64_t>& right = spec.operands[1].dims;
  const std::vector<std::int64_t>& result = spec.results[0].dims;
  if (left.size() < 2 || right.size() < 2 || !all_positive(left) || !all_positive(right)) return std::nullopt;
  if (spec.operands[0].data_type != spec.results[0].data_type || spec.operands[1].data_type != spec.results[0].data_type)
    return std::nullopt;
  Product product;
  product.type = spec.results[0].data_type;
  product.m = left[left.size() - 2];
  product.k = left.back();
  product.n = right.back();
  const auto batch = [](const std::vector<std::int64_t>& dims) { return std::span(dims).first(dims.size() - 2); };
  product.batch = count(batch(result));
  const std::int64_t lefts = count(batch(left));
  const std::int64_t rights = count(batch(right));
  if (rights == 1 && lefts == product.batch) {
    // Joins all rows into one product.
    product.m *= product.batch;
    product.batch = 1;
  } else {
    // Each operand must have one matrix per result or one for all: partial broadcasting has no single
    // stride.
    if ((lefts != 1 && lefts != product.batch) || (rights != 1 && rights != product.batch)) return std::nullopt;
    product.left_stride = lefts == 1 ? 0 : product.m * product.k;
    product.right_stride = rights == 1 ? 0 : product.k * product.n;
  }
  const auto is_bias = [&](const TensorSpec& added) {
    return added.dims.size() >= 1 && added.dims.back() == product.n && count(added.dims) == product.n;
  };
  const auto epilogue = epilogue_of(spec, is_bias);
  if (!epilogue || !is_of_cublaslt(epilogue->activation)) return std::nullopt;
  product.bias = epilogue->bias;
  product.residual = epilogue->residual;
  product.activation = epilogue->activation;
  return product;
}

std::optional<Convolution> convolution_of(const KernelSpec& spec, Layout layout) {
  const bool transposed = spec.is(ops::Op::ConvTranspose);
  if (!spec.is(ops::KernelFamily::convolution) || spec.operands.size() != 2 || spec.results.size() != 1) return std::nullopt;
  if (layout != Layout::plain && layout != Layout::channels_last) return std::nullopt;
  const TensorSpec& result = spec.results[0];
  const std::vector<std::int64_t>& image = spec.operands[0].dims;
  if (!has_library_type(result) || image.size() < 3 || image.size() > 5 || !all_positive(result.dims) || !all_positive(image))
    return std::nullopt;
  if (spec.operands[0].data_type != result.data_type || spec.operands[1].data_type != result.data_type) return std::nullopt;
  const std::size_t spatial = image.size() - 2;
  Convolution convolution;
  convolution.type = result.data_type;
  convolution.layout = layout;
  convolution.transposed = transposed;
  convolution.image = image;
  convolution.weights = spec.operands[1].dims;
  convolution.result = result.dims;
  convolution.strides = integers(spec, "strides", spatial, 1);
  convolution.dilations = integers(spec, "dilations", spatial, 1);
  const std::vector<std::int64_t> pads = integers(spec, "pads", 2 * spatial, 0);
  if (!std::ranges::all_of(pads, [](std::int64_t pad) { return pad >= 0; })) return std::nullopt;  // cuDNN cannot crop
  convolution.pads_before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  convolution.pads_after.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  convolution.groups = integers(spec, "groups", 1, 1)[0];
  const auto is_bias = [&](const TensorSpec& added) {
    const std::int64_t channels = result.dims[1];
    if (count(added.dims) != channels || added.dims.size() > result.dims.size()) return false;
    // The axis of the channels in `added`, which is aligned to the end of the result's dimensions.
    const std::size_t axis = added.dims.size() + 1 - result.dims.size();
    return channels == 1 || (added.dims.size() + 1 >= result.dims.size() && added.dims[axis] == channels);
  };
  const auto epilogue = epilogue_of(spec, is_bias);
  if (!epilogue || !is_of_cudnn(epilogue->activation)) return std::nullopt;
  convolution.bias = epilogue->bias;
  convolution.residual = epilogue->residual;
  convolution.activation = epilogue->activation;
  return convolution;
}

namespace {

// A tensor of up to four dimensions, with leading dimensions of 1 added. `order`: dimension k of the tensor
// is dims[order[k]].
Strided strided(std::vector<std::int64_t> dims, std::vector<std::int64_t> order = {}) {
  Strided result;
  const std::size_t missing = result.dims.size() - dims.size();
  if (order.empty()) {
    order.resize(dims.size());
    std::iota(order.begin(), order.end(), 0);
  }
  // The strides of `dims` in memory order.
  std::vector<std::int64_t> steps(dims.size(), 1);
  for (std::size_t k = dims.size(); k-- > 1;) steps[k - 1] = steps[k] * dims[k];
  for (std::size_t k = 0; k < dims.size(); ++k) {
    result.dims[missing + k] = dims[static_cast<std::size_t>(order[k])];
    result.strides[missing + k] = steps[static_cast<std::size_t>(order[k])];
  }
  for (std::size_t k = missing; k-- > 0;) {
    result.dims[k] = 1;
    result.strides[k] = count(dims);
  }
  return result;
}

}  // namespace

std::optional<Attention> attention_of(const KernelSpec& spec) {
  constexpr std::size_t kMostDims = 4;
  constexpr std::int64_t kDepths = 8;  // the depth must be a multiple of this
  constexpr std::int64_t kMostDepth = 256;
  if (!spec.is(ops::KernelFamily::attention) || spec.operands.size() < 3 || spec.operands.size() > 4 || spec.results.size() != 1 ||
      !spec.post.empty())
    return std::nullopt;
  const TensorSpec& result = spec.results[0];
  if (result.data_type != ir::DataType::float16 && result.data_type != ir::DataType::bfloat16) return std::nullopt;
  const std::size_t rank = result.dims.size();
  if (rank < 3 || rank > kMostDims) return std::nullopt;
  for (std::size_t k = 0; k < spec.operands.size(); ++k) {
    const TensorSpec& operand = spec.operands[k];
    if (operand.data_type != result.data_type || !all_positive(operand.dims) || (k < 3 && operand.dims.size() != rank)) return std::nullopt;
  }
  const std::vector<std::int64_t>* perm = spec.find("perm");
  if (perm == nullptr || perm->size() != rank) return std::nullopt;
  // `perm` transposes the key before the product, with the columns last and the depth before them.
  std::vector<std::int64_t> order = *perm;
  std::swap(order[rank - 2], order[rank - 1]);
  Attention attention;
  attention.type = result.data_type;
  attention.query = strided(spec.operands[0].dims);
  attention.key = strided(spec.operands[1].dims, order);
  attention.value = strided(spec.operands[2].dims);
  attention.result = strided(result.dims);
  attention.scale = spec.reals.empty() ? 1 : spec.reals[0].second;
  const auto& q = attention.query.dims;
  const auto& k = attention.key.dims;
  const auto& v = attention.value.dims;
  const bool fits = q[0] == k[0] && q[0] == v[0] && q[1] == k[1] && q[1] == v[1] && q[3] == k[3] && k[2] == v[2] &&
                    attention.result.dims == std::array{q[0], q[1], q[2], v[3]};
  if (!fits || attention.key.strides[3] != 1) return std::nullopt;
  if (q[3] % kDepths != 0 || v[3] % kDepths != 0 || q[3] > kMostDepth || v[3] > kMostDepth) return std::nullopt;
  if (spec.operands.size() == 4) {
    if (spec.operands[3].dims.size() > kMostDims) return std::nullopt;
    attention.mask = strided(spec.operands[3].dims);
    const std::array whole = {q[0], q[1], q[2], k[2]};
    for (std::size_t i = 0; i < whole.size(); ++i)
      if (attention.mask->dims[i] != 1 && attention.mask->dims[i] != whole[i]) return std::nullopt;
  }
  return attention;
}

Result<std::vector<GpuKernel>> kernels_of(const KernelSpec& spec, Layout layout, std::string_view name) {
  if (const auto product = product_of(spec)) {
    return std::vector<GpuKernel>{
        {*product, fmt::format("cuBLASLt {}x{}x{}, {} times", product->m, product->n, product->k, product->batch)}};
  }
  if (const auto convolution = convolution_of(spec, layout)) {
    return std::vector<GpuKernel>{{*convolution, fmt::format("cuDNN {} of [{}], {}", ops::kernel_name(spec),
                                                             fmt::join(convolution->image, ","), cost::name(layout))}};
  }
  const auto cannot = [&](const std::string& why) {
    return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: {}", ops::to_string(spec), why));
  };
  const auto lies_elsewhere = [&](const TensorSpec& tensor) { return has_layouts(tensor) && !same_bytes(tensor, Layout::plain, layout); };
  if (!spec.is(ops::KernelFamily::reorder) && !is_plain(layout) &&
      (std::ranges::any_of(spec.operands, lies_elsewhere) || std::ranges::any_of(spec.results, lies_elsewhere)))
    return cannot(fmt::format("there is no such kernel on {} tensors", cost::name(layout)));
  auto block = kernel_source(spec, name);
  if (!block) return cannot(block.error().message);
  std::vector<GpuKernel> kernels;
  if (const auto attention = attention_of(spec))
    kernels.push_back({*attention, fmt::format("cuDNN attention of [{}]", fmt::join(attention->query.dims, ","))});
  const auto add = [&](SourceProgram source, const char* way) {
    source.text = kernel_source_prelude() + source.text;
    kernels.push_back({std::move(source), fmt::format("source text, {}", way)});
  };
  if (auto row = kernel_source(spec, name, SourceWay::row)) add(*std::move(row), "a block a row");
  auto thread = kernel_source(spec, name, SourceWay::thread);
  const bool differs = thread && thread->text != block->text;
  add(*std::move(block), differs ? "a block a sum" : "a thread an element");
  if (differs) add(*std::move(thread), "a thread a sum");
  return kernels;
}

}  // namespace xflow::cost::gpu
