#include "src/parallel/model_tasks.h"

#include <algorithm>
#include <map>

#include "src/onnx/lift/lift_operator.h"

namespace xflow::parallel {
namespace {

constexpr std::uint32_t kNoPosition = UINT32_MAX;

}  // namespace

bool runs(const ir::Node& node) {
  const bool is_leaf = node.kind == ir::NodeKind::opaque && node.serial == onnx_io::kLeafSerial;
  return !node.is_constant && !is_leaf && (node.kind == ir::NodeKind::operation || node.kind == ir::NodeKind::opaque);
}

// A node of the graph belongs to the first node of the document that makes it, or of which a part reads it.
ModelTasks tasks_of(const onnx_io::Document& document, const onnx_io::LiftedModel& model, const ir::Arena& arena) {
  ModelTasks result;
  result.order = ir::topological_order(arena, model.graph);
  std::map<onnx_io::NodeId, std::uint32_t> position;
  for (const onnx_io::NodeId node : document.main().order) position.emplace(node, static_cast<std::uint32_t>(position.size()));
  std::unordered_map<ir::NodeId, std::uint32_t> first;
  const auto take = [&](ir::NodeId node, std::uint32_t at) {
    const auto [found, is_new] = first.emplace(node, at);
    if (!is_new) found->second = std::min(found->second, at);
  };
  for (auto id = result.order.rbegin(); id != result.order.rend(); ++id) {
    const ir::Node& node = arena.node(*id);
    if (!runs(node)) continue;
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
      const auto origin = model.origins.find({*id, output});
      if (origin != model.origins.end()) take(*id, position.at(origin->second.node));
    }
    if (node.kind == ir::NodeKind::opaque) take(*id, position.at(onnx_io::NodeId{node.serial}));
    const auto own = first.find(*id);
    if (own == first.end()) continue;
    for (const ir::ValueId operand : node.operands) take(operand.node, own->second);
  }
  std::vector<std::uint32_t> task_at(position.size(), kNoPosition);
  for (const ir::NodeId id : result.order) {
    if (runs(arena.node(id)) && first.contains(id)) task_at[first[id]] = 0;
  }
  for (std::size_t at = 0; at < task_at.size(); ++at) {
    auto& nodes = task_at[at] == kNoPosition ? result.without_kernel : result.nodes;
    if (task_at[at] != kNoPosition) task_at[at] = static_cast<std::uint32_t>(result.nodes.size());
    nodes.push_back(document.main().order[at]);
  }
  for (const ir::NodeId id : result.order) {
    if (runs(arena.node(id)) && first.contains(id)) result.task_of.emplace(id, task_at[first[id]]);
  }
  return result;
}

}  // namespace xflow::parallel
