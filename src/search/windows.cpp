#include "src/search/windows.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace xflow::search {
namespace {

using ir::NodeId;
using ir::NodeKind;
using ir::ValueId;

bool is_operation(const ir::WorkGraph& graph, NodeId id) {
  const ir::Node& node = graph.arena().node(id);
  return graph.contains(id) && !node.is_constant && (node.kind == NodeKind::operation || node.kind == NodeKind::opaque);
}

// Whether operations that read the same value may be merged: inputs and weights, but not numbers and
// vectors, which unrelated operations share.
bool connects(const ir::WorkGraph& graph, ValueId value) {
  const ir::Arena& arena = graph.arena();
  if (arena.is_absent(value) || is_operation(graph, value.node)) return false;
  return !arena.is_constant(value) || arena.type(value).rank() >= 2;
}

class Grower {
 public:
  Grower(const ir::WorkGraph& graph, std::size_t size)
      : graph_(graph), size_(size), closed_(graph.arena().size(), false), seen_(graph.arena().size(), 0) {}

  // Operations that no window may contain from now on.
  void close(NodeId id) { closed_[static_cast<std::size_t>(id)] = true; }

  // The first operations that are reached.
  Window grow(NodeId seed) {
    Window window;
    ++grown_;
    reach(seed, window);
    for (std::size_t next = 0; next < window.size() && window.size() < size_; ++next) {
      const NodeId id = window[next];
      for (const ValueId operand : graph_.arena().node(id).operands) {
        if (graph_.arena().is_absent(operand)) continue;
        reach(operand.node, window);
        if (connects(graph_, operand)) reach_users(operand.node, window);
      }
      reach_users(id, window);
    }
    return window;
  }

 private:
  void reach(NodeId id, Window& window) {
    std::uint32_t& seen = seen_[static_cast<std::size_t>(id)];
    if (seen == grown_ || closed_[static_cast<std::size_t>(id)]) return;
    seen = grown_;
    if (window.size() < size_ && is_operation(graph_, id)) window.push_back(id);
  }
  void reach_users(NodeId id, Window& window) {
    for (const NodeId user : graph_.users(id)) {
      if (window.size() == size_) return;
      reach(user, window);
    }
  }

  const ir::WorkGraph& graph_;
  std::size_t size_;
  std::vector<bool> closed_;
  std::vector<std::uint32_t> seen_;  // by node: the window that reached it last
  std::uint32_t grown_ = 0;
};

class Signature {
 public:
  void add(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15ULL + (hash_ >> 29U); }
  void add(const ir::TensorType& type) {
    add(static_cast<std::uint64_t>(type.data_type) * 2 + (type.ranked ? 1 : 0));
    add(type.shape.size());
    for (const ir::Poly& dim : type.shape) add(dim.hash());
  }
  std::uint64_t hash() const { return hash_; }

 private:
  std::uint64_t hash_ = 0x2545F4914F6CDD1DULL;
};

// The size of a window's core: the half that was reached first, or all of it if the whole graph around it
// was reached.
std::size_t core_of(const Window& window, std::size_t size) { return window.size() < size ? window.size() : (size + 1) / 2; }

void cover_core(const Window& window, std::size_t size, std::vector<bool>& covered) {
  for (std::size_t k = 0; k < core_of(window, size); ++k) covered[static_cast<std::size_t>(window[k])] = true;
}

}  // namespace

std::vector<Window> windows_of(const ir::WorkGraph& graph, std::size_t size) {
  std::vector<Window> windows;
  std::vector<bool> covered(graph.arena().size(), false);
  Grower grower(graph, size);
  for (const NodeId id : graph.order()) {
    if (covered[static_cast<std::size_t>(id)] || !is_operation(graph, id)) continue;
    Window window = grower.grow(id);
    cover_core(window, size, covered);
    windows.push_back(std::move(window));
  }
  return windows;
}

std::vector<std::vector<Window>> repeated_windows_of(const ir::WorkGraph& graph, std::size_t size) {
  std::unordered_map<std::uint64_t, std::vector<NodeId>> seeds;  // by the signature of the window that grows from it
  std::unordered_map<NodeId, std::uint64_t> signatures;
  Grower grower(graph, size);
  for (const NodeId id : graph.order()) {
    if (!is_operation(graph, id)) continue;
    const std::uint64_t signature = signature_of(graph, grower.grow(id));
    seeds[signature].push_back(id);
    signatures.emplace(id, signature);
  }
  std::vector<std::vector<Window>> lists;
  std::vector<bool> covered(graph.arena().size(), false);
  for (const NodeId first : graph.order()) {
    if (covered[static_cast<std::size_t>(first)] || !is_operation(graph, first)) continue;
    std::vector<Window>& list = lists.emplace_back();
    std::unordered_set<NodeId> taken;  // by the cores of the list
    for (const NodeId id : seeds.at(signatures.at(first))) {
      if (covered[static_cast<std::size_t>(id)]) continue;
      Window window = grower.grow(id);
      const auto core = std::span(window).first(core_of(window, size));
      if (std::ranges::any_of(core, [&](NodeId member) { return taken.contains(member); })) continue;
      taken.insert(core.begin(), core.end());
      cover_core(window, size, covered);
      list.push_back(std::move(window));
    }
  }
  return lists;
}

std::vector<Window> parts_of(const ir::WorkGraph& graph, const Window& within, std::size_t size) {
  std::vector<bool> open(graph.arena().size(), within.empty());
  for (const NodeId id : within) open[static_cast<std::size_t>(id)] = true;
  Grower grower(graph, size);
  for (std::size_t k = 0; k < open.size(); ++k)
    if (!open[k]) grower.close(static_cast<NodeId>(k));
  std::vector<Window> parts;
  for (const NodeId id : graph.order()) {
    if (!open[static_cast<std::size_t>(id)] || !is_operation(graph, id)) continue;
    parts.push_back(grower.grow(id));
    for (const NodeId member : parts.back()) {
      open[static_cast<std::size_t>(member)] = false;
      grower.close(member);
    }
  }
  return parts;
}

Window neighbours_of(const ir::WorkGraph& graph, const Window& window) {
  std::unordered_set<NodeId> known(window.begin(), window.end());
  Window neighbours;
  const auto reach = [&](NodeId id) {
    if (is_operation(graph, id) && known.insert(id).second) neighbours.push_back(id);
  };
  for (const NodeId id : window) {
    for (const ValueId operand : graph.arena().node(id).operands)
      if (!graph.arena().is_absent(operand)) reach(operand.node);
    for (const NodeId user : graph.users(id)) reach(user);
  }
  return neighbours;
}

std::uint64_t signature_of(const ir::WorkGraph& graph, const Window& window) {
  const ir::Arena& arena = graph.arena();
  Signature signature;
  std::unordered_map<NodeId, std::uint64_t> inside;
  std::unordered_map<ValueId, std::uint64_t> outside;  // by first use
  std::unordered_map<ValueId, std::size_t> uses;       // inside
  for (const NodeId id : window) inside.emplace(id, inside.size());
  for (const NodeId id : window) {
    const ir::Node& node = arena.node(id);
    signature.add(static_cast<std::uint64_t>(node.kind));
    signature.add(node.kind == NodeKind::operation ? node.local : node.serial);
    for (const ir::TensorType& output : node.outputs) signature.add(output);
    for (const ValueId operand : node.operands) {
      if (const auto at = inside.find(operand.node); at != inside.end()) {
        signature.add(at->second * 64 + operand.output);
        ++uses[operand];
        continue;
      }
      const std::uint64_t ordinal = outside.try_emplace(operand, outside.size()).first->second;
      signature.add(~(ordinal * 4 + (arena.is_absent(operand) ? 2 : arena.is_constant(operand) ? 1 : 0)));
      if (!arena.is_absent(operand)) signature.add(arena.type(operand));
    }
  }
  for (const NodeId id : window) {
    for (std::uint32_t k = 0; k < arena.node(id).outputs.size(); ++k) {
      const ValueId value{id, k};
      const auto known = uses.find(value);
      signature.add(graph.use_count(value) > (known == uses.end() ? 0 : known->second) ? 1 : 0);
    }
  }
  return signature.hash();
}

}  // namespace xflow::search
