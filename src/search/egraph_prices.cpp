#include "src/search/egraph_prices.h"

#include <algorithm>
#include <limits>

#include "src/search/windows.h"

namespace xflow::search {

using ir::NodeId;
using ir::ValueId;

namespace {

// A hash of all that decides the price of a small graph: its structure, and the values of small constants.
std::uint64_t key_of(const ir::WorkGraph& graph) {
  const ir::Arena& arena = graph.arena();
  Window operations = graph.order();
  std::erase_if(operations, [&](NodeId id) { return arena.node(id).kind != ir::NodeKind::operation; });
  std::uint64_t key = signature_of(graph, operations);
  for (const NodeId id : operations) {
    for (const ValueId operand : arena.node(id).operands) {
      if (arena.is_absent(operand) || !arena.is_constant(operand)) continue;
      const ir::Node& constant = arena.node(operand);
      if (constant.kind == ir::NodeKind::constant && constant.constant.is_small())
        key = (key ^ constant.hash) * 0x9E3779B97F4A7C15ULL + (key >> 29U);
    }
  }
  return key;
}

}  // namespace

double EGraphPrices::alone(NodeId operation) {
  const auto known = alone_.find(operation);
  if (known != alone_.end()) return known->second;
  const double price = graph_.arena().node(operation).is_constant ? 0 : this->price(operation, std::nullopt);
  alone_.emplace(operation, price);
  return price;
}

double EGraphPrices::beside(NodeId operation) {
  double least = alone(operation);
  for (const ValueId operand : graph_.arena().node(operation).operands) {
    if (graph_.arena().is_absent(operand) || graph_.is_free(graph_.representative(operand))) continue;
    for (const ValueId member : graph_.members(operand))
      least = std::min(least, std::max(price(operation, member) - alone(member.node), 0.0));
  }
  return least;
}

double EGraphPrices::price(NodeId operation, std::optional<ValueId> before) {
  const ir::Arena& from = graph_.arena();
  ir::Arena arena(from.shared_symbols());
  ir::ValueMap known;
  const auto copy = [&](NodeId id) {
    const ir::Node& node = from.node(id);
    std::vector<ValueId> operands;
    operands.reserve(node.operands.size());
    for (const ValueId operand : node.operands) {
      if (!from.is_absent(operand) && !from.is_constant(operand) && !known.contains(operand))
        known.emplace(operand, arena.input(from.type(operand), static_cast<std::uint32_t>(known.size())));
      operands.push_back(copy_constant(from, operand, arena, known));
    }
    return arena.operation(node.op, node.attributes, std::move(operands), node.outputs, node.at_run);
  };
  if (before) known.emplace(graph_.representative(*before), ValueId{copy(before->node), before->output});
  const NodeId last = copy(operation);
  ir::Graph graph;
  for (std::uint32_t k = 0; k < from.node(operation).outputs.size(); ++k) graph.outputs.push_back({last, k});
  const ir::WorkGraph work(arena, graph);
  const auto [price, is_new] = known_.emplace(key_of(work), std::numeric_limits<double>::infinity());
  if (!is_new) return price->second;
  counted_();
  const auto cost = follow_(work);
  if (cost->complete())
    price->second = cost::nanoseconds(cost->time()).count() + per_operation_.count() * static_cast<double>(work.operations());
  return price->second;
}

}  // namespace xflow::search
