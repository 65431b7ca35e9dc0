#include "src/onnx/lower/function_match.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "src/ops/operator.h"

namespace xflow::onnx_io {
namespace {

using ir::ValueId;
using ops::FusedGraph;

class Matching {
 public:
  Matching(const ir::Arena& arena, const FusedGraph& graph, const MayAbsorb& may_absorb)
      : arena_(arena), graph_(graph), may_absorb_(may_absorb), uses_(graph.parts.size()), values_(graph.parts.size()) {
    for (const auto& part : graph.parts) {
      if (const auto* operation = std::get_if<FusedGraph::Apply>(&part))
        for (const std::size_t operand : operation->operands) ++uses_[operand];
    }
  }

  std::optional<FunctionMatch> find(ValueId value) {
    if (!matches(graph_.parts.size() - 1, value)) return std::nullopt;
    FunctionMatch match;
    match.operands.resize(ops::operand_count(graph_));
    for (std::size_t k = 0; k < graph_.parts.size(); ++k) {
      if (const auto* operand = std::get_if<FusedGraph::Operand>(&graph_.parts[k])) {
        match.operands[operand->number] = *values_[k];
      } else if (std::holds_alternative<FusedGraph::Apply>(graph_.parts[k]) && k + 1 < graph_.parts.size()) {
        match.absorbed.push_back(*values_[k]);
      }
    }
    // A constant broadcast the operand to a larger shape.
    if (!(arena_.type(match.operands[0]) == arena_.type(value))) return std::nullopt;
    return match;
  }

 private:
  // Binds part k and the parts that it reads to values. A failed attempt restores the bindings.
  bool matches(std::size_t k, ValueId value) {
    if (values_[k]) return *values_[k] == value;
    const auto before = values_;
    values_[k] = value;
    if (fits(k, value)) return true;
    values_ = before;
    return false;
  }

  bool fits(std::size_t k, ValueId value) {
    if (std::holds_alternative<FusedGraph::Operand>(graph_.parts[k])) return true;
    if (const auto* number = std::get_if<FusedGraph::Number>(&graph_.parts[k])) return is_number(value, *number);
    const auto& operation = std::get<FusedGraph::Apply>(graph_.parts[k]);
    const ir::Node& node = arena_.node(value);
    if (node.kind != ir::NodeKind::operation || node.op != operation.op || node.operands.size() != operation.operands.size()) return false;
    if (k + 1 < graph_.parts.size() && !may_absorb_(value, uses_[k])) return false;
    return has_reals(node, operation) && has_operands(node, operation);
  }

  bool has_operands(const ir::Node& node, const FusedGraph::Apply& operation) {
    const auto in_order = [&](std::span<const ValueId> operands) {
      const auto before = values_;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (matches(operation.operands[i], operands[i])) continue;
        values_ = before;
        return false;
      }
      return true;
    };
    if (in_order(node.operands)) return true;
    if (!ops::get(node.op).signature.commutative || node.operands.size() != 2) return false;
    const std::vector<ValueId> exchanged = {node.operands[1], node.operands[0]};
    return in_order(exchanged);
  }

  static bool has_reals(const ir::Node& node, const FusedGraph::Apply& operation) {
    std::size_t next = 0;
    for (const ops::AttributeSignature& attribute : ops::get(node.op).signature.attributes) {
      if (attribute.kind != ops::AttributeKind::real || next >= operation.reals.size()) continue;
      const ir::Real& real = node.attributes.real(attribute.name);
      if (real.is_variable() || static_cast<float>(real.to_double()) != static_cast<float>(operation.reals[next++].value)) return false;
    }
    return true;
  }

  bool is_number(ValueId value, const FusedGraph::Number& number) const {
    const ir::Node& node = arena_.node(value);
    if (node.kind != ir::NodeKind::constant || node.constant.elements() != 1) return false;
    const auto found = ir::doubles(node.constant);
    const auto wanted = ir::make_constant(node.outputs[0].data_type, {}, std::span(&number.value, 1));
    return found && wanted && *found == ir::doubles(*wanted).value();
  }

  const ir::Arena& arena_;
  const FusedGraph& graph_;
  const MayAbsorb& may_absorb_;
  std::vector<std::size_t> uses_;               // of each part by other parts
  std::vector<std::optional<ValueId>> values_;  // bound values, by part
};

}  // namespace

std::optional<FunctionMatch> match_function(const ir::Arena& arena, ValueId value, const ops::OnnxFunction& function,
                                            const MayAbsorb& may_absorb) {
  if (!function.reals.empty()) return std::nullopt;
  return Matching(arena, function.graph, may_absorb).find(value);
}

}  // namespace xflow::onnx_io
