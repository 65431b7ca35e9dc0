#include "src/cost/cpu/dnnl_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

// oneDNN brings the OpenMP runtime that it was built with; binding to it by name avoids a second one.
extern "C" __attribute__((weak)) void omp_set_num_threads(int threads);

namespace xflow::cost::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using Dims = std::vector<std::int64_t>;
constexpr auto kInference = dnnl::prop_kind::forward_inference;

// What oneDNN lacks, found while a kernel is built. Ends in build().
struct Lacking {
  std::string what;
};

memory::data_type type_of(ir::DataType type) {
  switch (type) {
    case ir::DataType::float32:
      return memory::data_type::f32;
    case ir::DataType::bfloat16:
      return memory::data_type::bf16;
    default:
      throw Lacking{fmt::format("element type {}", ir::name(type))};
  }
}

memory::desc plain_desc(const Dims& dims, memory::data_type type) { return {dims, type, layout_strides(dims, Layout::plain)}; }

memory::desc any_desc(const Dims& dims, memory::data_type type) { return {dims, type, memory::format_tag::any}; }

memory::desc layout_desc(const Dims& dims, memory::data_type type, Layout layout) {
  using Tag = memory::format_tag;
  static const std::map<std::pair<Layout, std::size_t>, Tag> kBlocked = {
      {{Layout::blocked4, 3}, Tag::nCw4c},   {{Layout::blocked4, 4}, Tag::nChw4c},   {{Layout::blocked4, 5}, Tag::nCdhw4c},
      {{Layout::blocked8, 3}, Tag::nCw8c},   {{Layout::blocked8, 4}, Tag::nChw8c},   {{Layout::blocked8, 5}, Tag::nCdhw8c},
      {{Layout::blocked16, 3}, Tag::nCw16c}, {{Layout::blocked16, 4}, Tag::nChw16c}, {{Layout::blocked16, 5}, Tag::nCdhw16c},
  };
  if (dims.size() < 3 || dims.size() > 5) return plain_desc(dims, type);
  if (layout == Layout::any) return any_desc(dims, type);
  const auto tag = kBlocked.find({layout, dims.size()});
  if (tag != kBlocked.end()) return {dims, type, tag->second};
  return {dims, type, layout_strides(dims, layout)};
}

Layout layout_of(const memory::desc& desc) {
  const Dims dims = desc.dims();
  if (dims.size() < 3 || dims.size() > 5) return Layout::plain;
  for (const Layout layout : {Layout::channels_last, Layout::plain, Layout::blocked4, Layout::blocked8, Layout::blocked16}) {
    if (layout_desc(dims, desc.data_type(), layout) == desc) return layout;
  }
  throw Lacking{"a known layout"};
}

bool is_reference(const char* implementation) { return std::string_view(implementation).find("ref") != std::string_view::npos; }

// One step of a post-operation chain as oneDNN spells it.
struct Eltwise {
  algorithm function;
  float alpha = 0;
  float beta = 0;
};

// The eltwise functions that an operator of one operand is; empty if oneDNN has none.
std::vector<Eltwise> eltwise_of(std::string_view operation, const std::vector<double>& reals) {
  const auto real = [&](std::size_t k, double otherwise) { return static_cast<float>(k < reals.size() ? reals[k] : otherwise); };
  static const std::unordered_map<std::string_view, Eltwise> kSimple = {
      {"relu", {algorithm::eltwise_relu}},
      {"tanh", {algorithm::eltwise_tanh}},
      {"square", {algorithm::eltwise_square}},
      {"abs", {algorithm::eltwise_abs}},
      {"sqrt", {algorithm::eltwise_sqrt}},
      {"sigmoid", {algorithm::eltwise_logistic}},
      {"exp", {algorithm::eltwise_exp}},
      {"log", {algorithm::eltwise_log}},
      {"round", {algorithm::eltwise_round}},
      {"neg", {algorithm::eltwise_linear, -1.0F, 0.0F}},
      {"reciprocal", {algorithm::eltwise_pow, 1.0F, -1.0F}},
      {"softplus", {algorithm::eltwise_soft_relu}},
      {"hard_swish", {algorithm::eltwise_hardswish}},
      {"swish", {algorithm::eltwise_swish, 1.0F}},
      {"gelu_erf", {algorithm::eltwise_gelu_erf}},
      {"gelu_tanh", {algorithm::eltwise_gelu_tanh}},
      {"mish", {algorithm::eltwise_mish}},
  };
  constexpr float kMax = std::numeric_limits<float>::max();
  if (operation == "leaky_relu") return {{algorithm::eltwise_relu, real(0, 0.01), 0.0F}};
  if (operation == "elu") return {{algorithm::eltwise_elu, real(0, 1.0), 0.0F}};
  if (operation == "clip" && reals.size() == 2) {
    return {{algorithm::eltwise_clip, std::max(real(0, 0), -kMax), std::min(real(1, 0), kMax)}};
  }
  if (operation == "hard_sigmoid") {
    return {{algorithm::eltwise_linear, real(0, 0.2), real(1, 0.5)}, {algorithm::eltwise_clip, 0.0F, 1.0F}};
  }
  const auto found = kSimple.find(operation);
  if (found == kSimple.end()) return {};
  return {found->second};
}

std::optional<algorithm> binary_of(std::string_view operation) {
  static const std::unordered_map<std::string_view, algorithm> kBinary = {
      {"add", algorithm::binary_add}, {"sub", algorithm::binary_sub},     {"mul", algorithm::binary_mul},
      {"div", algorithm::binary_div}, {"maximum", algorithm::binary_max}, {"minimum", algorithm::binary_min},
  };
  const auto found = kBinary.find(operation);
  return found == kBinary.end() ? std::nullopt : std::optional(found->second);
}

bool commutes(std::string_view operation) { return operation != "sub" && operation != "div"; }

class DnnlKernel final : public Kernel {
 public:
  struct Port {
    memory buffer;
    memory::desc user;  // the spec's row-major tensor in the dimensions that the kernel sees
  };

  DnnlKernel(dnnl::engine engine, dnnl::stream stream) : engine_(std::move(engine)), stream_(std::move(stream)) {}

  void run() override {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

  Result<void> write(std::size_t operand, std::span<const double> values) override {
    try {
      Port& port = operands_.at(operand);
      convert(port.buffer, port.user, values);
      return {};
    } catch (const std::exception& exception) {
      return fail(ErrorCode::unsupported, fmt::format("cannot write operand {}: {}", operand, exception.what()));
    }
  }

  Result<std::vector<double>> read(std::size_t result) const override {
    try {
      const Port& port = results_.at(result);
      const memory::desc user = plain_desc(port.user.dims(), memory::data_type::f32);
      memory plain(user, engine_);
      memory from = port.buffer;
      dnnl::reorder(from, plain).execute(stream_, from, plain);
      stream_.wait();
      const auto* data = static_cast<const float*>(plain.get_data_handle());
      return std::vector<double>(data, data + user.get_size() / sizeof(float));
    } catch (const std::exception& exception) {
      return fail(ErrorCode::unsupported, fmt::format("cannot read result {}: {}", result, exception.what()));
    }
  }

  std::string_view implementation() const override { return implementation_; }
  Layout operand_layout() const override { return operand_layout_; }
  Layout result_layout() const override { return result_layout_; }

  // While building.
  memory add_operand(const memory::desc& desc, const memory::desc& user) {
    operands_.push_back({memory(desc, engine_), user});
    return operands_.back().buffer;
  }
  memory add_result(const memory::desc& desc, const memory::desc& user) {
    results_.push_back({memory(desc, engine_), user});
    return results_.back().buffer;
  }
  void finish(dnnl::primitive primitive, std::unordered_map<int, memory> arguments, const char* implementation, Layout operands,
              Layout results) {
    primitive_ = std::move(primitive);
    arguments_ = std::move(arguments);
    implementation_ = implementation;
    operand_layout_ = operands;
    result_layout_ = results;
    // Ordinary numbers: no denormals.
    for (Port& port : operands_) {
      const memory::desc desc = port.buffer.get_desc();
      const bool single = desc.data_type() == memory::data_type::f32;
      if (single) std::fill_n(static_cast<float*>(port.buffer.get_data_handle()), desc.get_size() / sizeof(float), 0.5F);
      if (!single) std::fill_n(static_cast<char*>(port.buffer.get_data_handle()), desc.get_size(), 0);
    }
  }

 private:
  void convert(memory& buffer, const memory::desc& user, std::span<const double> values) {
    memory plain(user, engine_);
    auto* data = static_cast<float*>(plain.get_data_handle());
    const std::size_t size = user.get_size() / sizeof(float);
    for (std::size_t k = 0; k < std::min(size, values.size()); ++k) data[k] = static_cast<float>(values[k]);
    dnnl::reorder(plain, buffer).execute(stream_, plain, buffer);
    stream_.wait();
  }

  dnnl::engine engine_;
  mutable dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
  std::vector<Port> operands_;
  std::vector<Port> results_;
  std::string implementation_;
  Layout operand_layout_ = Layout::plain;
  Layout result_layout_ = Layout::plain;
};

// Builds one kernel from its spec.
class Builder {
 public:
  Builder(const ops::KernelSpec& spec, Layout layout, const dnnl::engine& engine, const dnnl::stream& stream)
      : spec_(spec), layout_(layout), engine_(engine), kernel_(std::make_unique<DnnlKernel>(engine, stream)) {}

  std::unique_ptr<Kernel> build() {
    const std::string_view kernel = spec_.kernel;
    if (kernel == "matmul") {
      matmul();
    } else if (kernel == "convolution") {
      convolution();
    } else if (kernel == "transposed_convolution") {
      transposed_convolution();
    } else if (kernel == "pool_max" || kernel == "pool_average") {
      pool();
    } else if (kernel == "reduce") {
      spatial_mean();
    } else if (kernel == "softmax") {
      softmax<dnnl::softmax_forward>();
    } else if (kernel == "log_softmax") {
      softmax<dnnl::logsoftmax_forward>();
    } else if (kernel == "normalization") {
      layer_normalization();
    } else if (kernel == "copy" && spec_.word == "concat") {
      concat();
    } else if (kernel == "copy" && spec_.word.starts_with("resize")) {
      resample();
    } else if (kernel == "reorder") {
      reorder();
    } else if (kernel.starts_with("pointwise/")) {
      pointwise();
    } else {
      throw Lacking{"such a kernel"};
    }
    return std::move(kernel_);
  }

 private:
  const Dims& operand_dims(std::size_t k) const { return spec_.operands.at(k).dims; }
  const Dims& result_dims() const { return spec_.results.at(0).dims; }
  memory::data_type operand_type(std::size_t k) const { return type_of(spec_.operands.at(k).data_type); }

  Dims integers(const std::string& name, const Dims& otherwise = {}) const {
    const auto* found = spec_.find(name);
    return found == nullptr || found->empty() ? otherwise : *found;
  }

  // An operand that the kernel wants in `wanted`, whose row-major tensor has the dimensions `dims`.
  memory operand(const memory::desc& wanted, const Dims& dims) {
    return kernel_->add_operand(wanted, plain_desc(dims, memory::data_type::f32));
  }
  memory result(const memory::desc& wanted, const Dims& dims) { return kernel_->add_result(wanted, plain_desc(dims, wanted.data_type())); }

  // The post-operations `steps` for a result of size `dims`. Their operands lie in the layout of the result; its descriptor is known for
  // post-operations only after the kernel was chosen, so the layout is asked for before. Operands are added to the kernel by bind_post.
  dnnl::primitive_attr attributes(std::span<const Step> steps, const Dims& dims, Layout layout) {
    dnnl::primitive_attr attributes;
    dnnl::post_ops post;
    const std::vector<ops::TensorSpec> all = all_operands(spec_);
    post_operands_.clear();
    for (const Step& step : steps) {
      if (step.operands.empty()) {
        const std::vector<Eltwise> functions = eltwise_of(step.operation, step.reals);
        if (functions.empty()) throw Lacking{fmt::format("the post-operation {}", step.operation)};
        for (const Eltwise& f : functions) post.append_eltwise(1.0F, f.function, f.alpha, f.beta);
        continue;
      }
      auto function = binary_of(step.operation);
      if (!function || step.operands.size() != 1) throw Lacking{fmt::format("the post-operation {}", step.operation)};
      if (step.position == 1 && step.operation == "sub") {  // c - v = -v + c
        post.append_eltwise(1.0F, algorithm::eltwise_linear, -1.0F, 0.0F);
        function = algorithm::binary_add;
      } else if (step.position == 1 && step.operation == "div") {  // c / v = v^-1 * c
        post.append_eltwise(1.0F, algorithm::eltwise_pow, 1.0F, -1.0F);
        function = algorithm::binary_mul;
      }
      const ops::TensorSpec& tensor = all.at(step.operands[0]);
      const Dims own = fold(tensor.dims, dims.size());
      for (std::size_t k = 0; k < own.size(); ++k) {
        if (own[k] != dims[k] && own[k] != 1) throw Lacking{"a post-operation with this operand"};
      }
      const memory::desc desc = layout_desc(own, type_of(tensor.data_type), layout);
      post_operands_.push_back({post.len(), desc, own});
      post.append_binary(*function, desc);
    }
    attributes.set_post_ops(post);
    return attributes;
  }

  void bind_post(std::unordered_map<int, memory>& arguments) {
    for (const auto& [index, desc, dims] : post_operands_) {
      arguments.insert({DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1, operand(desc, dims)});
    }
  }

  // Dimensions of a broadcast operand as the kernel sees it: rank `rank`; leading dimensions are joined where a product was flattened.
  Dims fold(const Dims& dims, std::size_t rank) const {
    if (!flattened_) return padded_to(dims, rank);
    const Dims full = padded_to(dims, 2);
    std::int64_t rows = 1;
    for (std::size_t k = 0; k + 1 < full.size(); ++k) rows *= full[k];
    return {rows, full.back()};
  }

  // If the first post-operation adds a tensor that varies along dimension `channel` alone, that is the kernel's bias.
  bool first_is_bias(const Dims& dims, std::size_t channel, std::span<const Step> steps) const {
    if (steps.empty() || steps[0].operation != "add" || steps[0].operands.size() != 1) return false;
    const ops::TensorSpec tensor = all_operands(spec_).at(steps[0].operands[0]);
    if (tensor.data_type != ir::DataType::float32) return false;
    const Dims own = fold(tensor.dims, dims.size());
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (own[k] != (k == channel ? dims[k] : 1)) return false;
    }
    return true;
  }

  void matmul() {
    Dims a = operand_dims(0);
    Dims b = operand_dims(1);
    Dims c = result_dims();
    if (a.size() < 2 || b.size() < 2) throw Lacking{"products of vectors"};
    const std::vector<Step> steps = post_steps(spec_);
    // A weight of rank 2 multiplies all rows at once.
    const auto outer = [](const Dims& dims) { return std::accumulate(dims.begin(), dims.end() - 2, std::int64_t{1}, std::multiplies<>()); };
    flattened_ = c.size() > 2 && outer(b) == 1 && std::ranges::all_of(steps, [&](const Step& step) {
                   return std::ranges::all_of(step.operands, [&](std::size_t k) {
                     const Dims own = padded_to(all_operands(spec_).at(k).dims, c.size());
                     return std::equal(own.begin(), own.end() - 1, c.begin()) ||
                            std::all_of(own.begin(), own.end() - 1, [](std::int64_t d) { return d == 1; });
                   });
                 });
    if (flattened_) {
      a = {outer(a) * a[a.size() - 2], a.back()};
      b = {b[b.size() - 2], b.back()};
      c = {outer(c) * c[c.size() - 2], c.back()};
    } else {
      a = padded_to(a, c.size());
      b = padded_to(b, c.size());
    }
    const memory::data_type type = operand_type(0);
    // Constants are packed before; values computed at run time are row-major.
    const auto desc = [&](const Dims& dims, bool constant) { return constant ? any_desc(dims, type) : plain_desc(dims, type); };
    const memory::desc a_desc = desc(a, false);
    const memory::desc b_desc = desc(b, spec_.operands[1].constant && outer(b) == 1);
    const bool bias = first_is_bias(c, c.size() - 1, steps);
    const dnnl::primitive_attr attr = attributes(std::span(steps).subspan(bias ? 1 : 0), c, Layout::plain);
    Dims bias_dims(c.size(), 1);
    bias_dims.back() = c.back();
    const memory::desc bias_desc = bias ? plain_desc(bias_dims, memory::data_type::f32) : memory::desc();
    const dnnl::matmul::primitive_desc pd({a_desc, b_desc, bias_desc, plain_desc(c, type)}, attr, engine_);
    std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, operand(pd.src_desc(), a)},
                                                 {DNNL_ARG_WEIGHTS, operand(pd.weights_desc(), b)}};
    if (bias) arguments.insert({DNNL_ARG_BIAS, operand(pd.bias_desc(), bias_dims)});
    bind_post(arguments);
    arguments.insert({DNNL_ARG_DST, result(pd.dst_desc(), c)});
    kernel_->finish(dnnl::matmul(pd), std::move(arguments), pd.impl_info_str(), Layout::plain, Layout::plain);
  }

  // The descriptor of weights that lie row-major as [outer, inner, kernel...] or, transposed, [inner, outer, kernel...], split by groups.
  static Dims grouped(const Dims& weights, std::int64_t groups, bool transposed) {
    Dims dims = weights;
    if (transposed) {
      std::swap(dims[0], dims[1]);
      dims[1] /= groups;
    } else {
      dims[0] /= groups;
    }
    if (groups > 1) dims.insert(dims.begin(), groups);
    return dims;
  }

  struct Window {
    Dims strides, dilations, begin, end;
  };

  // Padding at the end is what makes the result's size come out.
  Window window(const Dims& kernel, bool transposed) const {
    const std::size_t spatial = kernel.size();
    Window w;
    w.strides = integers("strides", Dims(spatial, 1));
    w.dilations = integers("dilations", Dims(spatial, 1));
    const Dims pads = integers("pads", Dims(2 * spatial, 0));
    const Dims& small = transposed ? result_dims() : operand_dims(0);
    const Dims& counted = transposed ? operand_dims(0) : result_dims();
    for (std::size_t k = 0; k < spatial; ++k) {
      const std::int64_t extent = (kernel[k] - 1) * w.dilations[k] + 1;
      w.begin.push_back(pads[k]);
      w.end.push_back((counted[k + 2] - 1) * w.strides[k] + extent - small[k + 2] - pads[k]);
      w.dilations[k] -= 1;
    }
    return w;
  }

  template <typename Primitive>
  void convolve(algorithm function, bool transposed) {
    const Dims x = operand_dims(0);
    const Dims w = operand_dims(1);
    const Dims y = result_dims();
    const std::int64_t groups = integers("groups", {1})[0];
    const Dims weights = grouped(w, groups, transposed);
    const Window win = window(Dims(w.begin() + 2, w.end()), transposed);
    const memory::data_type type = operand_type(0);
    const std::vector<Step> steps = post_steps(spec_);
    const bool bias = first_is_bias(y, 1, steps);
    const memory::desc bias_desc = bias ? plain_desc({y[1]}, memory::data_type::f32) : memory::desc();
    const auto make = [&](const dnnl::primitive_attr& attr) {
      const typename Primitive::desc desc(kInference, function, layout_desc(x, type, layout_), any_desc(weights, type), bias_desc,
                                          layout_desc(y, type, layout_), win.strides, win.dilations, win.begin, win.end);
      return typename Primitive::primitive_desc(desc, attr, engine_);
    };
    typename Primitive::primitive_desc pd = make({});
    const std::span<const Step> post = std::span(steps).subspan(bias ? 1 : 0);
    if (!post.empty()) {
      // Binary post-operations need the layout of the result, which may change with them: ask until it stays.
      Layout layout = layout_of(pd.dst_desc());
      for (int attempt = 0; attempt < 3; ++attempt) {
        pd = make(attributes(post, y, layout));
        const Layout chosen = layout_of(pd.dst_desc());
        if (chosen == layout) break;
        layout = chosen;
        if (attempt == 2) throw Lacking{"one layout for result and post-operations"};
      }
      if (is_reference(pd.impl_info_str())) throw Lacking{"these post-operations"};
    }
    std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, operand(pd.src_desc(), x)}};
    // The user's weights, seen with the groups apart.
    const memory::desc user = transposed ? transposed_weights(weights, groups > 1) : plain_desc(weights, memory::data_type::f32);
    arguments.insert({DNNL_ARG_WEIGHTS, kernel_->add_operand(pd.weights_desc(), user)});
    if (bias) arguments.insert({DNNL_ARG_BIAS, operand(pd.bias_desc(), {y[1]})});
    bind_post(arguments);
    arguments.insert({DNNL_ARG_DST, result(pd.dst_desc(), y)});
    kernel_->finish(Primitive(pd), std::move(arguments), pd.impl_info_str(), layout_of(pd.src_desc()), layout_of(pd.dst_desc()));
  }

  // Weights of a transposed convolution lie as [groups * inner, outer, kernel...].
  static memory::desc transposed_weights(const Dims& weights, bool groups) {
    Dims order = weights;
    const std::size_t first = groups ? 1 : 0;
    std::swap(order[first], order[first + 1]);
    Dims strides = layout_strides(order, Layout::plain);
    std::swap(strides[first], strides[first + 1]);
    return {weights, memory::data_type::f32, strides};
  }

  void convolution() { convolve<dnnl::convolution_forward>(algorithm::convolution_direct, false); }
  void transposed_convolution() { convolve<dnnl::deconvolution_forward>(algorithm::deconvolution_direct, true); }

  void one_operand(const dnnl::primitive& primitive, const memory::desc& src, const memory::desc& dst, const char* implementation) {
    std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, operand(src, operand_dims(0))}};
    bind_post(arguments);
    arguments.insert({DNNL_ARG_DST, result(dst, dst.dims())});
    kernel_->finish(primitive, std::move(arguments), implementation, layout_of(src), layout_of(dst));
  }

  void pool_with(const Dims& kernel, algorithm function, const Dims& y) {
    const Dims& x = operand_dims(0);
    const memory::data_type type = operand_type(0);
    Window w;
    w.strides = integers("strides", Dims(kernel.size(), 1));
    w.dilations = integers("dilations", Dims(kernel.size(), 1));
    w.begin = integers("pads", Dims(2 * kernel.size(), 0));
    for (std::size_t k = 0; k < kernel.size(); ++k) {
      const std::int64_t extent = (kernel[k] - 1) * w.dilations[k] + 1;
      w.end.push_back((y[k + 2] - 1) * w.strides[k] + extent - x[k + 2] - w.begin[k]);
      w.dilations[k] -= 1;
    }
    w.begin.resize(kernel.size());
    const dnnl::pooling_v2_forward::desc desc(kInference, function, layout_desc(x, type, layout_), layout_desc(y, type, layout_), w.strides,
                                              kernel, w.dilations, w.begin, w.end);
    const dnnl::pooling_v2_forward::primitive_desc pd(desc, engine_);
    one_operand(dnnl::pooling_v2_forward(pd), pd.src_desc(), pd.dst_desc(), pd.impl_info_str());
  }

  void pool() {
    if (spec_.operands.size() != 1 || spec_.results.size() != 1 || !spec_.post.empty()) throw Lacking{"such a pooling"};
    const bool include = integers("count_include_pad", {0})[0] != 0;
    const algorithm function = spec_.kernel == "pool_max" ? algorithm::pooling_max
                               : include                  ? algorithm::pooling_avg_include_padding
                                                          : algorithm::pooling_avg_exclude_padding;
    pool_with(integers("kernel"), function, result_dims());
  }

  // The mean over all spatial dimensions is one pooling; oneDNN's own reductions of other kinds are reference code.
  void spatial_mean() {
    const Dims& x = operand_dims(0);
    Dims axes;
    for (std::size_t k = 2; k < x.size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
    if (spec_.word != "mean" || x.size() < 3 || x.size() > 5 || integers("axes") != axes || !spec_.post.empty())
      throw Lacking{"this reduction"};
    Dims y = x;
    std::fill(y.begin() + 2, y.end(), 1);
    pool_with(Dims(x.begin() + 2, x.end()), algorithm::pooling_avg_exclude_padding, y);
  }

  template <typename Primitive>
  void softmax() {
    const std::int64_t axis = integers("axis", {-1})[0];
    const auto rank = static_cast<std::int64_t>(operand_dims(0).size());
    const memory::desc desc = layout_desc(operand_dims(0), operand_type(0), layout_);
    const typename Primitive::primitive_desc pd({kInference, desc, static_cast<int>(axis < 0 ? axis + rank : axis)}, engine_);
    one_operand(Primitive(pd), desc, desc, pd.impl_info_str());
  }

  // "normalization:layer": operands x, scale, shift over the last dimension.
  void layer_normalization() {
    const Dims& x = operand_dims(0);
    const Dims last = {static_cast<std::int64_t>(x.size()) - 1};
    if (spec_.word != "layer" || integers("axes") != last || x.size() < 2) throw Lacking{"this normalisation"};
    const memory::desc desc = plain_desc(x, operand_type(0));
    using Flags = dnnl::normalization_flags;
    Flags flags = Flags::none;
    if (spec_.operands.size() > 1) flags |= Flags::use_scale;
    if (spec_.operands.size() > 2) flags |= Flags::use_shift;
    float epsilon = 1e-5F;
    for (const auto& [name, value] : spec_.reals) epsilon = name == "epsilon" ? static_cast<float>(value) : epsilon;
    const dnnl::layer_normalization_forward::primitive_desc pd({kInference, desc, epsilon, flags}, engine_);
    std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, operand(desc, x)}};
    const memory::desc vector = plain_desc({x.back()}, memory::data_type::f32);
    if (spec_.operands.size() > 1) arguments.insert({DNNL_ARG_SCALE, operand(vector, {x.back()})});
    if (spec_.operands.size() > 2) arguments.insert({DNNL_ARG_SHIFT, operand(vector, {x.back()})});
    arguments.insert({DNNL_ARG_DST, result(desc, x)});
    kernel_->finish(dnnl::layer_normalization_forward(pd), std::move(arguments), pd.impl_info_str(), Layout::plain, Layout::plain);
  }

  void concat() {
    const auto rank = static_cast<std::int64_t>(result_dims().size());
    const std::int64_t axis = integers("axis", {0})[0];
    std::vector<memory::desc> sources;
    for (std::size_t k = 0; k < spec_.operands.size(); ++k) sources.push_back(layout_desc(operand_dims(k), operand_type(k), layout_));
    const memory::desc target = layout_desc(result_dims(), operand_type(0), layout_);
    const dnnl::concat::primitive_desc pd(target, static_cast<int>(axis < 0 ? axis + rank : axis), sources, engine_);
    if (is_reference(pd.impl_info_str())) throw Lacking{"this concatenation"};
    std::unordered_map<int, memory> arguments;
    for (std::size_t k = 0; k < sources.size(); ++k) {
      arguments.insert({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(k), operand(sources[k], operand_dims(k))});
    }
    arguments.insert({DNNL_ARG_DST, result(target, result_dims())});
    kernel_->finish(dnnl::concat(pd), std::move(arguments), pd.impl_info_str(), layout_of(target), layout_of(target));
  }

  // oneDNN samples at half pixels, nearest in its own rounding: other kinds read other elements, but as many, in the same order.
  void resample() {
    const bool nearest = !spec_.word.starts_with("resize/linear");
    if (spec_.word.starts_with("resize/cubic")) throw Lacking{"cubic resizing"};
    const memory::desc source = layout_desc(operand_dims(0), operand_type(0), layout_);
    const memory::desc target = layout_desc(result_dims(), operand_type(0), layout_);
    const dnnl::resampling_forward::desc desc(kInference, nearest ? algorithm::resampling_nearest : algorithm::resampling_linear, source,
                                              target);
    const dnnl::resampling_forward::primitive_desc pd(desc, engine_);
    one_operand(dnnl::resampling_forward(pd), source, target, pd.impl_info_str());
  }

  void reorder() {
    const auto from = static_cast<Layout>(integers("from", {1})[0]);
    const auto to = static_cast<Layout>(integers("to", {1})[0]);
    const memory::desc source = layout_desc(operand_dims(0), operand_type(0), from);
    const memory::desc target = layout_desc(operand_dims(0), operand_type(0), to);
    const dnnl::reorder::primitive_desc pd(engine_, source, engine_, target);
    std::unordered_map<int, memory> arguments = {{DNNL_ARG_FROM, operand(source, operand_dims(0))},
                                                 {DNNL_ARG_TO, result(target, operand_dims(0))}};
    kernel_->finish(dnnl::reorder(pd), std::move(arguments), pd.impl_info_str(), from, to);
  }

  void pointwise() {
    std::vector<Step> steps = pointwise_steps(spec_);
    const Dims& y = result_dims();
    if (y.empty() || y.size() > 5) throw Lacking{"tensors of this rank"};
    const memory::data_type type = operand_type(0);
    const memory::desc target = layout_desc(y, type, layout_);
    const Step& base = steps[0];
    if (base.operands.empty()) {
      if (operand_dims(0) != y) throw Lacking{"broadcasting of the first operand"};
      const std::vector<Eltwise> functions = eltwise_of(base.operation, base.reals);
      if (functions.empty()) throw Lacking{fmt::format("{}", base.operation)};
      const Eltwise& f = functions[0];
      // What else the operator needs comes first among the post-operations.
      dnnl::primitive_attr attr = attributes(std::span(steps).subspan(1), y, layout_);
      if (functions.size() > 1) {
        dnnl::post_ops post;
        for (std::size_t k = 1; k < functions.size(); ++k)
          post.append_eltwise(1.0F, functions[k].function, functions[k].alpha, functions[k].beta);
        if (steps.size() > 1) throw Lacking{fmt::format("{} before other operators", base.operation)};
        attr.set_post_ops(post);
      }
      const dnnl::eltwise_forward::primitive_desc pd({kInference, f.function, target, f.alpha, f.beta}, attr, engine_);
      if (is_reference(pd.impl_info_str())) throw Lacking{fmt::format("{}", base.operation)};
      one_operand(dnnl::eltwise_forward(pd), target, target, pd.impl_info_str());
      return;
    }
    const auto function = binary_of(base.operation);
    if (!function || base.operands.size() != 1) throw Lacking{fmt::format("{}", base.operation)};
    const std::array<Dims, 2> own = {padded_to(operand_dims(0), y.size()), padded_to(operand_dims(1), y.size())};
    std::array<memory::desc, 2> sources = {layout_desc(own[0], type, layout_), layout_desc(own[1], operand_type(1), layout_)};
    std::array<int, 2> places = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1};
    if (own[0] != y) {  // the full operand comes first
      if (!commutes(base.operation) || own[1] != y) throw Lacking{"broadcasting of the first operand"};
      std::swap(sources[0], sources[1]);
      std::swap(places[0], places[1]);
    }
    const dnnl::primitive_attr attr = attributes(std::span(steps).subspan(1), y, layout_);
    const dnnl::binary::primitive_desc pd({*function, sources[0], sources[1], target}, attr, engine_);
    if (is_reference(pd.impl_info_str())) throw Lacking{fmt::format("{} with this broadcasting", base.operation)};
    std::unordered_map<int, memory> arguments;
    for (std::size_t k = 0; k < 2; ++k) {
      const memory::desc& source = places[k] == DNNL_ARG_SRC_0 ? sources[0] : sources[1];
      arguments.insert({places[k], operand(source, own[k])});
    }
    bind_post(arguments);
    arguments.insert({DNNL_ARG_DST, result(target, y)});
    kernel_->finish(dnnl::binary(pd), std::move(arguments), pd.impl_info_str(), layout_of(target), layout_of(target));
  }

  struct PostOperand {
    int index;
    memory::desc desc;
    Dims dims;
  };

  const ops::KernelSpec& spec_;
  Layout layout_;
  dnnl::engine engine_;
  std::unique_ptr<DnnlKernel> kernel_;
  std::vector<PostOperand> post_operands_;
  bool flattened_ = false;
};

class Library final : public DnnlLibrary {
 public:
  explicit Library(int threads) : threads_(threads), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const dnnl_version_t* version = dnnl_version();
    version_ = fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
    static const std::map<dnnl::cpu_isa, const char*> kNames = {
        {dnnl::cpu_isa::sse41, "sse41"},
        {dnnl::cpu_isa::avx, "avx"},
        {dnnl::cpu_isa::avx2, "avx2"},
        {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
        {dnnl::cpu_isa::avx512_core, "avx512_core"},
        {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
        {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
        {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"},
    };
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    const auto found = kNames.find(isa);
    instruction_set_ = found == kNames.end() ? fmt::format("isa {}", static_cast<int>(isa)) : found->second;
  }

  const std::string& version() const override { return version_; }
  const std::string& instruction_set() const override { return instruction_set_; }
  void use_threads() const override {
    if (omp_set_num_threads != nullptr) omp_set_num_threads(threads_);
  }

  Result<std::unique_ptr<Kernel>> build(const ops::KernelSpec& spec, Layout layout) override {
    const auto refuse = [&](std::string_view reason) {
      return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: {} has no {}", ops::to_string(spec), version_, reason));
    };
    try {
      use_threads();
      return Builder(spec, layout, engine_, stream_).build();
    } catch (const Lacking& lacking) {
      return refuse(lacking.what);
    } catch (const dnnl::error& error) {
      return refuse(fmt::format("kernel for it ({})", error.what()));
    } catch (const std::exception& exception) {
      return refuse(fmt::format("place for it ({})", exception.what()));
    }
  }

 private:
  int threads_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::string version_;
  std::string instruction_set_;
};

}  // namespace

Result<std::unique_ptr<DnnlLibrary>> DnnlLibrary::open(int threads) {
  if (threads != 1 && omp_set_num_threads == nullptr) {
    return fail(ErrorCode::unsupported, fmt::format("cannot use {} threads: oneDNN was built without OpenMP", threads));
  }
  try {
    return std::unique_ptr<DnnlLibrary>(std::make_unique<Library>(threads));
  } catch (const std::exception& exception) {
    return fail(ErrorCode::unsupported, fmt::format("cannot set up oneDNN: {}", exception.what()));
  }
}

bool dnnl_has_step(std::string_view operation, std::size_t position) {
  if (binary_of(operation)) return position <= 1;
  return position == 0 && (operation == "clip" || !eltwise_of(operation, {}).empty());
}

}  // namespace xflow::cost::cpu
