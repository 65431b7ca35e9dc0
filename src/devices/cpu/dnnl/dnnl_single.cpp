// Kernels of oneDNN without post-operations: pooling, softmax, normalisation and data movement.
#include <fmt/format.h>

#include <algorithm>

#include "src/devices/cpu/dnnl/dnnl_build.h"
#include "src/devices/cpu/loop_kernel.h"
#include "src/ops/op.h"

namespace xflow::cost::cpu {

using dnnl::algorithm;
using dnnl::memory;

namespace {

void pool_with(Build& build, const Dims& kernel, algorithm function, const Dims& y) {
  const Dims& x = build.operand_dims(0);
  const memory::data_type type = build.operand_type(0);
  const Dims strides = build.integers("strides", Dims(kernel.size(), 1));
  Dims dilations = build.integers("dilations", Dims(kernel.size(), 1));
  Dims begin = build.integers("pads", Dims(2 * kernel.size(), 0));
  begin.resize(kernel.size());
  Dims end;
  for (std::size_t k = 0; k < kernel.size(); ++k) {
    const std::int64_t extent = (kernel[k] - 1) * dilations[k] + 1;
    end.push_back((y[k + 2] - 1) * strides[k] + extent - x[k + 2] - begin[k]);
    dilations[k] -= 1;
  }
  const dnnl::pooling_v2_forward::desc desc(kInference, function, layout_desc(x, type, build.layout), layout_desc(y, type, build.layout),
                                            strides, kernel, dilations, begin, end);
  const dnnl::pooling_v2_forward::primitive_desc pd(desc, build.engine);
  build.one_operand(dnnl::pooling_v2_forward(pd), pd.src_desc(), pd.dst_desc(), pd.impl_info_str());
}

template <typename Primitive>
void softmax(Build& build) {
  const std::int64_t axis = build.integers("axis", {-1})[0];
  const auto rank = static_cast<std::int64_t>(build.operand_dims(0).size());
  const memory::desc desc = layout_desc(build.operand_dims(0), build.operand_type(0), build.layout);
  const typename Primitive::primitive_desc pd({kInference, desc, static_cast<int>(axis < 0 ? axis + rank : axis)}, build.engine);
  build.one_operand(Primitive(pd), desc, desc, pd.impl_info_str());
}

}  // namespace

void build_pool(Build& build) {
  if (build.spec.operands.size() != 1 || build.spec.results.size() != 1 || !build.spec.post.empty()) throw Lacking{"such a pooling"};
  const bool include = build.integers("count_include_pad", {0})[0] != 0;
  const algorithm function = build.spec.is(ops::Op::MaxPool) ? algorithm::pooling_max
                             : include                       ? algorithm::pooling_avg_include_padding
                                                             : algorithm::pooling_avg_exclude_padding;
  pool_with(build, build.integers("kernel"), function, build.result_dims());
}

// Computes the mean over all spatial dimensions as one pooling: other reductions are reference code in
// oneDNN.
void build_spatial_mean(Build& build) {
  const Dims& x = build.operand_dims(0);
  Dims axes;
  for (std::size_t k = 2; k < x.size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
  if (!build.spec.is(ops::Op::ReduceMean) || x.size() < 3 || x.size() > 5 || build.integers("axes") != axes || !build.spec.post.empty())
    throw Lacking{"this reduction"};
  Dims y = x;
  std::fill(y.begin() + 2, y.end(), 1);
  pool_with(build, Dims(x.begin() + 2, x.end()), algorithm::pooling_avg_exclude_padding, y);
}

void build_softmax(Build& build) { softmax<dnnl::softmax_forward>(build); }
void build_log_softmax(Build& build) { softmax<dnnl::logsoftmax_forward>(build); }

void build_lrn(Build& build) {
  const auto real = [&](std::string_view name, float otherwise) {
    const auto value = build.spec.real(name);
    return value ? static_cast<float>(*value) : otherwise;
  };
  const memory::desc desc = layout_desc(build.operand_dims(0), build.operand_type(0), build.layout);
  const dnnl::lrn_forward::primitive_desc pd({kInference, algorithm::lrn_across_channels, desc, build.integers("size", {1})[0],
                                              real("alpha", 1e-4F), real("beta", 0.75F), real("bias", 1)},
                                             build.engine);
  build.one_operand(dnnl::lrn_forward(pd), desc, desc, pd.impl_info_str());
}

// Operands: x, scale and shift over the last dimension.
void build_layer_normalization(Build& build) {
  const Dims& x = build.operand_dims(0);
  const Dims last = {static_cast<std::int64_t>(x.size()) - 1};
  if (!build.spec.is(ops::KernelFamily::layer_normalization) || build.integers("axes") != last || x.size() < 2)
    throw Lacking{"this normalisation"};
  // Scale and shift must vary along the rows only.
  for (std::size_t k = 1; k < build.spec.operands.size(); ++k) {
    Dims row(build.operand_dims(k).size(), 1);
    if (!row.empty()) row.back() = x.back();
    if (row.empty() || build.operand_dims(k) != row) throw Lacking{"a normalisation with this scale"};
  }
  const memory::desc desc = plain_desc(x, build.operand_type(0));
  using Flags = dnnl::normalization_flags;
  Flags flags = Flags::none;
  if (build.spec.operands.size() > 1) flags |= Flags::use_scale;
  if (build.spec.operands.size() > 2) flags |= Flags::use_shift;
  const auto epsilon = static_cast<float>(build.spec.real("epsilon").value_or(1e-5F));
  const dnnl::layer_normalization_forward::primitive_desc pd({kInference, desc, epsilon, flags}, build.engine);
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, build.operand(desc, x)}};
  const memory::desc vector = plain_desc({x.back()}, memory::data_type::f32);
  if (build.spec.operands.size() > 1) arguments.insert({DNNL_ARG_SCALE, build.operand(vector, {x.back()})});
  if (build.spec.operands.size() > 2) arguments.insert({DNNL_ARG_SHIFT, build.operand(vector, {x.back()})});
  arguments.insert({DNNL_ARG_DST, build.result(desc, x)});
  build.kernel->finish(dnnl::layer_normalization_forward(pd), std::move(arguments), pd.impl_info_str(), Layout::plain, Layout::plain);
}

void build_concat(Build& build) {
  const auto rank = static_cast<std::int64_t>(build.result_dims().size());
  const std::int64_t axis = build.integers("axis", {0})[0];
  std::vector<memory::desc> sources;
  sources.reserve(build.spec.operands.size());
  for (std::size_t k = 0; k < build.spec.operands.size(); ++k)
    sources.push_back(layout_desc(build.operand_dims(k), build.operand_type(k), build.layout));
  const memory::desc target = layout_desc(build.result_dims(), build.operand_type(0), build.layout);
  const dnnl::concat::primitive_desc pd(target, static_cast<int>(axis < 0 ? axis + rank : axis), sources, build.engine);
  if (is_reference(pd.impl_info_str())) throw Lacking{"this concatenation"};
  std::unordered_map<int, memory> arguments;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    arguments.insert({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(k), build.operand(sources[k], build.operand_dims(k))});
  }
  arguments.insert({DNNL_ARG_DST, build.result(target, build.result_dims())});
  build.kernel->finish(dnnl::concat(pd), std::move(arguments), pd.impl_info_str(), layout_of(target), layout_of(target));
}

// oneDNN samples at half pixels, with the scale given by the sizes. Its rounding for nearest differs from
// ONNX, which matters unless elements are just repeated.
void build_resample(Build& build) {
  if (!dnnl_resamples(build.spec)) throw Lacking{"this resizing"};
  const bool nearest = build.spec.word("mode") != "linear";
  const memory::desc source = layout_desc(build.operand_dims(0), build.operand_type(0), build.layout);
  const memory::desc target = layout_desc(build.result_dims(), build.operand_type(0), build.layout);
  const dnnl::resampling_forward::desc desc(kInference, nearest ? algorithm::resampling_nearest : algorithm::resampling_linear, source,
                                            target);
  const dnnl::resampling_forward::primitive_desc pd(desc, build.engine);
  build.one_operand(dnnl::resampling_forward(pd), source, target, pd.impl_info_str());
}

bool dnnl_resamples(const ops::KernelSpec& spec) {
  if (repeats_elements(spec)) return true;
  const Dims& x = spec.operands[0].dims;
  const Dims& y = spec.results[0].dims;
  const Dims* numerators = spec.find("numerators");
  const Dims* denominators = spec.find("denominators");
  if (!spec.is(ops::Op::Resize) || spec.word("mode") != "linear" || spec.word("coordinates") != "half_pixel") return false;
  if (numerators == nullptr || denominators == nullptr) return false;
  if (x.size() != y.size() || x.size() < 3 || x.size() > 5 || x[0] != y[0] || x[1] != y[1]) return false;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x[k] * (*numerators)[k] != y[k] * (*denominators)[k]) return false;
  return true;
}

void build_reorder(Build& build) {
  const auto from = static_cast<Layout>(build.integers("from", {1})[0]);
  const auto to = static_cast<Layout>(build.integers("to", {1})[0]);
  const memory::desc source = layout_desc(build.operand_dims(0), build.operand_type(0), from);
  const memory::desc target = layout_desc(build.operand_dims(0), build.operand_type(0), to);
  const dnnl::reorder::primitive_desc pd(build.engine, source, build.engine, target);
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_FROM, build.operand(source, build.operand_dims(0))},
                                               {DNNL_ARG_TO, build.result(target, build.operand_dims(0))}};
  build.kernel->finish(dnnl::reorder(pd), std::move(arguments), pd.impl_info_str(), from, to);
}

}  // namespace xflow::cost::cpu
