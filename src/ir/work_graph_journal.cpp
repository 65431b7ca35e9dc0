// WorkGraph: single changes, the journal, and undo().
#include <algorithm>
#include <cassert>

#include "src/ir/work_graph.h"

namespace xflow::ir {
namespace {

constexpr std::int64_t kGap = std::int64_t{1} << 24;  // between the labels of neighbours in the list after relabel()

}  // namespace

void WorkGraph::set_present(NodeId id, bool present) {
  Slot& s = slot(id);
  assert(s.present != present);
  // An operation that leaves the graph is forgotten, so that Arena::operation cannot return it. A new
  // operation is interned already: forget it first.
  if (arena_.node(id).kind == NodeKind::operation) {
    arena_.forget(id);
    if (present) arena_.intern(id);
  }
  s.present = present;
  count(id, present);
}

void WorkGraph::add_use(ValueId value, std::uint32_t user) {
  Slot& s = slot(value.node);
  ++s.uses[value.output];
  ++s.total_uses;
  if (runs(user) && s.running_uses[value.output]++ == 0) count_bytes(value, true);
  if (user == kNone) return;
  const auto at = std::lower_bound(s.users.begin(), s.users.end(), NodeId{user});
  const auto index = at - s.users.begin();
  if (at != s.users.end() && *at == NodeId{user}) {
    ++s.user_counts[static_cast<std::size_t>(index)];
  } else {
    s.users.insert(at, NodeId{user});
    s.user_counts.insert(s.user_counts.begin() + index, 1);
  }
}

void WorkGraph::remove_use(ValueId value, std::uint32_t user) {
  Slot& s = slot(value.node);
  --s.uses[value.output];
  --s.total_uses;
  if (runs(user) && --s.running_uses[value.output] == 0) count_bytes(value, false);
  if (user == kNone) return;
  const auto at = std::lower_bound(s.users.begin(), s.users.end(), NodeId{user});
  const auto index = at - s.users.begin();
  if (--s.user_counts[static_cast<std::size_t>(index)] == 0) {
    s.users.erase(at);
    s.user_counts.erase(s.user_counts.begin() + index);
  }
}

void WorkGraph::put_operand(NodeId user, std::size_t index, ValueId to) {
  Slot& s = slot(user);
  const bool interned = arena_.node(user).kind == NodeKind::operation;
  if (s.present) count(user, false);
  if (interned) arena_.forget(user);
  node(user).operands[index] = to;
  if (interned && s.present) arena_.intern(user);
  if (s.present) count(user, true);
}

void WorkGraph::set_constant(NodeId id, bool constant) {
  Slot& s = slot(id);
  if (s.present) count(id, false);
  for (const ValueId v : arena_.node(id).operands) {
    std::uint32_t& running = slot(v.node).running_uses[v.output];
    if (constant && --running == 0) count_bytes(v, false);
    if (!constant && running++ == 0) count_bytes(v, true);
  }
  const auto count_outputs = [&](bool in) {
    for (std::uint32_t output = 0; output < s.running_uses.size(); ++output)
      if (s.running_uses[output] > 0) count_bytes({id, output}, in);
  };
  if (!constant) count_outputs(false);
  node(id).is_constant = constant;
  if (constant) count_outputs(true);
  if (s.present) count(id, true);
}

void WorkGraph::link(NodeId id, std::uint32_t previous) {
  Slot& s = slot(id);
  s.previous = previous;
  s.next = previous == kNone ? first_ : slots_[previous].next;
  s.listed = true;
  (previous == kNone ? first_ : slots_[previous].next) = number(id);
  (s.next == kNone ? last_ : slots_[s.next].previous) = number(id);
  const std::int64_t low = previous == kNone ? 0 : slots_[previous].label;
  const std::int64_t high = s.next == kNone ? low + 2 * kGap : slots_[s.next].label;
  s.label = low + (high - low) / 2;
  if (s.label <= low || s.label >= high) relabel();
}

void WorkGraph::unlink(NodeId id) {
  Slot& s = slot(id);
  (s.previous == kNone ? first_ : slots_[s.previous].next) = s.next;
  (s.next == kNone ? last_ : slots_[s.next].previous) = s.previous;
  s.listed = false;
}

void WorkGraph::relabel() {
  std::int64_t label = 0;
  for (std::uint32_t k = first_; k != kNone; k = slots_[k].next) slots_[k].label = label += kGap;
}

void WorkGraph::use(ValueId value, std::uint32_t user) {
  journal_.push_back({Kind::use, user, 0, value, {}});
  add_use(value, user);
}

void WorkGraph::unuse(ValueId value, std::uint32_t user) {
  journal_.push_back({Kind::unuse, user, 0, value, {}});
  remove_use(value, user);
}

void WorkGraph::list(NodeId id, std::uint32_t previous) {
  journal_.push_back({Kind::list, number(id), 0, {}, {}});
  link(id, previous);
}

void WorkGraph::unlist(NodeId id) {
  journal_.push_back({Kind::unlist, number(id), slot(id).previous, {}, {}});
  unlink(id);
}

void WorkGraph::undo(Mark mark) {
  while (journal_.size() > mark.journal) {
    const Entry entry = journal_.back();
    journal_.pop_back();
    const NodeId id{entry.node};
    switch (entry.kind) {
      case Kind::enter:
        set_present(id, false);
        break;
      case Kind::leave:
        set_present(id, true);
        break;
      case Kind::use:
        remove_use(entry.value, entry.node);
        break;
      case Kind::unuse:
        add_use(entry.value, entry.node);
        break;
      case Kind::operand:
        put_operand(id, entry.index, entry.value);
        break;
      case Kind::constant:
        set_constant(id, false);
        break;
      case Kind::output:
        outputs_[entry.index] = entry.value;
        break;
      case Kind::list:
        unlink(id);
        break;
      case Kind::unlist:
        link(id, entry.index);
        break;
      case Kind::touched:
      case Kind::replaced:
        break;
    }
  }
  for (std::size_t k = mark.nodes; k < slots_.size(); ++k) assert(!slots_[k].present);
  arena_.truncate(mark.nodes);
  if (slots_.size() > mark.nodes) slots_.resize(mark.nodes);
  fresh_.resize(slots_.size());
}

}  // namespace xflow::ir
