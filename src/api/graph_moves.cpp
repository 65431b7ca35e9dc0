#include "src/api/graph_moves.h"

#include <algorithm>
#include <unordered_set>

namespace xflow::api {
namespace {

using ir::ValueId;
using onnx_io::Document;
using onnx_io::LiftedModel;

std::vector<ValueId> made_by(const LiftedModel& model, const onnx_io::Node& node) {
  std::vector<ValueId> values;
  for (const std::string_view name : node.outputs)
    if (!name.empty()) values.push_back(model.values.at(name));
  return values;
}

// Names that something needs: outputs, captured values, and what the nodes that make them read.
std::unordered_set<std::string_view> used_names(const Document& document, const LiftedModel& model) {
  std::unordered_set<std::string_view> used(model.output_names.begin(), model.output_names.end());
  const auto& order = document.main().order;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const onnx_io::Node& node = document.node(*id);
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](std::string_view name) { return used.contains(name); })) continue;
    used.insert(node.inputs.begin(), node.inputs.end());
    used.insert(node.captures.begin(), node.captures.end());
  }
  return used;
}

// The node with new inputs in the place of what it reads.
ir::Graph alone(const LiftedModel& model, const onnx_io::Node& node, ir::Arena& arena) {
  ir::ValueMap inputs;
  for (const std::string_view name : node.inputs) {
    if (name.empty()) continue;
    const ValueId value = model.values.at(name);
    if (!arena.is_constant(value)) inputs.try_emplace(value, arena.input(arena.type(value), 0));
  }
  const ir::Graph whole{made_by(model, node)};
  const auto part = ir::replace(arena, whole, inputs);
  return part ? *part : whole;
}

}  // namespace

std::vector<GraphMove> graph_moves(const Document& document, const LiftedModel& model, ir::Arena& arena) {
  const std::unordered_set<std::string_view> used = used_names(document, model);
  std::vector<GraphMove> moves;
  for (const onnx_io::NodeId id : document.main().order) {
    const onnx_io::Node& node = document.node(id);
    const std::vector<ValueId> values = made_by(model, node);
    if (values.empty() || arena.is_constant(values[0])) continue;
    const bool unused = std::none_of(node.outputs.begin(), node.outputs.end(), [&](std::string_view name) { return used.contains(name); });
    const auto origin = model.origins.find(values[0]);
    const bool equal = origin != model.origins.end() && origin->second.node != id &&
                       document.node(origin->second.node).op_type == node.op_type &&
                       document.node(origin->second.node).domain == node.domain;
    if (!unused && !equal) continue;
    moves.push_back({unused ? "drop-unused" : "merge-equal-nodes", onnx_io::describe(document, id), alone(model, node, arena), {}});
  }
  return moves;
}

}  // namespace xflow::api
