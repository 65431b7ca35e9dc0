#include "src/cost/incremental_cover.h"

#include <algorithm>
#include <set>

namespace xflow::cost {

using ir::NodeId;
using ir::ValueId;

namespace {

// No runtime fuses longer chains, and every combination would have to be measured.
constexpr std::size_t kLongestChain = 5;

}  // namespace

IncrementalCover::IncrementalCover(const ir::WorkGraph& graph, Regions& regions) : graph_(graph), arena_(graph.arena()), regions_(regions) {
  std::vector<ir::WorkGraph::Change> all;
  for (const NodeId id : graph.order()) all.push_back({id, true});
  update(all);
}

// --- Reading, changing, undoing -----------------------------------------------------------------------------------------------------

const IncrementalCover::Info& IncrementalCover::read(NodeId id) {
  const std::size_t index = index_of(id);
  if (read_at_[index] != update_) {
    read_at_[index] = update_;
    footprint_.push_back(id);
  }
  return infos_[index];
}

IncrementalCover::Info& IncrementalCover::edit(NodeId id) {
  read(id);
  const std::size_t index = index_of(id);
  if (saved_at_[index] != moment_) {
    saved_at_[index] = moment_;
    if (!moments_.empty()) saved_.push_back({id, infos_[index]});
  }
  return infos_[index];
}

std::size_t IncrementalCover::mark() {
  ++moment_;
  moments_.push_back({saved_.size(), sums_, outputs_, std::nullopt});
  return moments_.size() - 1;
}

void IncrementalCover::undo(std::size_t mark) {
  const Moment& moment = moments_[mark];
  while (saved_.size() > moment.saved) {
    infos_[index_of(saved_.back().node)] = std::move(saved_.back().info);
    saved_.pop_back();
  }
  sums_ = moment.sums;
  outputs_ = moment.outputs;
  for (std::size_t k = moments_.size(); k-- > mark;) {
    if (moments_[k].refusals) refusals_ = *std::move(moments_[k].refusals);
  }
  moments_.resize(mark);
  ++moment_;
  if (infos_.size() > arena_.size()) infos_.resize(arena_.size());
}

std::vector<NodeId> IncrementalCover::changed(std::size_t mark) const {
  std::vector<NodeId> result;
  for (std::size_t k = moments_[mark].saved; k < saved_.size(); ++k) result.push_back(saved_[k].node);
  return result;
}

void IncrementalCover::touch(NodeId id) {
  if (touched_at_[index_of(id)] == update_) return;
  touched_at_[index_of(id)] = update_;
  touched_.push_back(id);
}

void IncrementalCover::accept(std::map<std::string, std::size_t> accepted) {
  accepted_ = std::move(accepted);
  sums_.excess = 0;
  for (const auto& [refusal, count] : refusals_) {
    const auto allowed = accepted_.find(refusal);
    const std::size_t most = allowed == accepted_.end() ? 0 : allowed->second;
    if (count > most) sums_.excess += count - most;
  }
}

void IncrementalCover::update(std::span<const ir::WorkGraph::Change> changes) {
  ++update_;
  footprint_.clear();
  touched_.clear();
  pending_exits_.clear();
  unpriced_.clear();
  unconverted_.clear();
  const std::size_t size = arena_.size();
  if (infos_.size() < size) infos_.resize(size);
  for (auto* stamps : {&saved_at_, &read_at_, &touched_at_, &tree_at_})
    if (stamps->size() < size) stamps->resize(size, 0);
  // First drops the data of nodes that were removed or have new operands, with the composites that contain
  // them.
  for (const auto& [id, operands] : changes) {
    const std::vector<NodeId> readers = read(id).readers;
    for (const NodeId exit : readers) {
      pending_exits_.push_back(exit);
      if (operands) forget_record(exit);
    }
    if (operands) forget_record(id);
  }
  for (const auto& [id, operands] : changes) start(id);
  const std::vector<NodeId> exits = pending_exits_;
  for (const NodeId exit : exits) start(exit);
  select_composites();
  make_regions();
  update_outputs();
  price_regions();
}

void IncrementalCover::start(NodeId id) {
  if (index_of(id) >= arena_.size()) return;
  if (!graph_.contains(id) || arena_.is_constant(ValueId{id, 0})) {
    if (read(id).region || read(id).record) touch(id);
    return;
  }
  touch(id);
  if (read(id).record == nullptr) record(id);
  if (read(id).record->composite) pending_exits_.push_back(id);
}

// --- Records and composites -------------------------------------------------------------------------------------------------------------

void IncrementalCover::record(NodeId id) {
  auto made = std::make_shared<Record>();
  std::vector<NodeId> explored;
  static_cast<NodeRecord&>(*made) = regions_.record(arena_, graph_, id, explored);
  made->explored = std::move(explored);
  for (const NodeId node : made->explored) edit(node).readers.push_back(id);
  edit(id).record = std::move(made);
}

void IncrementalCover::forget_record(NodeId id) {
  if (read(id).record == nullptr) return;
  deselect(id);
  const std::shared_ptr<const Record> old = read(id).record;
  for (const NodeId node : old->explored) std::erase(edit(node).readers, id);
  dissolve(id);
  edit(id).record.reset();
}

void IncrementalCover::deselect(NodeId exit) {
  if (!read(exit).selected) return;
  edit(exit).selected = false;
  touch(exit);
  const Composite& composite = *read(exit).record->composite;
  touch_operands(composite);
  for (const NodeId inner : composite.inner) {
    touch(inner);
    if (!read(inner).inside || read(inner).owner != exit) continue;
    edit(inner).inside = false;
    pending_exits_.push_back(inner);
  }
}

// The producers of these operands may have gained or lost a link to the composite.
void IncrementalCover::touch_operands(const Composite& composite) {
  touch(composite.entry.node);
  for (const ValueId parameter : composite.parameters)
    if (!arena_.is_constant(parameter)) touch(parameter.node);
}

bool IncrementalCover::closed(const Record& record) const {
  const Composite& composite = *record.composite;
  for (std::size_t k = 0; k < composite.inner.size(); ++k)
    if (graph_.total_uses(composite.inner[k]) != composite.inner_uses[k]) return false;
  return true;
}

// From the last exit to the first: a composite inside another composite is not taken.
void IncrementalCover::select_composites() {
  const auto later = [&](NodeId a, NodeId b) {
    return graph_.position(a) != graph_.position(b) ? graph_.position(a) > graph_.position(b) : a > b;
  };
  std::set<NodeId, decltype(later)> queue(later);
  const auto push_pending = [&] {
    for (const NodeId id : pending_exits_) {
      if (graph_.contains(id) && read(id).record != nullptr && read(id).record->composite) queue.insert(id);
    }
    pending_exits_.clear();
  };
  push_pending();
  while (!queue.empty()) {
    const NodeId exit = *queue.begin();
    queue.erase(queue.begin());
    const Info& info = read(exit);
    const std::shared_ptr<const Record> record = info.record;
    for (const NodeId inner : record->composite->inner) read(inner);
    const bool wanted = !info.inside && closed(*record);
    if (wanted == info.selected) continue;
    if (!wanted) {
      deselect(exit);
      push_pending();
      continue;
    }
    edit(exit).selected = true;
    touch(exit);
    touch_operands(*record->composite);
    for (const NodeId inner : record->composite->inner) {
      Info& changed = edit(inner);
      changed.inside = true;
      changed.owner = exit;
      touch(inner);
      pending_exits_.push_back(inner);
    }
    push_pending();
  }
}

// --- Paths and kernels --------------------------------------------------------------------------------------------------------------

// Whether other operations may follow this one in a kernel.
bool IncrementalCover::chains(const Info& info) const {
  if (info.record == nullptr || info.inside) return false;
  const Role role = info.record->shape->role;
  return role == Role::anchor || role == Role::pointwise;
}

ShapeId IncrementalCover::shape_of(const Link& link) {
  const Record& record = *read(link.node).record;
  return (link.composite ? record.composite_shape : record.shape)->id;
}

const ops::TensorSpec& IncrementalCover::result_of(NodeId id) {
  const Info& info = read(id);
  return (info.selected ? info.record->composite_shape : info.record->shape)->spec.results[0];
}

// The operation or composite that is the only reader of this node's value and may be fused with it.
std::optional<IncrementalCover::Link> IncrementalCover::next(NodeId id) {
  const Info& info = read(id);
  if (!chains(info)) return std::nullopt;
  const std::span<const NodeId> users = graph_.users(id);
  if (users.empty()) return std::nullopt;
  const std::size_t uses = graph_.total_uses(id);
  const Info& user = read(users[0]);
  if (user.record == nullptr) return std::nullopt;
  if (user.inside || user.selected) {
    const NodeId exit = user.inside ? user.owner : users[0];
    const Record& record = *read(exit).record;
    if (record.composite->entry != ValueId{id, 0} || record.composite->entry_uses != uses) return std::nullopt;
    if (record.composite_shape->role != Role::pointwise || !(result_of(exit) == result_of(id))) return std::nullopt;
    return Link{exit, true};
  }
  if (uses != 1 || user.record->shape->role != Role::pointwise) return std::nullopt;
  // A kernel may not read an operand of its operation, for example a known exponent.
  const auto& operands = user.record->operands;
  if (std::ranges::find(operands, ValueId{id, 0}) == operands.end() || !(result_of(users[0]) == result_of(id))) return std::nullopt;
  return Link{users[0], false};
}

// The nodes whose next() is this node, in the order of its operands.
std::vector<NodeId> IncrementalCover::links_into(NodeId id) {
  std::vector<NodeId> result;
  const Info& info = read(id);
  const auto consider = [&](ValueId value) {
    if (arena_.is_constant(value) || std::ranges::find(result, value.node) != result.end()) return;
    const auto link = next(value.node);
    if (link && link->node == id) result.push_back(value.node);
  };
  if (info.selected) {
    consider(info.record->composite->entry);
  } else {
    const std::shared_ptr<const Record> record = info.record;
    for (const ValueId operand : record->operands) consider(operand);
  }
  return result;
}

// Removes the kernel that contains this node. The other nodes of the kernel need new ones.
void IncrementalCover::dissolve(NodeId id) {
  const std::shared_ptr<const Region> region = read(id).region;
  if (region == nullptr) return;
  set_price(region->exit(), nullptr);
  for (const Link& link : region->links) {
    edit(link.node).region.reset();
    touch(link.node);
  }
}

void IncrementalCover::make_regions() {
  // A link may have been lost or gained in the whole tree of links of each touched node and of its operands.
  const std::size_t seeds = touched_.size();
  for (std::size_t k = 0; k < seeds; ++k) {
    const NodeId id = touched_[k];
    // The operation that took the link of this node may have to take another one.
    if (const std::optional<Link> follower = read(id).follower) touch(follower->node);
    if (!graph_.contains(id) || read(id).record == nullptr) continue;
    for (const ValueId operand : arena_.node(id).operands)
      if (!arena_.is_constant(operand) && chains(read(operand.node))) touch(operand.node);
  }
  std::vector<NodeId> roots;
  for (std::size_t k = 0; k < touched_.size(); ++k) {
    const NodeId id = touched_[k];
    // Kernels of nodes that are touched as parts of a tree stay unless the tree is cut differently.
    if (k < seeds || tree_at_[index_of(id)] != update_) dissolve(id);
    if (!graph_.contains(id) || read(id).record == nullptr || read(id).inside) continue;
    if (tree_at_[index_of(id)] == update_) continue;  // in a visited tree: long chains are walked once
    NodeId root = id;
    while (const auto link = next(root)) root = link->node;
    roots.push_back(root);
    for (const NodeId node : tree_of(root)) {
      tree_at_[index_of(node)] = update_;
      touch(node);
    }
  }
  for (const NodeId root : roots) make_tree(root);
}

// A node and all nodes from which links lead to it.
std::vector<NodeId> IncrementalCover::tree_of(NodeId root) {
  std::vector<NodeId> tree{root};
  for (std::size_t k = 0; k < tree.size(); ++k) {
    if (!chains(read(tree[k]))) continue;
    const std::vector<NodeId> before = links_into(tree[k]);
    tree.insert(tree.end(), before.begin(), before.end());
  }
  return tree;
}

// Whether an operation reads a second value that is not constant. A kernel has at most one such operation.
bool IncrementalCover::adds_residual(NodeId id) {
  const Info& info = read(id);
  if (info.selected) return false;
  return std::ranges::count_if(info.record->operands, [&](ValueId operand) { return !arena_.is_constant(operand); }) > 1;
}

// Cuts the paths of a tree of links into kernels.
void IncrementalCover::make_tree(NodeId root) {
  std::vector<NodeId> tree{root};
  std::vector<std::vector<NodeId>> into;
  for (std::size_t k = 0; k < tree.size(); ++k) {
    into.push_back(chains(read(tree[k])) ? links_into(tree[k]) : std::vector<NodeId>());
    tree.insert(tree.end(), into.back().begin(), into.back().end());
  }
  // From the leaves to the root: which link each node takes, whether its path begins at an anchor, and
  // whether it has a residual.
  struct Path {
    bool anchored = false;
    bool residual = false;
  };
  std::unordered_map<NodeId, Path> paths;
  std::unordered_map<NodeId, NodeId> taken;
  for (std::size_t k = tree.size(); k-- > 0;) {
    const NodeId id = tree[k];
    Path path{read(id).record->shape->role == Role::anchor, false};
    if (!into[k].empty()) {
      const bool residual = adds_residual(id);
      const auto rank = [&](NodeId before) {
        const Path& found = paths.at(before);
        return !found.anchored ? 2 : residual && found.residual ? 1 : 0;
      };
      const NodeId best = *std::ranges::min_element(into[k], {}, rank);
      taken.emplace(id, best);
      path.anchored = path.anchored || paths.at(best).anchored;
      path.residual = residual || paths.at(best).residual;
    }
    paths.emplace(id, path);
  }
  // If the next operation took another link, the path ends here.
  std::unordered_map<NodeId, Link> followers;
  for (const auto& [id, before] : taken) followers.emplace(before, Link{id, read(id).selected});
  for (const NodeId id : tree) {
    const auto follower = followers.find(id);
    const std::optional<Link> now = follower == followers.end() ? std::nullopt : std::optional(follower->second);
    if (read(id).follower != now) edit(id).follower = now;
    const std::shared_ptr<const Region>& region = read(id).region;
    const bool begins = !taken.contains(id) || (region != nullptr && region->links[0].node == id);
    if (begins) unpriced_.emplace_back(id, true);
  }
}

// The layout of the first operand of a chain that is not plain.
Layout IncrementalCover::arriving_layout(NodeId begin) {
  const Info& info = read(begin);
  if (info.selected) return read(info.record->composite->entry.node).layout;
  for (const ValueId operand : info.record->operands) {
    if (arena_.is_constant(operand)) continue;
    const Layout layout = read(operand.node).layout;
    if (layout != Layout::plain) return layout;
  }
  return Layout::plain;
}

// Makes the kernel that starts at `begin`. The rest of the path is cut later, because its operand is the
// result of this kernel.
void IncrementalCover::cut(NodeId begin) {
  std::vector<Link> links{{begin, read(begin).selected}};
  Chain chain{{shape_of(links[0]), Element::kFirst}};
  while (links.size() < kLongestChain) {
    const std::optional<Link> follower = read(links.back().node).follower;
    if (!follower) break;
    Element element{shape_of(*follower), 0};
    if (!follower->composite) {
      const auto& operands = read(follower->node).record->operands;
      const auto at = std::ranges::find(operands, ValueId{links.back().node, 0}) - operands.begin();
      element.position = static_cast<std::uint32_t>(at);
    }
    links.push_back(*follower);
    chain.push_back(element);
  }
  const std::size_t count = chains(read(begin)) ? regions_.best_prefix(chain, arriving_layout(begin)) : 1;
  links.resize(count);
  chain.resize(count);
  const std::shared_ptr<const Region> old = read(begin).region;
  if (old && old->links == links) {
    unpriced_.emplace_back(old->exit(), false);
  } else {
    for (const Link& link : links) dissolve(link.node);
    add_region(links, chain);
  }
  const std::optional<Link> follower = read(links.back().node).follower;
  if (!follower) return;
  const std::shared_ptr<const Region>& next = read(follower->node).region;
  if (next == nullptr || next->links[0].node != follower->node) unpriced_.emplace_back(follower->node, true);
}

void IncrementalCover::add_region(std::vector<Link> links, const Chain& chain) {
  const Record& first = *read(links[0].node).record;
  const Role role = first.shape->role;
  if (role == Role::absent) return;
  auto region = std::make_shared<Region>();
  region->links = std::move(links);
  if (role != Role::refused && role != Role::free) {
    region->kernel = regions_.region(chain);
    for (std::size_t k = 0; k < region->links.size(); ++k) {
      const Link& link = region->links[k];
      const Record& record = *read(link.node).record;
      if (link.composite) {
        if (k == 0) region->operands.push_back(record.composite->entry);
        region->operands.insert(region->operands.end(), record.composite->parameters.begin(), record.composite->parameters.end());
        continue;
      }
      for (const ValueId operand : record.operands)
        if (k == 0 || operand.node != region->links[k - 1].node) region->operands.push_back(operand);
    }
  }
  for (const Link& link : region->links) edit(link.node).region = region;
  unpriced_.emplace_back(region->exit(), false);
}

}  // namespace xflow::cost
