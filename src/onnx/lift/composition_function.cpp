#include <fmt/format.h>

#include <algorithm>

#include "src/onnx/lift/composition_maker.h"
#include "src/ops/fused_functions.h"

namespace xflow::onnx_io {

using ir::Real;
using ir::ValueId;

namespace {

CompositionValues lift_form(const NodeView& node, const ops::OnnxFunction& form) {
  const auto refuse = [&](const std::string& reason) { return fail(ErrorCode::unsupported, fmt::format("{}: {}", node.type(), reason)); };
  if (form.condition) {
    const std::string word = node.word(form.condition->name, form.condition->otherwise);
    if (word != form.condition->value) return refuse(fmt::format("{} = {}", form.condition->name, word));
  }
  const std::size_t count = ops::operand_count(form.graph);
  std::vector<ValueId> operands;
  for (std::size_t k = 0; k < std::max(count, node.input_count()); ++k) {
    if (node.has_input(k) != (k < count)) return refuse(fmt::format("expected {} inputs", count));
    if (k < count) operands.push_back(node.operand(k));
  }
  if (!ir::is_floating(node.input_type(0).data_type)) return refuse("operand is not floating");
  const auto attribute = [&](std::string_view name) {
    const auto known = std::ranges::find(form.reals, name, &ops::OnnxFunction::Real::name);
    return node.real(name, Real::from_double(known->otherwise));
  };
  for (const ops::OnnxFunction::Real& real : form.reals)
    if (real.positive && !(attribute(real.name).to_double() > 0)) return refuse(fmt::format("{} is not positive", real.name));
  const auto value = ops::apply_fused_graph(node.arena(), form.graph, operands, attribute);
  if (!value) return fail(ErrorCode::unsupported, value.error().text());
  return std::vector<ValueId>{*value};
}

}  // namespace

CompositionValues lift_onnx_function(const NodeView& node, std::span<const ops::OnnxFunction> forms) {
  CompositionValues values = lift_form(node, forms[0]);
  for (std::size_t k = 1; k < forms.size() && !values; ++k) values = lift_form(node, forms[k]);
  return values;
}

// Clip(x, low, high) = min(max(x, low), high) for bounds that are not numbers. Numeric bounds have an
// operator of their own.
CompositionValues lift_clip(const NodeView& node) {
  if (auto numbers = lift_mapped(node)) return numbers;
  CompositionMaker make(node);
  ValueId y = node.operand(0);
  if (node.has_input(1)) y = make.op("maximum", {y, node.operand(1)});
  if (node.has_input(2)) y = make.op("minimum", {y, node.operand(2)});
  if (y == node.operand(0)) return fail(ErrorCode::unsupported, "Clip: no bounds");
  return make.finish({y});
}

// CastLike(x, y) = cast(x) to the element type of y.
CompositionValues lift_cast_like(const NodeView& node) {
  if (node.input_count() != 2) return fail(ErrorCode::unsupported, "CastLike: no second operand");
  CompositionMaker make(node);
  return make.finish({make.op("cast", {node.operand(0)}, {{"to", node.input_type(1).data_type}})});
}

}  // namespace xflow::onnx_io
