#include <algorithm>

#include "src/kernels/pattern.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

using ir::NodeId;
using ir::ValueId;

// Matches attention from the second product back to the first, visiting each node once.
class AttentionMatch {
 public:
  AttentionMatch(const ir::Arena& arena, NodeId exit, std::vector<NodeId>* explored) : arena_(arena), exit_(exit), explored_(explored) {}

  std::optional<Composite> find() {
    const auto last = take({exit_, 0}, ops::Op::Matmul);
    const auto weights = last ? take(last->at(0), ops::Op::Softmax) : std::nullopt;
    if (!weights || !is_last_axis(last->at(0))) return std::nullopt;
    ValueId scores = weights->at(0);
    std::optional<ValueId> mask;
    if (const auto sum = take(scores, ops::Op::Add)) {
      const std::size_t masked = leads_to_product(sum->at(0)) ? 0 : 1;
      mask = sum->at(1 - masked);
      scores = sum->at(masked);
    }
    Composite found;
    if (const auto number = scaled(scores)) {
      found.scale = number->second;
      scores = number->first;
    }
    const auto first = take(scores, ops::Op::Matmul);
    const auto key = first ? take(first->at(1), ops::Op::Transpose) : std::nullopt;
    if (!key) return std::nullopt;
    const auto perm = arena_.node(first->at(1).node).attributes.known_integers("perm");
    if (!perm || perm->size() < 2 || perm->at(perm->size() - 2) != static_cast<std::int64_t>(perm->size()) - 1) return std::nullopt;
    found.family = ops::KernelFamily::attention;
    found.entry = first->at(0);
    found.exit = exit_;
    found.perm = *perm;
    found.parameters = {key->at(0), last->at(1)};
    if (mask) found.parameters.push_back(*mask);
    count_uses(found);
    return found;
  }

 private:
  bool is(ValueId value, ops::Op op) const {
    const ir::Node& node = arena_.node(value.node);
    return node.kind == ir::NodeKind::operation && !node.is_constant && ops::get(node.op).op == op;
  }

  std::optional<std::vector<ValueId>> take(ValueId value, ops::Op op) {
    if (!is(value, op)) return std::nullopt;
    if (explored_ != nullptr) explored_->push_back(value.node);
    nodes_.push_back(value.node);
    return arena_.node(value.node).operands;
  }

  bool is_last_axis(ValueId softmax) const {
    const ir::TensorType& type = arena_.type(softmax);
    const auto axis = arena_.node(softmax.node).attributes.known_integer("axis");
    return type.ranked && axis && *axis == static_cast<std::int64_t>(type.rank()) - 1;
  }

  bool leads_to_product(ValueId value) {
    if (is(value, ops::Op::Matmul)) return true;
    if (!is(value, ops::Op::Mul) && !is(value, ops::Op::Div)) return false;
    if (explored_ != nullptr) explored_->push_back(value.node);
    return std::ranges::any_of(arena_.node(value.node).operands, [&](ValueId operand) { return is(operand, ops::Op::Matmul); });
  }

  // Splits a value into a value and its constant factor.
  std::optional<std::pair<ValueId, double>> scaled(ValueId value) {
    const bool product = is(value, ops::Op::Mul);
    if (!product && !is(value, ops::Op::Div)) return std::nullopt;
    const std::vector<ValueId>& sides = arena_.node(value.node).operands;
    for (std::size_t k = 0; k < (product ? 2U : 1U); ++k) {
      const auto number = scalar_constant(arena_, sides[1 - k]);
      if (!number || *number == 0) continue;
      take(value, product ? ops::Op::Mul : ops::Op::Div);
      return std::pair(sides[k], product ? *number : 1 / *number);
    }
    return std::nullopt;
  }

  void count_uses(Composite& composite) const {
    const auto uses = [&](NodeId of) {
      std::size_t count = 0;
      for (const NodeId id : nodes_) count += static_cast<std::size_t>(std::ranges::count(arena_.node(id).operands, of, &ValueId::node));
      return count;
    };
    composite.entry_uses = uses(composite.entry.node);
    for (const NodeId id : nodes_) {
      if (id == exit_) continue;
      composite.inner.push_back(id);
      composite.inner_uses.push_back(uses(id));
    }
  }

  const ir::Arena& arena_;
  NodeId exit_;
  std::vector<NodeId>* explored_;
  std::vector<NodeId> nodes_;
};

}  // namespace

std::optional<Composite> find_attention(const ir::Arena& arena, NodeId exit, std::vector<NodeId>* explored) {
  return AttentionMatch(arena, exit, explored).find();
}

}  // namespace xflow::cost
