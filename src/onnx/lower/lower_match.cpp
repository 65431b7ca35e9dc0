#include "src/onnx/lower/lower_match.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace xflow::onnx_io {
namespace {

using ir::ValueId;

ValueId current(const ir::ValueMap& correspondence, ValueId v) {
  const auto found = correspondence.find(v);
  return found == correspondence.end() ? v : found->second;
}

// Returns true if `after` is `before` with each of `leaves` replaced by its current value.
bool same_operations(const ir::Arena& arena, const ir::ValueMap& correspondence, ValueId before, ValueId after,
                     const std::unordered_set<ValueId>& leaves) {
  std::vector<std::pair<ValueId, ValueId>> stack{{before, after}};
  std::set<std::pair<ValueId, ValueId>> seen;
  bool top = true;
  while (!stack.empty()) {
    const auto [a, b] = stack.back();
    stack.pop_back();
    if (!std::exchange(top, false) && leaves.contains(a)) {
      if (current(correspondence, a) != b) return false;
      continue;
    }
    if (!seen.insert({a, b}).second) continue;
    const ir::Node& x = arena.node(a);
    const ir::Node& y = arena.node(b);
    if (x.kind != y.kind || a.output != b.output || x.operands.size() != y.operands.size()) return false;
    switch (x.kind) {
      case ir::NodeKind::input:
      case ir::NodeKind::constant:
        if (a != b) return false;
        break;
      case ir::NodeKind::opaque:
        if (x.serial != y.serial) return false;
        break;
      case ir::NodeKind::operation:
        if (x.op != y.op || !(x.attributes == y.attributes)) return false;
        for (std::size_t k = 0; k < x.operands.size(); ++k) stack.emplace_back(x.operands[k], y.operands[k]);
        break;
    }
  }
  return true;
}

}  // namespace

std::unordered_map<ValueId, Origin> rebuilt_values(const Document& document, const LiftedModel& model, const ir::Arena& arena,
                                                   const ir::Uses& uses, const ir::ValueMap& correspondence) {
  std::unordered_map<ValueId, Origin> result;
  if (correspondence.empty()) return result;
  for (const Node& node : document.nodes(GraphId{0})) {
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k].empty()) continue;
      const ValueId before = model.values.at(node.outputs[k]);
      const ValueId after = current(correspondence, before);
      const auto origin = model.origins.find(before);
      if (after == before || uses.contains(before.node) || origin == model.origins.end() || origin->second.node != node.id) continue;
      if (model.names.contains(after) || result.contains(after)) continue;
      std::unordered_set<ValueId> leaves;
      for (const std::string_view input : node.inputs)
        if (!input.empty()) leaves.insert(model.values.at(input));
      if (same_operations(arena, correspondence, before, after, leaves)) result.emplace(after, Origin{node.id, k});
    }
  }
  return result;
}

const Node* copying_node(const Document& document, const LiftedModel& model, const ir::Arena& arena, const ir::ValueMap& correspondence,
                         std::string_view output, ir::ValueId value) {
  static constexpr std::array<std::string_view, 16> kCopies = {"Identity",  "Dropout", "Transpose", "Reshape", "Flatten", "Squeeze",
                                                               "Unsqueeze", "Cast",    "Expand",    "Tile",    "Slice",   "Concat",
                                                               "Sum",       "Mean",    "Max",       "Min"};
  const Definition* definition = document.find(GraphId{0}, output);
  if (!definition->node) return nullptr;
  const Node& node = document.node(*definition->node);
  if (std::ranges::none_of(kCopies, [&](std::string_view type) { return node.is(type); })) return nullptr;
  if (std::ranges::count_if(node.outputs, [](std::string_view name) { return !name.empty(); }) != 1) return nullptr;
  std::size_t read = 0;
  for (const std::string_view name : node.inputs) {
    if (name.empty()) continue;
    const ValueId operand = model.values.at(name);
    if (current(correspondence, operand) == value) {
      ++read;
    } else if (!arena.is_constant(operand)) {
      return nullptr;
    }
  }
  return read == 1 ? &node : nullptr;
}

}  // namespace xflow::onnx_io
