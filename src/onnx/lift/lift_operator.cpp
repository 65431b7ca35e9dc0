#include "src/onnx/lift/lift_operator.h"

#include <algorithm>
#include <string>

#include "src/onnx/document/node_view.h"
#include "src/onnx/lift/composition.h"
#include "src/onnx/lift/mapping_table.h"
#include "src/ops/operator.h"
#include "src/support/acceptance.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {
namespace {

bool covers(int since, int until, int opset) { return since <= opset && opset <= until; }

bool is_named(const Function& function, const Node& node) {
  return function.name == node.op_type &&
         (function.domain == node.domain || (is_default_domain(function.domain) && is_default_domain(node.domain)));
}

// Refuses, with the reason, a node for which no operator is looked up.
Acceptance may_lift(const Document& document, const ir::Arena& arena, const Node& node, std::span<const ir::ValueId> operands,
                    std::string_view domain, std::optional<std::int64_t> version) {
  if (node.has_bodies()) return refused("it has bodies");
  if (calls_function(document, node)) return refused("it calls a local function");
  for (const Attribute& attribute : node.attributes) {
    if (attribute.reference.empty()) continue;
    return refused("its attribute " + in_quotes(attribute.name) + " is the function's attribute " + in_quotes(attribute.reference));
  }
  if (!version) return refused("no operator set for domain " + in_quotes(domain));
  if (domain.empty() && *version > kNewestOpset)
    return refused("opset " + std::to_string(*version) + " is newer than xflow knows (" + std::to_string(kNewestOpset) + ")");
  const bool is_untyped = std::ranges::any_of(
      operands, [&](ir::ValueId operand) { return !arena.is_absent(operand) && arena.type(operand).data_type == ir::DataType::undefined; });
  return is_untyped ? refused("the type of an operand is not known") : accepted();
}

Result<void> covers_outputs(const NodeView& view, std::size_t outputs) {
  if (view.output_count() <= outputs) return {};
  return fail(ErrorCode::unsupported, std::string(view.type()) + ": output " + std::to_string(outputs) + " is not known");
}

}  // namespace

Result<std::vector<ir::ValueId>> lift_operator(const Document& document, ir::Arena& arena, const Node& node,
                                               const std::vector<ir::ValueId>& operands) {
  const std::string_view domain = is_default_domain(node.domain) ? std::string_view() : node.domain;
  const auto version = document.opset(node.graph, domain);
  const Acceptance lifts = may_lift(document, arena, node, operands, domain, version);
  if (!lifts) return fail(ErrorCode::unsupported, lifts.reason);
  const int opset = static_cast<int>(*version);
  const NodeView view(document, node, opset, arena, operands);
  std::string reason;
  bool is_composition = false;
  for (const Composition& composition : compositions()) {
    if (composition.domain != domain || composition.type != node.op_type || !covers(composition.since, composition.until, opset)) continue;
    auto outputs = composition.lift(view);
    const auto covered = outputs ? covers_outputs(view, outputs->size()) : Result<void>();
    if (outputs && covered) return outputs;
    reason = outputs ? covered.error().message : outputs.error().text();
    is_composition = true;
  }
  auto outputs = lift_mapped(view);
  if (outputs) {
    XFLOW_CHECK(covers_outputs(view, outputs->size()));
    return outputs;
  }
  return fail(ErrorCode::unsupported, is_composition ? std::move(reason) : outputs.error().text());
}

ir::ValueId folded(ir::Arena& arena, ops::IntegerContent& contents, ir::ValueId value) {
  static const ir::OperatorId identity = *ops::find_operator("identity");
  const ir::Node& node = arena.node(value);
  if (node.is_constant && node.kind == ir::NodeKind::operation && node.op == identity) return node.operands[0];
  const ir::TensorType type = arena.type(value);
  const bool of_integers =
      type.data_type == ir::DataType::int64 || type.data_type == ir::DataType::int32 || type.data_type == ir::DataType::boolean;
  if (node.is_constant || node.kind != ir::NodeKind::operation || !of_integers) return value;
  const auto content = contents.of(value);
  const auto values = content ? ir::constant_shape(*content) : std::nullopt;
  if (!values) return value;
  return arena.constant(ir::make_integer_constant(type.data_type, *ir::constant_shape(type.shape), *values));
}

bool calls_function(const Document& document, const Node& node) {
  return std::ranges::any_of(document.model().functions, [&](const Function& function) { return is_named(function, node); });
}

const Function* called_function(const Document& document, const Node& node) {
  for (const Function& function : document.model().functions)
    if (is_named(function, node) && function.overload == node.overload) return &function;
  return nullptr;
}

}  // namespace xflow::onnx_io
