#include "src/parallel/rewritten_operators.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "src/ops/operator.h"
#include "src/parallel/model_tasks.h"

namespace xflow::parallel {
namespace {

using ir::NodeId;
using ir::ValueId;

bool is_same_operation(const ir::Node& a, const ir::Node& b) { return a.kind == b.kind && a.op == b.op; }

class Operators {
 public:
  Operators(const ir::Arena& arena, const ir::Graph& graph) : arena_(arena) {
    for (const NodeId id : ir::topological_order(arena, graph))
      if (runs(arena.node(id))) order_.push_back(id);
  }

  // Gives each operation the operator that it was part of.
  void group(const ir::ValueMap& correspondence, const std::vector<OperatorSource>& before) {
    std::unordered_map<NodeId, std::uint32_t> first;
    for (std::uint32_t op = 0; op < before.size(); ++op)
      for (const NodeId id : before[op].operations) first.emplace(id, op);
    std::unordered_map<NodeId, std::uint32_t> now;
    for (const auto& [from, to] : correspondence) {
      const auto known = first.find(from.node);
      if (known != first.end() && is_same_operation(arena_.node(from), arena_.node(to))) now.emplace(to.node, known->second);
    }
    std::vector<std::size_t> left(before.size());
    for (std::uint32_t op = 0; op < before.size(); ++op) left[op] = before[op].operations.size();
    for (const NodeId id : order_) {
      const auto same = first.find(id);
      const auto changed = now.find(id);
      if (same == first.end() && changed == now.end()) continue;
      const std::uint32_t op = same == first.end() ? changed->second : same->second;
      group_of_.emplace(id, op);
      --left[op];
    }
    // An operator that lost an operation, or has one twice, is none.
    std::erase_if(group_of_, [&](const auto& own) { return left[own.second] != 0; });
    while (divide()) {
    }
  }

  std::vector<OperatorSource> make(const std::vector<OperatorSource>& before) const {
    std::unordered_map<std::uint32_t, std::vector<NodeId>> operations;
    std::vector<OperatorSource> made;
    for (const NodeId id : order_) {
      const auto group = group_of_.find(id);
      if (group == group_of_.end()) {
        const std::string name(arena_.node(id).kind == ir::NodeKind::operation ? ops::get(arena_.node(id).op).signature.name : "opaque");
        made.push_back({name, "a rewritten operation " + name, {id}});
        continue;
      }
      auto& own = operations[group->second];
      own.push_back(id);
      const OperatorSource& source = before[group->second];
      if (own.size() == source.operations.size()) made.push_back({source.type, source.place, own, source.is_kept});
    }
    return made;
  }

 private:
  // Drops an operator that another one needs before it is complete. False if there is none.
  bool divide() {
    std::unordered_map<std::uint32_t, std::size_t> last;  // position of the last operation
    std::unordered_map<NodeId, std::size_t> position;
    for (std::size_t k = 0; k < order_.size(); ++k) {
      position[order_[k]] = k;
      if (const auto group = group_of_.find(order_[k]); group != group_of_.end()) last[group->second] = k;
    }
    const auto end = [&](NodeId id) {
      const auto group = group_of_.find(id);
      return group == group_of_.end() ? position.at(id) : last.at(group->second);
    };
    for (const NodeId id : order_) {
      const std::size_t own = end(id);
      for (const ValueId operand : arena_.node(id).operands) {
        const auto group = group_of_.find(operand.node);
        if (group == group_of_.end() || end(operand.node) <= own) continue;
        std::erase_if(group_of_, [op = group->second](const auto& other) { return other.second == op; });
        return true;
      }
    }
    return false;
  }

  const ir::Arena& arena_;
  std::vector<NodeId> order_;
  std::unordered_map<NodeId, std::uint32_t> group_of_;
};

}  // namespace

std::vector<OperatorSource> rewritten_operators(const ir::Arena& arena, const ir::Graph& graph, const ir::ValueMap& correspondence,
                                                const std::vector<OperatorSource>& before) {
  Operators operators(arena, graph);
  operators.group(correspondence, before);
  return operators.make(before);
}

}  // namespace xflow::parallel
