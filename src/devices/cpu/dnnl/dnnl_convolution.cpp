// Convolutions and transposed convolutions of oneDNN.
#include <algorithm>

#include "src/devices/cpu/dnnl/dnnl_build.h"

namespace xflow::cost::cpu {

using dnnl::algorithm;
using dnnl::memory;

namespace {

// The dimensions of weights that are row-major as [outer, inner, kernel...] or, transposed, [inner, outer,
// kernel...], split by groups.
Dims grouped(const Dims& weights, std::int64_t groups, bool transposed) {
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

// The padding at the end is computed from the size of the result.
Window window(const Build& build, const Dims& kernel, bool transposed) {
  const std::size_t spatial = kernel.size();
  Window w;
  w.strides = build.integers("strides", Dims(spatial, 1));
  w.dilations = build.integers("dilations", Dims(spatial, 1));
  const Dims pads = build.integers("pads", Dims(2 * spatial, 0));
  const Dims& small = transposed ? build.result_dims() : build.operand_dims(0);
  const Dims& counted = transposed ? build.operand_dims(0) : build.result_dims();
  for (std::size_t k = 0; k < spatial; ++k) {
    const std::int64_t extent = (kernel[k] - 1) * w.dilations[k] + 1;
    w.begin.push_back(pads[k]);
    w.end.push_back((counted[k + 2] - 1) * w.strides[k] + extent - small[k + 2] - pads[k]);
    w.dilations[k] -= 1;
  }
  return w;
}

// Whether some element of the result is computed from padding only.
bool sees_padding_alone(const Window& w, const Dims& kernel) {
  for (std::size_t k = 0; k < kernel.size(); ++k) {
    const std::int64_t extent = (kernel[k] - 1) * (w.dilations[k] + 1) + 1;
    if (w.begin[k] >= extent || w.end[k] >= extent) return true;
  }
  return false;
}

// Weights of a transposed convolution are stored as [groups * inner, outer, kernel...].
memory::desc transposed_weights(const Dims& weights, bool groups, memory::data_type type) {
  Dims order = weights;
  const std::size_t first = groups ? 1 : 0;
  std::swap(order[first], order[first + 1]);
  Dims strides = layout_strides(order, Layout::plain);
  std::swap(strides[first], strides[first + 1]);
  return {weights, type, strides};
}

template <typename Primitive>
void convolve(Build& build, algorithm function, bool transposed) {
  const Dims x = build.operand_dims(0);
  const Dims w = build.operand_dims(1);
  const Dims y = build.result_dims();
  const std::int64_t groups = build.integers("groups", {1})[0];
  const Dims weights = grouped(w, groups, transposed);
  const Window win = window(build, Dims(w.begin() + 2, w.end()), transposed);
  const memory::data_type type = build.operand_type(0);
  const std::vector<Step> steps = post_steps(build.spec);
  const bool bias = build.first_is_bias(y, 1, steps);
  const memory::desc bias_desc = bias ? plain_desc({y[1]}, memory::data_type::f32) : memory::desc();
  // The user's weights with the groups as a separate dimension.
  const auto rows = [&](memory::data_type of) {
    return transposed ? transposed_weights(weights, groups > 1, of) : plain_desc(weights, of);
  };
  const memory::desc user = rows(memory::data_type::f32);
  // Only weights that are known before the run can be packed.
  const memory::desc taken = build.spec.operands[1].constant ? any_desc(weights, type) : rows(type);
  const auto make = [&](const dnnl::primitive_attr& attr) {
    const typename Primitive::desc desc(kInference, function, layout_desc(x, type, build.layout), taken, bias_desc,
                                        layout_desc(y, type, build.layout), win.strides, win.dilations, win.begin, win.end);
    return typename Primitive::primitive_desc(desc, attr, build.engine);
  };
  typename Primitive::primitive_desc pd = make({});
  const std::span<const Step> post = std::span(steps).subspan(bias ? 1 : 0);
  if (!post.empty()) {
    // With such windows one kernel of oneDNN 2.6.3 crashes the process, and others compute wrong results.
    if (sees_padding_alone(win, Dims(w.begin() + 2, w.end()))) throw Lacking{"post-operations where a window is all padding"};
    // Binary post-operations need the layout of the result, which may change with them: repeat until it is
    // stable.
    Layout layout = layout_of(pd.dst_desc());
    for (int attempt = 0; attempt < 3; ++attempt) {
      pd = make(build.attributes(post, y, layout));
      const Layout chosen = layout_of(pd.dst_desc());
      if (chosen == layout) break;
      layout = chosen;
      if (attempt == 2) throw Lacking{"one layout for result and post-operations"};
    }
    if (is_reference(pd.impl_info_str())) throw Lacking{"these post-operations"};
  }
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, build.operand(pd.src_desc(), x)}};
  arguments.insert({DNNL_ARG_WEIGHTS, build.kernel->add_operand(pd.weights_desc(), user)});
  if (bias) arguments.insert({DNNL_ARG_BIAS, build.operand(pd.bias_desc(), {y[1]})});
  arguments.insert({DNNL_ARG_DST, build.result(pd.dst_desc(), y)});
  build.bind_post(arguments);
  build.kernel->finish(Primitive(pd), std::move(arguments), pd.impl_info_str(), layout_of(pd.src_desc()), layout_of(pd.dst_desc()));
}

}  // namespace

void build_convolution(Build& build) { convolve<dnnl::convolution_forward>(build, algorithm::convolution_direct, false); }
void build_transposed_convolution(Build& build) { convolve<dnnl::deconvolution_forward>(build, algorithm::deconvolution_direct, true); }

}  // namespace xflow::cost::cpu
