#include "src/ir/graph.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <unordered_set>

namespace xflow::ir {
namespace {

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) { return (seed ^ value) * 0x9E3779B97F4A7C15ULL + (seed >> 29) + 0x632BE5ABULL; }

std::uint64_t hash_bytes(std::uint64_t seed, std::span<const std::byte> bytes) {
  std::uint64_t h = mix(seed, bytes.size());
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    h = mix(h, word);
  }
  for (; i < bytes.size(); ++i) h = mix(h, static_cast<std::uint64_t>(bytes[i]));
  return h;
}

std::uint64_t hash_string(std::uint64_t seed, std::string_view text) {
  return hash_bytes(seed, std::as_bytes(std::span<const char>(text.data(), text.size())));
}

std::span<const std::byte> small_bytes(const Constant& c) {
  const auto bytes = c.source->bytes();
  return bytes ? *bytes : std::span<const std::byte>();
}

bool by_value(const Constant& c) { return c.is_small() && c.source->bytes().has_value(); }

bool same_constant(const Constant& a, const Constant& b) {
  if (a.data_type != b.data_type || a.dims != b.dims) return false;
  if (a.source == b.source) return true;
  if (by_value(a) && by_value(b)) {
    const auto x = small_bytes(a);
    const auto y = small_bytes(b);
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
  }
  return !a.source->identity().empty() && a.source->identity() == b.source->identity();
}

bool same(const Node& a, const Node& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == NodeKind::constant) return a.hash == b.hash && same_constant(a.constant, b.constant);
  return a.local == b.local && a.op == b.op && a.operands == b.operands && a.attributes == b.attributes;
}

// The hash key of interning: equal for equal nodes. It uses the ids of the operands, not their hashes, so
// that it changes only with the node itself.
std::uint64_t key_of(const Node& node) {
  if (node.kind != NodeKind::operation) return node.hash;
  std::uint64_t h = node.local;
  for (const ValueId v : node.operands) h = mix(h, (static_cast<std::uint64_t>(v.node) << 16U) + v.output);
  return h;
}

}  // namespace

Arena::Arena() : Arena(std::make_shared<Symbols>()) {}

Arena::Arena(std::shared_ptr<Symbols> symbols) : symbols_(std::move(symbols)) {
  Node absent;
  absent.kind = NodeKind::constant;
  absent.outputs = {TensorType{DataType::undefined, false, {}}};
  absent.is_constant = true;
  absent.is_absent = true;
  absent.hash = 1;
  absent_ = ValueId{add(std::move(absent)), 0};
}

Arena::~Arena() = default;

NodeId Arena::add(Node node) {
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::make_unique<Node>(std::move(node)));
  return id;
}

void Arena::intern(NodeId id) { interned_.emplace(key_of(node(id)), id); }

void Arena::forget(NodeId id) {
  const auto [begin, end] = interned_.equal_range(key_of(node(id)));
  const auto found = std::find_if(begin, end, [&](const auto& entry) { return entry.second == id; });
  if (found != end) interned_.erase(found);
}

std::optional<NodeId> Arena::find_equal(const Node& wanted, const std::function<bool(NodeId)>& accept) const {
  std::optional<NodeId> result;
  const auto [begin, end] = interned_.equal_range(key_of(wanted));
  for (auto it = begin; it != end; ++it) {
    if ((!result || it->second < *result) && same(node(it->second), wanted) && accept(it->second)) result = it->second;
  }
  return result;
}

void Arena::truncate(std::size_t size) {
  while (nodes_.size() > size) {
    forget(static_cast<NodeId>(nodes_.size() - 1));
    nodes_.pop_back();
  }
}

ValueId Arena::input(TensorType type, std::uint32_t serial) {
  Node node;
  node.kind = NodeKind::input;
  node.outputs = {std::move(type)};
  node.serial = serial;
  node.hash = mix(2, serial);
  return {add(std::move(node)), 0};
}

ValueId Arena::constant(Constant constant) {
  Node node;
  node.kind = NodeKind::constant;
  node.is_constant = true;
  node.outputs = {TensorType{constant.data_type, true, polys(constant.dims)}};
  std::uint64_t h = mix(3, static_cast<std::uint64_t>(constant.data_type));
  for (const std::int64_t d : constant.dims) h = mix(h, static_cast<std::uint64_t>(d));
  if (by_value(constant)) {
    h = hash_bytes(h, small_bytes(constant));
  } else if (!constant.source->identity().empty()) {
    h = hash_string(h, constant.source->identity());
  } else {
    h = mix(h, nodes_.size());
  }
  node.hash = h;
  node.constant = std::move(constant);
  if (const auto known = find_equal(node, [](NodeId) { return true; })) return {*known, 0};
  const NodeId id = add(std::move(node));
  intern(id);
  return {id, 0};
}

bool has_known_sizes(const Attributes& attributes, const std::vector<TensorType>& outputs) {
  const auto is_known = [](const Poly& p) { return p.is_constant(); };
  for (const Attribute& attribute : attributes.list()) {
    if (const auto* integer = std::get_if<Poly>(&attribute.value); integer != nullptr && !is_known(*integer)) return false;
    const auto* list = std::get_if<std::vector<Poly>>(&attribute.value);
    if (list != nullptr && !std::all_of(list->begin(), list->end(), is_known)) return false;
  }
  return std::all_of(outputs.begin(), outputs.end(),
                     [&](const TensorType& type) { return type.ranked && std::all_of(type.shape.begin(), type.shape.end(), is_known); });
}

NodeId Arena::operation(OperatorId op, Attributes attributes, std::vector<ValueId> operands, std::vector<TensorType> outputs, bool at_run) {
  Node node;
  node.kind = NodeKind::operation;
  node.op = op;
  node.local = mix(mix(4, static_cast<std::uint64_t>(op)), attributes.hash());
  std::uint64_t h = node.local;
  node.at_run = at_run;
  node.is_constant = !at_run && has_known_sizes(attributes, outputs);
  for (const ValueId v : operands) {
    h = mix(h, hash(v));
    node.is_constant = node.is_constant && is_constant(v);
  }
  node.hash = h;
  node.attributes = std::move(attributes);
  node.operands = std::move(operands);
  if (const auto known = find_equal(node, [](NodeId) { return true; })) return *known;
  node.outputs = std::move(outputs);
  const NodeId id = add(std::move(node));
  intern(id);
  return id;
}

NodeId Arena::opaque(std::uint32_t serial, std::vector<ValueId> operands, std::vector<TensorType> outputs) {
  Node node;
  node.kind = NodeKind::opaque;
  node.serial = serial;
  std::uint64_t h = mix(5, serial);
  for (const ValueId v : operands) h = mix(h, hash(v));
  node.hash = h;
  node.operands = std::move(operands);
  node.outputs = std::move(outputs);
  return add(std::move(node));
}

std::uint64_t structural_hash(const Arena& arena, const Graph& graph) {
  std::uint64_t h = 6;
  for (const ValueId v : graph.outputs) h = mix(h, arena.hash(v));
  return h;
}

std::vector<NodeId> topological_order(const Arena& arena, const Graph& graph) {
  std::vector<NodeId> order;
  std::unordered_set<NodeId> done;
  struct Frame {
    NodeId node;
    std::size_t next;
  };
  std::vector<Frame> stack;
  for (const ValueId output : graph.outputs) {
    if (done.insert(output.node).second) stack.push_back({output.node, 0});
    while (!stack.empty()) {
      const NodeId id = stack.back().node;
      const Node& node = arena.node(id);
      if (stack.back().next < node.operands.size()) {
        const NodeId operand = node.operands[stack.back().next++].node;
        if (done.insert(operand).second) stack.push_back({operand, 0});
      } else {
        order.push_back(id);
        stack.pop_back();
      }
    }
  }
  return order;
}

Uses::Uses(const Arena& arena, const Graph& graph) : order_(topological_order(arena, graph)), users_(order_.size()) {
  position_.reserve(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) position_.emplace(order_[i], i);
  for (const NodeId id : order_) {
    for (const ValueId operand : arena.node(id).operands) {
      ++counts_[operand];
      auto& users = users_[position_.at(operand.node)];
      if (users.empty() || users.back() != id) users.push_back(id);
    }
  }
  for (const ValueId output : graph.outputs) ++counts_[output];
}

std::span<const NodeId> Uses::users(NodeId node) const {
  const auto found = position_.find(node);
  return found == position_.end() ? std::span<const NodeId>() : std::span<const NodeId>(users_[found->second]);
}

std::size_t Uses::use_count(ValueId value) const {
  const auto found = counts_.find(value);
  return found == counts_.end() ? 0 : found->second;
}

Result<Graph> replace(Arena& arena, const Graph& graph, ValueMap& replacements) {
  for (const auto& [from, to] : replacements) {
    if (!(arena.type(from) == arena.type(to)))
      return fail(ErrorCode::ill_typed, "a replacement has type " + to_string(arena.symbols(), arena.type(to)) + ", expected " +
                                            to_string(arena.symbols(), arena.type(from)));
  }
  const auto mapped = [&](ValueId v) {
    const auto found = replacements.find(v);
    return found == replacements.end() ? v : found->second;
  };
  for (const NodeId id : topological_order(arena, graph)) {
    const Node& node = arena.node(id);
    bool changed = false;
    for (const ValueId operand : node.operands) changed = changed || replacements.contains(operand);
    if (!changed) continue;
    std::vector<ValueId> operands;
    operands.reserve(node.operands.size());
    for (const ValueId operand : node.operands) operands.push_back(mapped(operand));
    if (operands == node.operands) continue;
    const NodeId rebuilt = node.kind == NodeKind::opaque
                               ? arena.opaque(node.serial, std::move(operands), node.outputs)
                               : arena.operation(node.op, node.attributes, std::move(operands), node.outputs, node.at_run);
    for (std::uint32_t k = 0; k < arena.node(rebuilt).outputs.size(); ++k) replacements.try_emplace(ValueId{id, k}, ValueId{rebuilt, k});
  }
  Graph result;
  for (const ValueId output : graph.outputs) result.outputs.push_back(mapped(output));
  return result;
}

Result<void> verify(const Arena& arena, const Graph& graph) {
  const auto where = [&](NodeId id) { return "node " + std::to_string(static_cast<std::uint32_t>(id)); };
  for (const ValueId v : graph.outputs) {
    if (static_cast<std::size_t>(v.node) >= arena.size() || v.output >= arena.node(v).outputs.size())
      return fail(ErrorCode::internal, "a graph output names a value that does not exist", where(v.node));
    if (arena.is_absent(v)) return fail(ErrorCode::internal, "a graph output is absent");
  }
  for (const NodeId id : topological_order(arena, graph)) {
    const Node& node = arena.node(id);
    if (node.outputs.empty() && node.kind != NodeKind::opaque) return fail(ErrorCode::internal, "a node without outputs", where(id));
    for (const ValueId v : node.operands) {
      if (static_cast<std::size_t>(v.node) >= static_cast<std::size_t>(id))
        return fail(ErrorCode::internal, "an operand that is younger than its user", where(id));
      if (v.output >= arena.node(v).outputs.size())
        return fail(ErrorCode::internal, "operand " + std::to_string(v.output) + " of " + where(v.node) + " does not exist", where(id));
    }
    for (const TensorType& type : node.outputs)
      for (const Poly& d : type.shape)
        if (d.is_poisoned() || (d.is_constant() && *d.constant() < 0))
          return fail(ErrorCode::internal, "impossible type " + to_string(arena.symbols(), type), where(id));
    if ((node.kind == NodeKind::input || node.kind == NodeKind::constant) && !node.operands.empty())
      return fail(ErrorCode::internal, "a leaf with operands", where(id));
  }
  return {};
}

}  // namespace xflow::ir
