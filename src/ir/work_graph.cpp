#include "src/ir/work_graph.h"

#include <algorithm>
#include <cassert>

namespace xflow::ir {
namespace {

constexpr std::int64_t kGap = std::int64_t{1} << 24;

// Sums of these are hashes of sets, so every bit must depend on every other (the finaliser of MurmurHash3).
std::uint64_t scramble(std::uint64_t h) {
  h ^= h >> 33U;
  h *= 0xFF51AFD7ED558CCDULL;
  h ^= h >> 33U;
  h *= 0xC4CEB9FE1A85EC53ULL;
  return h ^ (h >> 33U);
}
std::uint64_t mix(std::uint64_t seed, std::uint64_t value) { return scramble(seed * 0x9E3779B97F4A7C15ULL + value); }

}  // namespace

WorkGraph::WorkGraph(const Arena& source, const Graph& graph) : arena_(source.shared_symbols()) {
  copies_.assign(source.size(), kNone);
  std::vector<std::uint32_t> sources(arena_.size(), kNone);
  copies_[index_of(source.absent().node)] = number(arena_.absent().node);
  sources[index_of(arena_.absent().node)] = number(source.absent().node);
  const auto copied = [&](ValueId v) { return ValueId{NodeId{copies_[index_of(v.node)]}, v.output}; };
  for (const NodeId id : topological_order(source, graph)) {
    const Node& old = source.node(id);
    if (old.is_absent) continue;
    std::vector<ValueId> operands;
    operands.reserve(old.operands.size());
    for (const ValueId v : old.operands) operands.push_back(copied(v));
    NodeId made{};
    switch (old.kind) {
      case NodeKind::input:
        made = arena_.input(old.outputs[0], old.serial).node;
        break;
      case NodeKind::constant:
        made = arena_.constant(old.constant).node;
        break;
      case NodeKind::operation:
        made = arena_.operation(old.op, old.attributes, std::move(operands), old.outputs, old.at_run);
        break;
      case NodeKind::opaque:
        made = arena_.opaque(old.serial, std::move(operands), old.outputs);
        break;
    }
    copies_[index_of(id)] = number(made);
    sources.resize(arena_.size(), kNone);
    sources[index_of(made)] = number(id);
  }
  add_slots();
  for (std::size_t k = 0; k < sources.size(); ++k) slots_[k].source = sources[k];
  find_stored_bytes();
  for (const ValueId v : graph.outputs) {
    outputs_.push_back(copied(v));
    enter(outputs_.back().node);
    use(outputs_.back(), kNone);
  }
  for (const NodeId id : entered_) fresh_[index_of(id)] = false;
  entered_.clear();
  journal_.clear();
}

std::optional<NodeId> WorkGraph::copy_of(NodeId source) const {
  const std::uint32_t copy = index_of(source) < copies_.size() ? copies_[index_of(source)] : kNone;
  return copy == kNone ? std::nullopt : std::optional(NodeId{copy});
}

std::optional<NodeId> WorkGraph::source_of(NodeId id) const {
  return slot(id).source == kNone ? std::nullopt : std::optional(NodeId{slot(id).source});
}

bool WorkGraph::contains(NodeId node) const { return index_of(node) < slots_.size() && slot(node).present; }

std::span<const NodeId> WorkGraph::users(NodeId node) const {
  return index_of(node) < slots_.size() ? std::span<const NodeId>(slot(node).users) : std::span<const NodeId>();
}

std::size_t WorkGraph::use_count(ValueId value) const {
  return index_of(value.node) < slots_.size() ? slot(value.node).uses[value.output] : 0;
}

std::size_t WorkGraph::total_uses(NodeId node) const { return index_of(node) < slots_.size() ? slot(node).total_uses : 0; }

std::vector<NodeId> WorkGraph::order() const {
  std::vector<NodeId> result;
  for (std::uint32_t k = first_; k != kNone; k = slots_[k].next) result.push_back(NodeId{k});
  return result;
}

// --- Hashes and sums ----------------------------------------------------------------------------------------------------------------

void WorkGraph::add_slots() {
  for (std::size_t k = slots_.size(); k < arena_.size(); ++k) {
    const auto id = static_cast<NodeId>(k);
    const Node& made = arena_.node(id);
    Slot& added = slots_.emplace_back();
    added.uses.assign(made.outputs.size(), 0);
    added.running_uses.assign(made.outputs.size(), 0);
    std::uint64_t h = made.kind == NodeKind::operation ? made.local : made.kind == NodeKind::opaque ? mix(5, made.serial) : made.hash;
    for (const ValueId v : made.operands) h = mix(h, name(v));
    for (std::size_t output = 0; output < made.outputs.size(); ++output) added.names.push_back(mix(h, output));
  }
  fresh_.resize(slots_.size(), false);
}

std::uint64_t WorkGraph::content_of(NodeId id) const {
  const Node& n = arena_.node(id);
  std::uint64_t h = mix(static_cast<std::uint64_t>(n.kind), n.kind == NodeKind::operation ? n.local : n.serial);
  for (const ValueId v : n.operands) h = mix(h, name(v));
  for (const std::uint64_t own : slot(id).names) h = mix(h, own);
  return h;
}

// Everything that is summed over the nodes of the graph.
void WorkGraph::count(NodeId id, bool in) {
  const Node& n = arena_.node(id);
  if (n.is_constant) return;
  Slot& s = slot(id);
  if (in) s.content = content_of(id);
  hash_ = in ? hash_ + s.content : hash_ - s.content;
  if (n.kind == NodeKind::operation) operations_ = in ? operations_ + 1 : operations_ - 1;
}

std::uint64_t WorkGraph::computed_bytes(ValueId value) const {
  const auto dims = constant_shape(arena_.type(value).shape);
  if (!dims) return 0;
  std::uint64_t elements = 1;
  for (const std::int64_t d : *dims) elements *= static_cast<std::uint64_t>(d);
  return storage_bytes(arena_.type(value).data_type, elements);
}

// Weights that several operands share are counted for each: never more than the result takes.
void WorkGraph::find_stored_bytes() {
  for (std::size_t k = 0; k < slots_.size(); ++k) {
    const Node& n = arena_.node(static_cast<NodeId>(k));
    if (!n.is_constant || n.kind != NodeKind::operation) continue;
    std::uint64_t results = 0;
    for (std::uint32_t output = 0; output < n.outputs.size(); ++output) results += computed_bytes({static_cast<NodeId>(k), output});
    std::uint64_t weights = 0;
    for (const ValueId v : n.operands) {
      if (arena_.is_absent(v)) continue;
      const std::uint64_t own = slot(v.node).stored;
      weights = std::min(results, weights + (own == kNoBytes ? computed_bytes(v) : own));
    }
    slots_[k].stored = weights;
  }
}

void WorkGraph::count_bytes(ValueId value, bool in) {
  if (!arena_.is_constant(value) || arena_.is_absent(value)) return;
  const std::uint64_t stored = slot(value.node).stored;
  const std::uint64_t bytes = stored == kNoBytes ? computed_bytes(value) : stored;
  constant_bytes_ = in ? constant_bytes_ + bytes : constant_bytes_ - bytes;
}

// --- Changes ------------------------------------------------------------------------------------------------------------------------

void WorkGraph::set_present(NodeId id, bool present) {
  Slot& s = slot(id);
  assert(s.present != present);
  // An operation that is not in the graph must not be found in place of one that is.
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

// --- Rewrites -----------------------------------------------------------------------------------------------------------------------

// Brings in a node and what it needs, operands first. The caller uses it.
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
    if (n.kind != NodeKind::operation || n.is_constant || !has_known_sizes(n.attributes, n.outputs)) continue;
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

// False where the graph would depend on itself.
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
    if (const auto twin = arena_.find_equal(n, [&](NodeId other) { return other != user && slot(other).present; })) {
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
  std::vector<Replacement> all;
  for (const auto& [from, to] : replacements) {
    if (from == to) continue;
    if (!contains(from.node) || arena_.is_constant(from) || !(arena_.type(from) == arena_.type(to))) return false;
    // What is new takes the name of what it replaces.
    if (index_of(to.node) >= since.nodes && !slot(to.node).present) slot(to.node).names[to.output] = name(from);
    all.emplace_back(from, to);
  }
  for (const auto& [from, to] : all) {
    enter(to.node);
    use(to, kNone);  // held until the end
  }
  bool good = true;
  for (const auto& [from, to] : all) good = good && redirect(from, to, false);
  for (std::size_t k = 0; good && k < merges_.size(); ++k) {
    const auto [from, to] = merges_[k];
    if (from == to || slot(from.node).uses[from.output] == 0) continue;
    good = redirect(from, to, true);
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

// --- What changed -------------------------------------------------------------------------------------------------------------------

std::vector<WorkGraph::Change> WorkGraph::changes(Mark since) const {
  std::vector<Change> result;
  const auto add = [&](std::uint32_t id, bool operands) {
    if (id != kNone) result.push_back({NodeId{id}, operands});
  };
  for (std::size_t k = since.journal; k < journal_.size(); ++k) {
    const Entry& entry = journal_[k];
    switch (entry.kind) {
      case Kind::use:
      case Kind::unuse:
        add(number(entry.value.node), false);
        break;
      case Kind::enter:
      case Kind::leave:
      case Kind::operand:
      case Kind::constant:
      case Kind::touched:
        add(entry.node, true);
        break;
      case Kind::output:
      case Kind::list:
      case Kind::unlist:
      case Kind::replaced:
        break;
    }
  }
  std::sort(result.begin(), result.end(),
            [](const Change& a, const Change& b) { return a.node != b.node ? a.node < b.node : a.operands > b.operands; });
  result.erase(std::unique(result.begin(), result.end(), [](const Change& a, const Change& b) { return a.node == b.node; }), result.end());
  return result;
}

std::vector<Replacement> WorkGraph::replaced(Mark since, Mark until) const {
  std::vector<Replacement> result;
  for (std::size_t k = since.journal; k < until.journal; ++k)
    if (journal_[k].kind == Kind::replaced) result.emplace_back(journal_[k].value, journal_[k].to);
  return result;
}

Graph WorkGraph::extract(Arena& source) const {
  ValueMap values;
  return extract(source, values);
}

Graph WorkGraph::extract(Arena& source, ValueMap& values) const {
  Graph result;
  for (const NodeId id : topological_order(arena_, Graph{outputs_})) {
    const Node& n = arena_.node(id);
    std::vector<ValueId> operands;
    operands.reserve(n.operands.size());
    for (const ValueId v : n.operands) operands.push_back(values.at(v));
    const std::uint32_t old = slot(id).source;
    NodeId made{};
    if (old != kNone && source.node(NodeId{old}).operands == operands) {
      made = NodeId{old};
    } else if (n.kind == NodeKind::constant) {
      made = source.constant(n.constant).node;
    } else if (n.kind == NodeKind::opaque) {
      made = source.opaque(n.serial, std::move(operands), n.outputs);
    } else {
      made = source.operation(n.op, n.attributes, std::move(operands), n.outputs, n.at_run);
    }
    for (std::uint32_t output = 0; output < n.outputs.size(); ++output) values.emplace(ValueId{id, output}, ValueId{made, output});
  }
  for (const ValueId v : outputs_) result.outputs.push_back(values.at(v));
  return result;
}

}  // namespace xflow::ir
