// Matrix products of oneDNN.
#include <algorithm>
#include <functional>
#include <numeric>

#include "src/devices/cpu/dnnl/dnnl_build.h"

namespace xflow::cost::cpu {

using dnnl::memory;

namespace {

// The inner-product primitive: c[m, n] = a[m, k] b[k, n] with constant b; its weights are [n, k].
void inner_product(Build& build, const Dims& a, const Dims& b, const Dims& c) {
  if (c.size() != 2 || !build.spec.operands[1].constant) throw Lacking{"an inner product of these operands"};
  const memory::data_type type = build.operand_type(0);
  const std::vector<Step> steps = post_steps(build.spec);
  const bool bias = build.first_is_bias(c, 1, steps);
  const dnnl::primitive_attr attr = build.attributes(std::span(steps).subspan(bias ? 1 : 0), c, Layout::plain);
  const Dims weights = {b[1], b[0]};
  const memory::desc bias_desc = bias ? plain_desc({c[1]}, memory::data_type::f32) : memory::desc();
  const dnnl::inner_product_forward::primitive_desc pd(
      {kInference, plain_desc(a, type), any_desc(weights, type), bias_desc, plain_desc(c, type)}, attr, build.engine);
  if (is_reference(pd.impl_info_str())) throw Lacking{"an inner product with these post-operations"};
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, build.operand(pd.src_desc(), a)}};
  const memory::desc user(weights, memory::data_type::f32, Dims{1, b[1]});  // the spec's b, row-major as [k, n]
  arguments.insert({DNNL_ARG_WEIGHTS, build.kernel->add_operand(pd.weights_desc(), user)});
  if (bias) arguments.insert({DNNL_ARG_BIAS, build.operand(pd.bias_desc(), {c[1]})});
  arguments.insert({DNNL_ARG_DST, build.result(pd.dst_desc(), c)});
  build.bind_post(arguments);
  build.kernel->finish(dnnl::inner_product_forward(pd), std::move(arguments), std::string("inner_product:") + pd.impl_info_str(),
                       Layout::plain, Layout::plain);
}

}  // namespace

void build_matmul(Build& build) {
  Dims a = build.operand_dims(0);
  Dims b = build.operand_dims(1);
  Dims c = build.result_dims();
  const std::vector<Step> steps = post_steps(build.spec);
  if ((a.size() < 2 || b.size() < 2) && !steps.empty()) throw Lacking{"products of vectors with post-operations"};
  // Vectors are matrices of one row or one column.
  if (b.size() < 2) {
    b.push_back(1);
    c.push_back(1);
  }
  if (a.size() < 2) {
    a.insert(a.begin(), 1);
    c.insert(c.end() - 1, 1);
  }
  // Weights of rank 2 multiply all rows at once.
  const auto outer = [](const Dims& dims) { return std::accumulate(dims.begin(), dims.end() - 2, std::int64_t{1}, std::multiplies<>()); };
  build.flattened = c.size() > 2 && outer(b) == 1 && std::ranges::all_of(steps, [&](const Step& step) {
                      return std::ranges::all_of(step.operands, [&](std::size_t k) {
                        const Dims own = padded_to(all_operands(build.spec).at(k).dims, c.size());
                        return std::equal(own.begin(), own.end() - 1, c.begin()) ||
                               std::all_of(own.begin(), own.end() - 1, [](std::int64_t d) { return d == 1; });
                      });
                    });
  if (build.flattened) {
    a = {outer(a) * a[a.size() - 2], a.back()};
    b = {b[b.size() - 2], b.back()};
    c = {outer(c) * c[c.size() - 2], c.back()};
  } else {
    a = padded_to(a, c.size());
    b = padded_to(b, c.size());
  }
  const memory::data_type type = build.operand_type(0);
  // Constants are packed at build time; values computed at run time are row-major.
  const auto desc = [&](const Dims& dims, bool constant) { return constant ? any_desc(dims, type) : plain_desc(dims, type); };
  const memory::desc a_desc = desc(a, false);
  const memory::desc b_desc = desc(b, build.spec.operands[1].constant && outer(b) == 1);
  if (build.variant == Variant::inner_product) return inner_product(build, a, b, c);
  const bool bias = build.first_is_bias(c, c.size() - 1, steps);
  const dnnl::primitive_attr attr = build.attributes(std::span(steps).subspan(bias ? 1 : 0), c, Layout::plain);
  Dims bias_dims(c.size(), 1);
  bias_dims.back() = c.back();
  const memory::desc bias_desc = bias ? plain_desc(bias_dims, memory::data_type::f32) : memory::desc();
  const dnnl::matmul::primitive_desc pd({a_desc, b_desc, bias_desc, plain_desc(c, type)}, attr, build.engine);
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, build.operand(pd.src_desc(), a)},
                                               {DNNL_ARG_WEIGHTS, build.operand(pd.weights_desc(), b)}};
  if (bias) arguments.insert({DNNL_ARG_BIAS, build.operand(pd.bias_desc(), bias_dims)});
  arguments.insert({DNNL_ARG_DST, build.result(pd.dst_desc(), c)});
  build.bind_post(arguments);
  build.kernel->finish(dnnl::matmul(pd), std::move(arguments), pd.impl_info_str(), Layout::plain, Layout::plain);
}

}  // namespace xflow::cost::cpu
