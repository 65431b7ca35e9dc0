#include "src/devices/cpu/dnnl/dnnl_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "src/ops/fused_functions.h"
#include "src/ops/op.h"

namespace xflow::cost::cpu {

using dnnl::algorithm;
using dnnl::memory;

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

namespace {

// oneDNN takes the largest finite numbers for infinite bounds.
Eltwise step(algorithm function, float alpha = 0, float beta = 0) {
  constexpr float kMax = std::numeric_limits<float>::max();
  return {function, std::clamp(alpha, -kMax, kMax), std::clamp(beta, -kMax, kMax)};
}

// The eltwise steps of each function; p and q are its real attributes.
std::vector<Eltwise> steps_of(ops::FunctionId function, [[maybe_unused]] float p, [[maybe_unused]] float q) {
  using enum algorithm;
  std::vector<Eltwise> steps;
#define XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES) \
  if (function == ops::FunctionId::NAME) {                     \
    LIBRARIES                                                  \
  }
#define XFLOW_FUSED_FUNCTION(NAME, TYPES, GRAPH, VALUE, LIBRARIES) XFLOW_OPERATOR_FUNCTION(NAME, TYPES, VALUE, LIBRARIES)
#define XFLOW_ONEDNN(...) steps.push_back(step(__VA_ARGS__));
#include "src/ops/fused_functions.def"
  return steps;
}

}  // namespace

std::vector<Eltwise> eltwise_of(const ops::StepFunction& step, const std::vector<double>& reals) {
  const ops::FusedFunction* function = ops::find_function(step);
  if (function == nullptr) return {};
  const auto [p, q] = ops::complete_reals(*function, reals);
  return steps_of(function->id, static_cast<float>(p), static_cast<float>(q));
}

std::optional<algorithm> binary_of(const ops::StepFunction& step) {
  if (!step.op) return std::nullopt;
  switch (*step.op) {
    case ops::Op::Add:
      return algorithm::binary_add;
    case ops::Op::Sub:
      return algorithm::binary_sub;
    case ops::Op::Mul:
      return algorithm::binary_mul;
    case ops::Op::Div:
      return algorithm::binary_div;
    case ops::Op::Maximum:
      return algorithm::binary_max;
    case ops::Op::Minimum:
      return algorithm::binary_min;
    default:
      return std::nullopt;
  }
}

}  // namespace xflow::cost::cpu
