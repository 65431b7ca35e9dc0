// WorkGraph::replace: adds new nodes, redirects users, merges equal operations, removes unused nodes.
#include <algorithm>

#include "src/ir/work_graph.h"

namespace xflow::ir {

// Adds a node and its operands to the graph, operands first. The caller adds the use of the node.
void WorkGraph::enter(NodeId root) {
  if (slot(root).present) return;
  std::vector<std::pair<NodeId, std::size_t>> stack{{root, 0}};
  while (!stack.empty()) {
    const NodeId id = stack.back().first;
    const Node& n = arena_.node(id);
    if (stack.back().second < n.operands.size()) {
      const NodeId operand = n.operands[stack.back().second++].node;
      if (!slot(operand).present) stack.emplace_back(operand, 0);
      continue;
    }
    stack.pop_back();
    if (slot(id).present) continue;
    journal_.push_back({Kind::enter, number(id), 0, {}, {}});
    set_present(id, true);
    fresh_[index_of(id)] = true;
    entered_.push_back(id);
    std::uint32_t after = n.operands.empty() ? last_ : kNone;
    for (const ValueId v : n.operands) {
      use(v, number(id));
      const Slot& s = slot(v.node);
      if (s.listed && (after == kNone || s.label > slots_[after].label)) after = number(v.node);
    }
    if (!n.is_constant) list(id, after);
  }
}

void WorkGraph::drop_unused(NodeId root) {
  std::vector<NodeId> stack{root};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (!slot(id).present || slot(id).total_uses > 0) continue;
    if (slot(id).listed) unlist(id);
    journal_.push_back({Kind::leave, number(id), 0, {}, {}});
    set_present(id, false);
    for (const ValueId v : arena_.node(id).operands) {
      unuse(v, number(id));
      stack.push_back(v.node);
    }
  }
}

bool WorkGraph::put_before(NodeId operand, NodeId user) {
  if (!slot(operand).listed || !slot(user).listed || slot(operand).label < slot(user).label) return true;
  if (operand == user) return false;
  const std::int64_t bound = slot(user).label;
  std::vector<NodeId> found{operand};
  for (std::size_t k = 0; k < found.size(); ++k) {
    for (const ValueId v : arena_.node(found[k]).operands) {
      if (v.node == user) return false;
      if (!slot(v.node).listed || slot(v.node).label < bound) continue;
      if (std::find(found.begin(), found.end(), v.node) == found.end()) found.push_back(v.node);
    }
  }
  std::sort(found.begin(), found.end(), [&](NodeId a, NodeId b) { return slot(a).label < slot(b).label; });
  for (const NodeId id : found) {
    unlist(id);
    list(id, slot(user).previous);
  }
  return true;
}

void WorkGraph::update_constness(NodeId root) {
  std::vector<NodeId> stack{root};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    const Node& n = arena_.node(id);
    if (n.kind != NodeKind::operation || n.at_run || n.is_constant || !has_known_sizes(n.attributes, n.outputs)) continue;
    if (!std::all_of(n.operands.begin(), n.operands.end(), [&](ValueId v) { return arena_.is_constant(v); })) continue;
    if (slot(id).listed) unlist(id);
    journal_.push_back({Kind::constant, number(id), 0, {}, {}});
    set_constant(id, true);
    for (const NodeId user : slot(id).users) {
      journal_.push_back({Kind::touched, number(user), 0, {}, {}});
      stack.push_back(user);
    }
  }
}

// Redirects the users of `from` to `to`. Returns false if the graph would become cyclic.
bool WorkGraph::redirect(ValueId from, ValueId to, bool merges) {
  journal_.push_back({Kind::replaced, number(from.node), 0, from, to});
  const std::vector<NodeId> users = slot(from.node).users;
  for (const NodeId user : users) {
    if (!merges && fresh_[index_of(user)]) continue;
    bool reads = false;
    for (std::size_t k = 0; k < arena_.node(user).operands.size(); ++k) {
      if (arena_.node(user).operands[k] != from) continue;
      reads = true;
      use(to, number(user));
      journal_.push_back({Kind::operand, number(user), static_cast<std::uint32_t>(k), from, {}});
      put_operand(user, k, to);
      unuse(from, number(user));
    }
    if (!reads) continue;
    changed_ = true;
    if (!put_before(to.node, user)) return false;
    update_constness(user);
    const Node& n = arena_.node(user);
    if (n.kind != NodeKind::operation) continue;
    const auto stays = [&](NodeId other) { return other != user && slot(other).present && !merged_.contains(other); };
    if (const auto twin = arena_.find_equal(n, stays)) {
      for (std::uint32_t output = 0; output < n.outputs.size(); ++output)
        merges_.emplace_back(ValueId{user, output}, ValueId{*twin, output});
    }
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (outputs_[k] != from) continue;
    changed_ = true;
    use(to, kNone);
    journal_.push_back({Kind::output, kNone, static_cast<std::uint32_t>(k), from, {}});
    outputs_[k] = to;
    unuse(from, kNone);
  }
  return true;
}

bool WorkGraph::replace(std::span<const Replacement> replacements, Mark since) {
  add_slots();
  changed_ = false;
  merges_.clear();
  merged_.clear();
  std::vector<Replacement> all;
  for (const auto& [from, to] : replacements) {
    if (from == to) continue;
    if (!contains(from.node) || arena_.is_constant(from) || !(arena_.type(from) == arena_.type(to))) return false;
    // A new value takes the name of the value that it replaces.
    if (index_of(to.node) >= since.nodes && !slot(to.node).present) slot(to.node).names[to.output] = name(from);
    all.emplace_back(from, to);
  }
  for (const auto& [from, to] : all) {
    enter(to.node);
    use(to, kNone);  // keeps `to` in the graph until the end of replace()
  }
  bool good = true;
  for (const auto& [from, to] : all) good = good && redirect(from, to, false);
  for (std::size_t k = 0; good && k < merges_.size(); ++k) {
    const auto [from, to] = merges_[k];
    if (from == to) continue;
    merged_.insert(from.node);
    if (slot(from.node).uses[from.output] > 0) good = redirect(from, to, true);
    for (std::size_t later = k + 1; later < merges_.size(); ++later)
      if (merges_[later].second == from) merges_[later].second = to;
  }
  for (const NodeId id : entered_) fresh_[index_of(id)] = false;
  entered_.clear();
  if (!good || !changed_) return false;
  for (const auto& [from, to] : all) {
    unuse(to, kNone);
    drop_unused(to.node);
  }
  for (const auto& [from, to] : all) drop_unused(from.node);
  for (const auto& [from, to] : merges_) drop_unused(from.node);
  return true;
}

}  // namespace xflow::ir
