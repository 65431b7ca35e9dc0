// Descents: searches that take one rewrite after another, each of which saves time.
#include "src/search/search_run.h"

namespace xflow::search {

using ir::NodeId;

StateId Search::descend(StateId at) {
  if (!step_to(at)) return at;
  for (int most = 0; most <= static_cast<int>(Merge::some);) {
    bool improved = false;
    for (const NodeId root : work_.graph().order()) {
      if (!is_root(root)) continue;
      if (!work_.has_candidates(root) && stopped()) return at;
      const auto next = improve(at, root, improved ? Merge::none : static_cast<Merge>(most));
      if (stopped()) return next.value_or(at);
      if (!next) continue;
      at = *next;
      improved = true;
    }
    most = improved ? 0 : most + 1;
  }
  return at;
}

std::optional<StateId> Search::improve(StateId at, NodeId root, Merge most) {
  ++outcome_.looks;
  const Candidates list = candidates(root);
  for (std::uint32_t k = 0; k < list.size(); ++k) {
    if (stopped()) return std::nullopt;
    if (list[k]->rewrite.merge > most) continue;
    if (!know(*list[k]) || list[k]->change >= Ticks{}) continue;
    if (const auto next = descend_by(at, k, *list[k])) return next;
  }
  return carry(at, root);
}

StateId Search::descend_steepest(StateId at) {
  if (!step_to(at)) return at;
  Improvements improvements;
  std::set<std::uint64_t> failed;  // hashes of graphs that did not improve
  std::vector<NodeId> roots = work_.graph().order();
  for (;;) {
    for (const NodeId root : roots) {
      if (!is_root(root)) continue;
      ++outcome_.looks;
      if (!work_.has_candidates(root) && stopped()) return at;
      const Candidates& list = candidates(root);  // the reference stays valid: no state is entered in the loop
      for (const auto& candidate : list) {
        if (stopped()) return at;
        know(*candidate);
      }
      improvements.add(root, list);
    }
    const std::uint64_t jumps = jumps_;
    const auto next = descend_by_most(at, improvements, failed);
    const bool jumped = jumps_ != jumps;
    if (!next && !jumped) return at;
    const bool near = next && !jumped;
    if (next) at = *next;
    roots = near ? work_.affected() : work_.graph().order();
    improvements.take_up(room_after(at));
  }
}

std::int64_t Search::room_after(StateId at) const {
  return static_cast<std::int64_t>(std::min(max_constant_bytes_, 1e18)) - static_cast<std::int64_t>(states_[index_of(at)].bytes);
}

std::optional<StateId> Search::descend_by_most(StateId at, Improvements& improvements, std::set<std::uint64_t>& failed) {
  const std::uint64_t jumps = jumps_;
  while (jumps_ == jumps) {
    auto best = improvements.take();
    if (!best) return std::nullopt;
    if (!is_root(best->root)) continue;
    const Candidates list = candidates(best->root);
    const bool holds = best->index < list.size() && list[best->index] == best->candidate && work_.is_known(*best->candidate) &&
                       best->candidate->change == best->change;
    if (!holds) continue;
    if (best->candidate->bytes > room_after(at)) {
      improvements.put_aside(*std::move(best));
      continue;
    }
    const std::uint64_t hash = states_[index_of(at)].hash + best->candidate->hash;
    if (failed.contains(hash)) continue;
    if (const auto next = descend_by(at, best->index, *best->candidate)) return next;
    failed.insert(hash);
  }
  return std::nullopt;
}

std::optional<StateId> Search::descend_by(StateId at, std::uint32_t index, const Candidate& candidate) {
  bool is_new = false;
  const auto next = add(at, index, candidate, visited_, is_new);
  if (!next) return std::nullopt;
  if (!step_to(*next) || states_[index_of(*next)].time >= states_[index_of(at)].time) {
    step_to(at);
    return std::nullopt;
  }
  if (is_new) push(*next, Part::all);
  return next;
}

}  // namespace xflow::search
