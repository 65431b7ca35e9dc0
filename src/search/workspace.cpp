#include "src/search/workspace.h"

#include <algorithm>
#include <cassert>

namespace xflow::search {

using ir::NodeId;

namespace {

// Footprints of more nodes are not kept. They come from chains of thousands of pointwise operations, which
// are cut into kernels again as a whole.
constexpr std::size_t kLargestFootprint = 1'000;
// About what a candidate takes besides its footprint: what its rule has bound.
constexpr std::size_t kBytesOfCandidate = 1'000;

// Inserts a node into a sorted list unless it is there.
void insert(std::vector<NodeId>& nodes, NodeId node) {
  const auto at = std::lower_bound(nodes.begin(), nodes.end(), node);
  if (at == nodes.end() || *at != node) nodes.insert(at, node);
}

}  // namespace

Workspace::Workspace(const ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const Follow& follow, Limits limits,
                     Nanoseconds per_operation, const std::shared_ptr<ir::Symbols>& symbols)
    : graph_(arena, graph, symbols),
      rewriter_(rewriter),
      limits_(std::move(limits)),
      cost_(follow(graph_)),
      per_operation_(cost::ticks_of(per_operation)) {
  grow();
}

cost::Ticks Workspace::time_of(std::size_t operations) const {
  return cost_->time() + static_cast<cost::Ticks>(static_cast<std::int64_t>(per_operation_) * static_cast<std::int64_t>(operations));
}

void Workspace::grow() {
  const std::size_t size = graph_.arena().size();
  if (versions_.size() < size) versions_.resize(size, 0);
  if (candidates_.size() < size) candidates_.resize(size);
  if (readers_.size() < size) readers_.resize(size);
  if (watchers_.size() < size) watchers_.resize(size);
}

std::size_t FoundCandidates::bytes() const {
  std::size_t sum = reads.capacity() * sizeof(NodeId);
  for (const auto& candidate : list) sum += kBytesOfCandidate + candidate->footprint.capacity() * sizeof(NodeId);
  return sum;
}

std::uint64_t Workspace::context_of(const Candidate& candidate) const {
  if (candidate.is_wide) return steps_.empty() ? 0 : static_cast<std::uint64_t>(steps_.back().state);
  std::uint64_t h = 0;
  for (const NodeId id : candidate.footprint) h = (h ^ versions_[index_of(id)]) * 0x9E3779B97F4A7C15ULL + (h >> 29U);
  return h;
}

// The original values of the replacements of a rewrite that starts at `since`.
std::vector<ir::ValueId> Workspace::originals_of(std::span<const ir::Replacement> replacements, ir::WorkGraph::Mark since) const {
  std::vector<ir::ValueId> result;
  for (const auto& [from, to] : replacements) {
    if (const auto source = graph_.source_of(from.node)) {
      result.push_back({*source, from.output});
      continue;
    }
    if (index_of(from.node) >= since.nodes) continue;
    // Nodes are numbered in the order in which they are made: the node belongs to the last step that began
    // before it.
    const auto later = std::upper_bound(steps_.begin(), steps_.end(), index_of(from.node),
                                        [](std::size_t node, const Step& step) { return node < step.graph.nodes; });
    if (later == steps_.begin()) continue;
    const std::vector<ir::ValueId>& made_for = std::prev(later)->originals;
    result.insert(result.end(), made_for.begin(), made_for.end());
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

bool Workspace::apply(const Rewrite& rewrite, ir::WorkGraph::Mark since) {
  const std::vector<ir::Replacement> replacements = rewrite.build(graph_.arena());
  if (replacements.empty()) return false;
  if (limits_.excluded && limits_.excluded(rewrite.rule, originals_of(replacements, since))) return false;
  if (!graph_.replace(replacements, since)) return false;
  if (!limits_.admissible) return true;
  for (std::size_t k = since.nodes; k < graph_.arena().size(); ++k) {
    const auto id = static_cast<NodeId>(k);
    const ir::Node& node = graph_.arena().node(id);
    if (node.kind != ir::NodeKind::operation || node.is_constant || !graph_.contains(id)) continue;
    if (!limits_.admissible(graph_.arena(), id)) return false;
  }
  return true;
}

void Workspace::find_out(Candidate& candidate) {
  const ir::WorkGraph::Mark mark = graph_.mark();
  const std::size_t cost_mark = cost_->mark();
  const cost::Ticks before = time();
  const std::uint64_t hash = graph_.hash();
  const std::uint64_t bytes = graph_.constant_bytes();
  candidate.possible = apply(candidate.rewrite, mark);
  candidate.footprint.clear();
  const std::vector<ir::WorkGraph::Change> changes = graph_.changes(mark);
  for (const auto& [id, operands] : changes) candidate.footprint.push_back(id);
  if (candidate.possible) {
    cost_->update(changes);
    candidate.possible = cost_->comparable();
    candidate.change = time() - before;
    candidate.hash = graph_.hash() - hash;
    candidate.bytes = static_cast<std::int64_t>(graph_.constant_bytes() - bytes);
    const auto read = cost_->footprint();
    candidate.footprint.insert(candidate.footprint.end(), read.begin(), read.end());
  }
  graph_.undo(mark);
  cost_->undo(cost_mark);
  std::erase_if(candidate.footprint, [&](NodeId id) { return index_of(id) >= mark.nodes; });
  std::sort(candidate.footprint.begin(), candidate.footprint.end());
  candidate.footprint.erase(std::unique(candidate.footprint.begin(), candidate.footprint.end()), candidate.footprint.end());
  candidate.is_wide = candidate.footprint.size() > kLargestFootprint;
  if (candidate.is_wide) candidate.footprint.clear();
  candidate.footprint.shrink_to_fit();
  candidate.costed = true;
  candidate.context = context_of(candidate);
  add_watchers(candidate);
}

void Workspace::add_readers(NodeId root, const FoundCandidates& found) {
  for (const NodeId id : found.reads)
    if (index_of(id) < readers_.size()) insert(readers_[index_of(id)], root);
}

void Workspace::add_watchers(const Candidate& candidate) {
  if (candidate.is_wide) insert(wide_, candidate.root);
  for (const NodeId id : candidate.footprint)
    if (index_of(id) < watchers_.size()) insert(watchers_[index_of(id)], candidate.root);
}

// True if this step invalidated the candidates at `root`.
bool Workspace::Step::forgot(NodeId root) const {
  const auto at = std::lower_bound(candidates.begin(), candidates.end(), root, [](const auto& a, NodeId b) { return a.first < b; });
  return at != candidates.end() && at->first == root;
}

std::vector<NodeId> Workspace::affected() const {
  if (steps_.empty()) return graph_.order();
  const Step& step = steps_.back();
  std::vector<NodeId> roots;
  roots.reserve(step.candidates.size());
  for (const auto& [root, list] : step.candidates) roots.push_back(root);
  for (const auto& [id, version] : step.versions) {
    const std::vector<NodeId>& watchers = watchers_[index_of(id)];
    roots.insert(roots.end(), watchers.begin(), watchers.end());
  }
  roots.insert(roots.end(), wide_.begin(), wide_.end());
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  std::erase_if(roots, [&](NodeId id) { return !graph_.contains(id); });
  std::ranges::stable_sort(roots, {}, [&](NodeId id) { return graph_.position(id); });
  return roots;
}

bool Workspace::enter(StateId state, const Candidate& candidate) {
  Step step;
  step.state = state;
  step.graph = graph_.mark();
  step.cost = cost_->mark();
  if (!apply(candidate.rewrite, step.graph)) {
    graph_.undo(step.graph);
    cost_->undo(step.cost);
    return false;
  }
  step.originals = originals_of(graph_.replaced(step.graph, graph_.mark()), step.graph);
  grow();
  const std::vector<ir::WorkGraph::Change> changes = graph_.changes(step.graph);
  cost_->update(changes);
  std::vector<NodeId> changed = cost_->changed(step.cost);
  for (const auto& [id, operands] : changes) changed.push_back(id);
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  for (const NodeId id : changed) {
    step.versions.emplace_back(id, versions_[index_of(id)]);
    versions_[index_of(id)] = static_cast<std::uint32_t>(state);
  }
  std::vector<NodeId> roots;
  for (const auto& [id, operands] : changes) {
    roots.push_back(id);
    roots.insert(roots.end(), readers_[index_of(id)].begin(), readers_[index_of(id)].end());
  }
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  for (const NodeId root : roots) {
    if (index_of(root) >= candidates_.size()) continue;  // not a node of this graph
    step.candidates.emplace_back(root, std::move(candidates_[index_of(root)]));
    candidates_[index_of(root)] = nullptr;
  }
  if (const auto known = found_.find(static_cast<std::uint32_t>(state)); known != found_.end()) {
    for (auto& [root, list] : known->second) {
      if (candidates_[index_of(root)] != nullptr) continue;  // candidates were found before this step in the meantime
      if (!step.forgot(root)) step.late.push_back(root);
      add_readers(root, *list);
      for (const auto& kept : list->list) add_watchers(*kept);
      candidates_[index_of(root)] = std::move(list);
    }
    found_.erase(known);
  }
  steps_.push_back(std::move(step));
  return true;
}

cost::Ticks Workspace::time_of(std::span<const NodeId> nodes) const {
  return cost_->time_of(nodes) + (time_of(nodes.size()) - time_of(std::size_t{0}));
}

void Workspace::leave() {
  Step step = std::move(steps_.back());
  steps_.pop_back();
  Found found;
  for (auto& [root, list] : step.candidates) {
    if (auto& made = candidates_[index_of(root)]) found.emplace_back(root, std::move(made));
    candidates_[index_of(root)] = std::move(list);
  }
  for (const NodeId root : step.late) found.emplace_back(root, std::move(candidates_[index_of(root)]));
  if (!found.empty()) keep(step.state, std::move(found));
  for (const auto& [id, version] : step.versions) versions_[index_of(id)] = version;
  // New nodes will reuse the numbers of the nodes that this step made.
  for (std::size_t id = step.graph.nodes; id < readers_.size(); ++id) {
    readers_[id].clear();
    watchers_[id].clear();
  }
  std::erase_if(wide_, [&](NodeId id) { return index_of(id) >= step.graph.nodes; });
  graph_.undo(step.graph);
  cost_->undo(step.cost);
}

void Workspace::forget() {
  assert(steps_.empty());
  std::ranges::fill(candidates_, nullptr);
  for (std::vector<NodeId>& readers : readers_) readers.clear();
  for (std::vector<NodeId>& watchers : watchers_) watchers.clear();
  wide_.clear();
  forget_left_states();
}

// Caches the candidates of a state that is left, for when it is entered again. Drops those of the states
// left longest ago.
void Workspace::keep(StateId state, Found found) {
  std::size_t bytes = 0;
  for (const auto& [root, found] : found) bytes += found->bytes();
  found_.insert_or_assign(static_cast<std::uint32_t>(state), std::move(found));
  kept_.emplace_back(static_cast<std::uint32_t>(state), bytes);
  kept_bytes_ += bytes;
  while (kept_bytes_ > limits_.kept_bytes && kept_.size() > 1) {
    kept_bytes_ -= kept_.front().second;
    found_.erase(kept_.front().first);
    kept_.pop_front();
  }
}

void Workspace::forget_left_states() {
  found_.clear();
  kept_.clear();
  kept_bytes_ = 0;
}

const Candidates& Workspace::candidates(NodeId root, bool& found) {
  std::shared_ptr<const FoundCandidates>& known = candidates_[index_of(root)];
  found = known == nullptr;
  if (!found) return known->list;
  auto made = std::make_shared<FoundCandidates>();
  made->reads = {root};
  const ir::WorkGraph::Mark mark = graph_.mark();
  rewriter_.rewrites(graph_, root, made->reads, [&](Rewrite rewrite) {
    made->list.push_back(std::make_shared<Candidate>());
    made->list.back()->rewrite = std::move(rewrite);
    made->list.back()->root = root;
  });
  graph_.undo(mark);
  std::sort(made->reads.begin(), made->reads.end());
  made->reads.erase(std::unique(made->reads.begin(), made->reads.end()), made->reads.end());
  add_readers(root, *made);
  known = std::move(made);
  if (!steps_.empty() && !steps_.back().forgot(root)) steps_.back().late.push_back(root);
  return known->list;
}

std::vector<std::vector<ir::Replacement>> Workspace::replaced() const {
  std::vector<std::vector<ir::Replacement>> result;
  result.reserve(steps_.size());
  for (std::size_t k = 0; k < steps_.size(); ++k)
    result.push_back(graph_.replaced(steps_[k].graph, k + 1 < steps_.size() ? steps_[k + 1].graph : graph_.mark()));
  return result;
}

}  // namespace xflow::search
