// WorkGraph: construction, queries, hash and sums, changes since a mark, extraction.
#include "src/ir/work_graph.h"

#include <algorithm>

namespace xflow::ir {
namespace {

// The finaliser of MurmurHash3. Sums of its values are hashes of sets, so every bit must depend on every
// other.
std::uint64_t scramble(std::uint64_t h) {
  h ^= h >> 33U;
  h *= 0xFF51AFD7ED558CCDULL;
  h ^= h >> 33U;
  h *= 0xC4CEB9FE1A85EC53ULL;
  return h ^ (h >> 33U);
}
std::uint64_t scramble_both(std::uint64_t seed, std::uint64_t value) { return scramble(seed * 0x9E3779B97F4A7C15ULL + value); }

}  // namespace

WorkGraph::WorkGraph(const Arena& source, const Graph& graph, const std::shared_ptr<Symbols>& symbols)
    : arena_(symbols == nullptr ? source.shared_symbols() : symbols) {
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

void WorkGraph::add_slots() {
  for (std::size_t k = slots_.size(); k < arena_.size(); ++k) {
    const auto id = static_cast<NodeId>(k);
    const Node& made = arena_.node(id);
    Slot& added = slots_.emplace_back();
    added.uses.assign(made.outputs.size(), 0);
    added.running_uses.assign(made.outputs.size(), 0);
    std::uint64_t h = made.kind == NodeKind::operation ? made.local
                      : made.kind == NodeKind::opaque  ? scramble_both(5, made.serial)
                                                       : made.hash;
    for (const ValueId v : made.operands) h = scramble_both(h, name(v));
    for (std::size_t output = 0; output < made.outputs.size(); ++output) added.names.push_back(scramble_both(h, output));
  }
  fresh_.resize(slots_.size(), false);
}

std::uint64_t WorkGraph::content_of(NodeId id) const {
  const Node& n = arena_.node(id);
  std::uint64_t h = scramble_both(static_cast<std::uint64_t>(n.kind), n.kind == NodeKind::operation ? n.local : n.serial);
  for (const ValueId v : n.operands) h = scramble_both(h, name(v));
  for (const std::uint64_t own : slot(id).names) h = scramble_both(h, own);
  return h;
}

// Adds a node to the sums over the nodes of the graph (hash, number of operations), or removes it.
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

// A weight that several operands share counts once for each of them. The sum is capped at the size of the
// results.
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
