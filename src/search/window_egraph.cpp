#include "src/search/window_egraph.h"

#include <algorithm>
#include <map>
#include <set>

namespace xflow::search {

using ir::NodeId;
using ir::ValueId;

ValueId copy_constant(const ir::Arena& from, ValueId value, ir::Arena& to, ir::ValueMap& known) {
  if (from.is_absent(value)) return to.absent();
  if (const auto found = known.find(value); found != known.end()) return found->second;
  const ir::Node& node = from.node(value);
  ValueId made;
  if (node.kind == ir::NodeKind::constant) {
    made = to.constant(node.constant);
  } else {
    std::vector<ValueId> operands;
    operands.reserve(node.operands.size());
    for (const ValueId operand : node.operands) operands.push_back(copy_constant(from, operand, to, known));
    made = {to.operation(node.op, node.attributes, std::move(operands), node.outputs, node.at_run), value.output};
  }
  known.emplace(value, made);
  return made;
}

namespace {

// Operands before users, and otherwise in the order of the numbers in the work graph: interchangeable roots
// of a rule are matched in that order.
Window in_order(const ir::WorkGraph& graph, const std::set<NodeId>& inside) {
  std::map<NodeId, std::set<NodeId>> waiting;  // with the operands that are missing
  std::set<NodeId> ready;
  for (const NodeId id : inside) {
    std::set<NodeId> missing;
    for (const ValueId operand : graph.arena().node(id).operands)
      if (inside.contains(operand.node)) missing.insert(operand.node);
    if (missing.empty()) ready.insert(id);
    waiting.emplace(id, std::move(missing));
  }
  Window order;
  while (!ready.empty()) {
    const NodeId id = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(id);
    for (const NodeId user : graph.users(id)) {
      const auto at = waiting.find(user);
      if (at != waiting.end() && at->second.erase(id) > 0 && at->second.empty()) ready.insert(user);
    }
  }
  return order;
}

}  // namespace

// --- The window -----------------------------------------------------------------------------------------------------------------------

WindowEGraph::WindowEGraph(const ir::WorkGraph& graph, const Window& window) : arena_(graph.arena().shared_symbols()) {
  std::set<NodeId> inside(window.begin(), window.end());
  const Window order = in_order(graph, inside);
  ir::ValueMap known;
  for (const NodeId id : order) {
    const ir::Node& node = graph.arena().node(id);
    std::vector<ValueId> operands;
    operands.reserve(node.operands.size());
    for (const ValueId operand : node.operands) {
      const bool enters = !graph.arena().is_constant(operand) && !inside.contains(operand.node);
      if (enters && !graph.arena().is_absent(operand) && !known.contains(operand)) {
        known.emplace(operand, arena_.input(graph.arena().type(operand), static_cast<std::uint32_t>(known.size())));
      }
      operands.push_back(copy_constant(graph.arena(), operand, arena_, known));
    }
    const NodeId copy = arena_.operation(node.op, node.attributes, std::move(operands), node.outputs, node.at_run);
    add(copy, kNone);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) known.emplace(ValueId{id, k}, ValueId{copy, k});
  }
  for (const auto& [from, to] : known) {
    if (inside.contains(from.node)) continue;
    entering_.emplace(from, to);
    const auto [other, is_new] = leaving_.emplace(to, from);
    if (!is_new) other->second = std::min(other->second, from);
  }
  for (const NodeId id : order) {
    for (std::uint32_t k = 0; k < graph.arena().node(id).outputs.size(); ++k) {
      const ValueId value{id, k};
      std::size_t read_inside = 0;
      for (const NodeId user : graph.users(id))
        if (inside.contains(user)) read_inside += static_cast<std::size_t>(std::ranges::count(graph.arena().node(user).operands, value));
      if (graph.use_count(value) > read_inside) outputs_.emplace_back(value, known.at(value));
    }
  }
}

bool WindowEGraph::is_free(ValueId representative) const {
  const ir::Node& node = arena_.node(representative);
  return node.is_constant || node.kind != ir::NodeKind::operation;
}

ValueId WindowEGraph::make(ir::Arena& work, ValueId value, const Choice& chosen, ir::ValueMap& made) const {
  if (arena_.is_absent(value)) return work.absent();
  value = representative(value);
  if (const auto known = made.find(value); known != made.end()) return known->second;
  if (const auto outside = leaving_.find(value); outside != leaving_.end()) return outside->second;
  const ValueId choice = is_free(value) ? value : chosen(value);
  const ir::Node& node = arena_.node(choice);
  if (node.kind == ir::NodeKind::constant) return work.constant(node.constant);
  std::vector<ValueId> operands;
  operands.reserve(node.operands.size());
  for (const ValueId operand : node.operands) operands.push_back(make(work, operand, chosen, made));
  const NodeId id = work.operation(node.op, node.attributes, std::move(operands), node.outputs, node.at_run);
  made.emplace(value, ValueId{id, choice.output});
  return {id, choice.output};
}

std::optional<NodeId> WindowEGraph::find(const ir::WorkGraph& graph, NodeId operation, ir::ValueMap& known) {
  if (known.empty()) known = entering_;
  const ir::Node& node = graph.arena().node(operation);
  std::vector<ValueId> operands;
  operands.reserve(node.operands.size());
  for (const ValueId operand : node.operands) {
    if (graph.arena().is_absent(operand)) {
      operands.push_back(arena_.absent());
      continue;
    }
    if (!known.contains(operand) && !graph.arena().is_constant(operand)) return std::nullopt;
    const ValueId here = copy_constant(graph.arena(), operand, arena_, known);
    if (!is_known(here.node)) return std::nullopt;
    operands.push_back(representative(here));
  }
  const NodeId found = arena_.operation(node.op, node.attributes, std::move(operands), node.outputs, node.at_run);
  if (!is_known(found)) return std::nullopt;
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) known.emplace(ValueId{operation, k}, ValueId{found, k});
  return found;
}

// --- Classes --------------------------------------------------------------------------------------------------------------------------

std::size_t WindowEGraph::root_of(std::size_t number) const {
  while (parents_[number] != number) {
    parents_[number] = parents_[parents_[number]];
    number = parents_[number];
  }
  return number;
}

ValueId WindowEGraph::representative(ValueId value) const { return is_known(value.node) ? values_[root_of(number_of(value))] : value; }

std::span<const ValueId> WindowEGraph::members(ValueId representative) const {
  if (!is_known(representative.node)) return {};
  return classes_[root_of(number_of(representative))].members;
}

bool WindowEGraph::contains(NodeId node) const { return is_known(node) && !nodes_[index_of(node)].is_stale; }

std::span<const NodeId> WindowEGraph::users(NodeId node) const { return nodes_[index_of(node)].users; }

std::size_t WindowEGraph::use_count(ValueId value) const {
  std::size_t count = 0;
  for (const NodeId user : users(value.node)) count += static_cast<std::size_t>(std::ranges::count(arena_.node(user).operands, value));
  return count;
}

void WindowEGraph::add(NodeId id, std::uint32_t made_by) {
  if (is_known(id) || arena_.node(id).is_absent) return;
  const ir::Node& node = arena_.node(id);
  for (const ValueId operand : node.operands) add(operand.node, made_by);
  if (nodes_.size() < arena_.size()) nodes_.resize(arena_.size());
  NodeData& data = nodes_[index_of(id)];
  data.first = static_cast<std::uint32_t>(values_.size());
  data.made_by = made_by;
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
    parents_.push_back(static_cast<std::uint32_t>(values_.size()));
    values_.push_back({id, k});
    classes_.emplace_back();
    if (node.kind == ir::NodeKind::operation) classes_.back().members.push_back({id, k});
  }
  if (node.kind == ir::NodeKind::operation && !node.is_constant) ++operations_;
  std::set<std::size_t> read;
  bool is_current = true;
  for (const ValueId operand : node.operands) {
    if (arena_.is_absent(operand)) continue;
    const std::size_t number = number_of(operand);
    const std::size_t root = root_of(number);
    if (read.insert(root).second) classes_[root].users.push_back(id);
    is_current = is_current && root == number;
  }
  // Operands that have other representatives by now: rebuild() gives it those.
  if (!is_current) unrepaired_.push_back(*read.begin());
}

bool WindowEGraph::may_add(NodeId id, const Workspace::Admissible& admissible) const {
  const ir::Node& node = arena_.node(id);
  if (is_known(id) || node.kind != ir::NodeKind::operation) return true;
  if (admissible && !node.is_constant && !admissible(arena_, id)) return false;
  return std::ranges::all_of(node.operands,
                             [&](ValueId operand) { return arena_.is_absent(operand) || may_add(operand.node, admissible); });
}

bool WindowEGraph::join(ValueId a, ValueId b, std::size_t rewrite) {
  std::size_t into = root_of(number_of(a));
  std::size_t from = root_of(number_of(b));
  if (into == from) return false;
  // A class with a free value is represented by it, others by their oldest value.
  const bool swap = is_free(values_[into]) == is_free(values_[from]) ? from < into : is_free(values_[from]);
  if (swap) std::swap(into, from);
  parents_[from] = static_cast<std::uint32_t>(into);
  Class& to = classes_[into];
  Class& old = classes_[from];
  to.members.insert(to.members.end(), old.members.begin(), old.members.end());
  to.joins.insert(to.joins.end(), old.joins.begin(), old.joins.end());
  if (rewrite != kNone) to.joins.push_back(rewrite);
  unrepaired_.push_back(from);
  return true;
}

// --- Saturation -----------------------------------------------------------------------------------------------------------------------

bool WindowEGraph::apply(const Rewrite& rewrite, NodeId root, const Workspace::Admissible& admissible) {
  const std::vector<ir::Replacement> replacements = rewrite.build(arena_);
  const bool is_new = std::ranges::any_of(replacements, [&](const ir::Replacement& r) {
    return !is_known(r.second.node) || representative(r.first) != representative(r.second);
  });
  if (!is_new) return false;
  for (const auto& [from, to] : replacements)
    if (!may_add(to.node, admissible)) return false;
  const std::size_t number = applied_.size();
  applied_.push_back({rewrite.rule, rewrite.matched.empty() ? std::vector<NodeId>{root} : rewrite.matched});
  bool changed = false;
  for (const auto& [from, to] : replacements) {
    add(to.node, static_cast<std::uint32_t>(number));
    changed = join(from, to, number) || changed;
  }
  if (!changed) applied_.pop_back();
  return changed;
}

void WindowEGraph::repair(NodeId id) {
  if (nodes_[index_of(id)].is_stale) return;
  const ir::Node& node = arena_.node(id);
  std::vector<ValueId> operands;
  operands.reserve(node.operands.size());
  for (const ValueId operand : node.operands) operands.push_back(arena_.is_absent(operand) ? operand : representative(operand));
  if (operands == node.operands) return;
  const std::vector<ir::TensorType> outputs = node.outputs;
  const NodeId made = arena_.operation(node.op, node.attributes, std::move(operands), outputs, node.at_run);
  const bool was_known = is_known(made);
  add(made, nodes_[index_of(id)].made_by);
  if (!was_known) nodes_[index_of(made)].copy_of = static_cast<std::uint32_t>(id);
  nodes_[index_of(id)].is_stale = true;
  if (!arena_.node(id).is_constant) --operations_;
  for (std::uint32_t k = 0; k < outputs.size(); ++k) join({id, k}, {made, k}, kNone);
}

void WindowEGraph::rebuild() {
  while (!unrepaired_.empty()) {
    const std::size_t number = unrepaired_.back();
    unrepaired_.pop_back();
    std::vector<NodeId> users = std::move(classes_[number].users);
    classes_[number].users.clear();
    std::ranges::sort(users);
    for (const NodeId user : users) repair(user);
    Class& to = classes_[root_of(number)];
    for (const NodeId user : users)
      if (!nodes_[index_of(user)].is_stale && std::ranges::find(to.users, user) == to.users.end()) to.users.push_back(user);
  }
  for (Class& c : classes_) {
    std::erase_if(c.members, [&](ValueId value) { return nodes_[index_of(value.node)].is_stale; });
    std::erase_if(c.users, [&](NodeId user) { return nodes_[index_of(user)].is_stale; });
  }
}

void WindowEGraph::find_users() {
  for (NodeData& data : nodes_) data.users.clear();
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const auto id = static_cast<NodeId>(k);
    if (!contains(id) || arena_.node(id).is_constant) continue;
    for (const ValueId operand : arena_.node(id).operands) {
      if (arena_.is_absent(operand)) continue;
      std::vector<NodeId>& users = nodes_[index_of(operand.node)].users;
      if (users.empty() || users.back() != id) users.push_back(id);
    }
  }
}

bool WindowEGraph::saturate(Rewriter& rewriter, const Workspace::Admissible& admissible, const Limits& limits,
                            const std::function<bool()>& stopped) {
  std::size_t applied = 0;
  bool is_whole = true;
  for (std::size_t round = 0;; ++round) {
    rebuild();
    find_users();
    // Rewrites are found in one graph and applied afterwards, so that their order does not matter.
    std::vector<std::pair<NodeId, Rewrite>> found;
    const auto take = [&](NodeId id, Rewrite rewrite) {
      if (rewrite.merge != Merge::none && round >= limits.rounds_of_merges) {
        is_whole = false;
      } else if (rewrite.key == 0 || tried_.insert(rewrite.key ^ std::hash<NodeId>()(id)).second) {
        found.emplace_back(id, std::move(rewrite));
      }
    };
    std::uint64_t steps = limits.steps;
    const std::size_t size = nodes_.size();
    for (std::size_t k = 0; k < size; ++k) {
      const auto id = static_cast<NodeId>(k);
      if (!contains(id) || arena_.node(id).kind != ir::NodeKind::operation || arena_.node(id).is_constant) continue;
      if (stopped() || applied + found.size() > limits.rewrites) return false;
      is_whole = rewriter.equal_rewrites(arena_, *this, id, steps, [&](Rewrite rewrite) { take(id, std::move(rewrite)); }) && is_whole;
    }
    bool changed = false;
    for (const auto& [root, rewrite] : found) {
      ++applied;
      changed = apply(rewrite, root, admissible) || changed;
      if (operations_ > limits.operations || stopped()) {
        rebuild();
        return false;
      }
    }
    if (!changed) return is_whole;
  }
}

// --- Reasons --------------------------------------------------------------------------------------------------------------------------

std::vector<std::size_t> WindowEGraph::reasons(std::span<const NodeId> operations, bool all) const {
  std::set<std::size_t> rewrites;
  std::set<NodeId> seen;
  std::set<std::size_t> joined;
  std::vector<NodeId> left(operations.begin(), operations.end());
  const auto add_rewrite = [&](std::size_t number) {
    if (rewrites.insert(number).second) left.insert(left.end(), applied_[number].matched.begin(), applied_[number].matched.end());
  };
  const auto add_joins = [&](ValueId value) {
    const std::size_t root = root_of(number_of(value));
    if (!joined.insert(root).second) return;
    for (const std::size_t number : classes_[root].joins) add_rewrite(number);
  };
  if (all)
    for (const auto& [outside, value] : outputs_) add_joins(value);
  while (!left.empty()) {
    const NodeId id = left.back();
    left.pop_back();
    if (!is_known(id) || !seen.insert(id).second) continue;
    const NodeData& data = nodes_[index_of(id)];
    if (data.made_by != kNone) add_rewrite(data.made_by);
    if (all)
      for (std::uint32_t k = 0; k < arena_.node(id).outputs.size(); ++k) add_joins({id, k});
    if (data.copy_of == kNone) continue;
    const auto old = static_cast<NodeId>(data.copy_of);
    left.push_back(old);
    const std::vector<ValueId>& before = arena_.node(old).operands;
    for (std::size_t k = 0; k < before.size(); ++k) {
      if (arena_.is_absent(before[k]) || before[k] == arena_.node(id).operands[k]) continue;
      add_joins(before[k]);
    }
  }
  return {rewrites.begin(), rewrites.end()};
}

}  // namespace xflow::search
