#include "src/devices/cpu/dnnl/dnnl_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

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

}  // namespace xflow::cost::cpu
