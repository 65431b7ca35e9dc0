// Pointwise kernels of oneDNN.
#include <fmt/format.h>

#include <algorithm>

#include "src/devices/cpu/dnnl/dnnl_build.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

namespace xflow::cost::cpu {

using dnnl::algorithm;
using dnnl::memory;

namespace {

bool commutes(const ops::StepFunction& step) { return !step.is(ops::Op::Sub) && !step.is(ops::Op::Div); }

}  // namespace

void build_pointwise(Build& build) {
  std::vector<Step> steps = pointwise_steps(build.spec);
  const Dims& y = build.result_dims();
  if (y.empty() || y.size() > 5) throw Lacking{"tensors of this rank"};
  const memory::data_type type = build.operand_type(0);
  const memory::desc target = layout_desc(y, type, build.layout);
  const Step& base = steps[0];
  const std::string_view name = ops::function_name(base.function);
  if (base.operands.empty()) {
    if (build.operand_dims(0) != y) throw Lacking{"broadcasting of the first operand"};
    const std::vector<Eltwise> functions = eltwise_of(base.function, base.reals);
    if (functions.empty()) throw Lacking{std::string(name)};
    const Eltwise& f = functions[0];
    // If the operator needs several functions, all but the first become post-operations.
    dnnl::primitive_attr attr = build.attributes(std::span(steps).subspan(1), y, build.layout);
    if (functions.size() > 1) {
      dnnl::post_ops post;
      for (std::size_t k = 1; k < functions.size(); ++k)
        post.append_eltwise(1.0F, functions[k].function, functions[k].alpha, functions[k].beta);
      if (steps.size() > 1) throw Lacking{fmt::format("{} before other operators", name)};
      attr.set_post_ops(post);
    }
    const dnnl::eltwise_forward::primitive_desc pd({kInference, f.function, target, f.alpha, f.beta}, attr, build.engine);
    if (is_reference(pd.impl_info_str())) throw Lacking{std::string(name)};
    build.one_operand(dnnl::eltwise_forward(pd), target, target, pd.impl_info_str());
    build.kernel->allow_in_place(0);
    return;
  }
  const auto function = binary_of(base.function);
  if (!function || base.operands.size() != 1) throw Lacking{std::string(name)};
  const std::array<Dims, 2> own = {padded_to(build.operand_dims(0), y.size()), padded_to(build.operand_dims(1), y.size())};
  // A run-time value of lower rank is row-major.
  const auto layout_of_operand = [&](std::size_t k) {
    const ops::TensorSpec& tensor = build.spec.operands[k];
    return tensor.constant || tensor.dims.size() == y.size() ? build.layout : Layout::plain;
  };
  std::array<memory::desc, 2> sources = {layout_desc(own[0], type, layout_of_operand(0)),
                                         layout_desc(own[1], build.operand_type(1), layout_of_operand(1))};
  std::array<int, 2> places = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1};
  if (own[0] != y) {  // the operand of full size comes first
    if (!commutes(base.function) || own[1] != y) throw Lacking{"broadcasting of the first operand"};
    std::swap(sources[0], sources[1]);
    std::swap(places[0], places[1]);
  }
  const dnnl::primitive_attr attr = build.attributes(std::span(steps).subspan(1), y, build.layout);
  const dnnl::binary::primitive_desc pd({*function, sources[0], sources[1], target}, attr, build.engine);
  if (is_reference(pd.impl_info_str())) throw Lacking{fmt::format("{} with this broadcasting", name)};
  std::unordered_map<int, memory> arguments;
  for (std::size_t k = 0; k < 2; ++k) {
    const memory::desc& source = places[k] == DNNL_ARG_SRC_0 ? sources[0] : sources[1];
    arguments.insert({places[k], build.operand(source, own[k])});
    if (places[k] == DNNL_ARG_SRC_0 && source == target) build.kernel->allow_in_place(k);
  }
  build.bind_post(arguments);
  arguments.insert({DNNL_ARG_DST, build.result(target, y)});
  build.kernel->finish(dnnl::binary(pd), std::move(arguments), pd.impl_info_str(), layout_of(target), layout_of(target));
}

}  // namespace xflow::cost::cpu
