// What a search offers to a strategy of the caller, and the application of a trace.
#include <algorithm>
#include <limits>
#include <memory>
#include <ranges>

#include "src/search/search_run.h"

namespace xflow::search {

using ir::NodeId;

bool Search::exists(SearchState state) const { return static_cast<std::size_t>(state) < states_.size(); }

Nanoseconds Search::time(SearchState state) const {
  if (!exists(state)) return Nanoseconds(std::numeric_limits<double>::infinity());
  return cost::nanoseconds(states_[static_cast<std::size_t>(state)].time);
}

std::uint64_t Search::hash(SearchState state) const { return exists(state) ? states_[static_cast<std::size_t>(state)].hash : 0; }

std::vector<PossibleRewrite> Search::rewrites(SearchState state) {
  std::vector<PossibleRewrite> possible;
  if (stopped() || !exists(state) || !step_to(static_cast<StateId>(state))) return possible;
  ++outcome_.expanded;
  for (const NodeId root : work_.graph().order()) {
    if (!is_root(root)) continue;
    if (!work_.has_candidates(root) && stopped()) return possible;
    ++outcome_.looks;
    const Candidates& list = candidates(root);
    for (std::uint32_t k = 0; k < list.size(); ++k) {
      if (stopped()) return possible;
      if (!know(*list[k])) continue;
      const Rewrite& rewrite = list[k]->rewrite;
      possible.push_back({rewrite.rule, static_cast<std::uint64_t>(root), k, cost::nanoseconds(list[k]->change), list[k]->bytes,
                          rewrite.merge != Merge::none});
    }
  }
  return possible;
}

const Candidates* Search::candidates_at(std::uint64_t operation) {
  if (operation >= work_.graph().arena().size() || !is_root(static_cast<NodeId>(operation))) return nullptr;
  return &candidates(static_cast<NodeId>(operation));
}

std::optional<SearchState> Search::apply(SearchState state, const PossibleRewrite& rewrite) {
  const auto id = static_cast<StateId>(state);
  if (stopped() || !exists(state) || !step_to(id)) return std::nullopt;
  const Candidates* const list = candidates_at(rewrite.operation);
  if (list == nullptr || rewrite.number >= list->size()) return std::nullopt;
  Candidate& candidate = *(*list)[rewrite.number];
  if (candidate.rewrite.rule != rewrite.rule || !know(candidate)) return std::nullopt;
  bool is_new = false;
  const auto next = add(id, rewrite.number, candidate, visited_, is_new);
  if (!next) return std::nullopt;
  return static_cast<SearchState>(*next);
}

std::vector<std::uint64_t> Search::matches_of_path() {
  const std::vector<StateId> path = path_;
  std::vector<std::uint64_t> matches;
  go_to(kOriginal);
  for (std::size_t k = 1; k < path.size(); ++k) {
    const State& state = states_[index_of(path[k])];
    bool found = false;
    const Candidates list = work_.candidates(state.root, found);
    const auto end = list.begin() + std::min<std::ptrdiff_t>(state.index, std::ssize(list));
    const auto is_same = [&](const auto& candidate) { return candidate->rewrite.rule == state.rule; };
    matches.push_back(static_cast<std::uint64_t>(std::count_if(list.begin(), end, is_same)));
    go_to(path[k]);
  }
  return matches;
}

std::pair<StateId, std::size_t> Search::apply_trace(const std::vector<TracedRewrite>& trace) {
  std::pair<StateId, std::size_t> reached{kOriginal, 0};
  for (const TracedRewrite& step : trace) {
    const Candidates* const found = stopped() ? nullptr : candidates_at(step.operation);
    if (found == nullptr) break;
    const Candidates& list = *found;
    std::uint64_t left = step.match;
    std::optional<StateId> next;
    for (std::uint32_t k = 0; k < list.size(); ++k) {
      if (list[k]->rewrite.rule != step.rule || left-- > 0) continue;
      bool is_new = false;
      Visited none;  // a path may come back to a graph, with other numbers of its operations
      if (know(*list[k])) next = add(reached.first, k, *list[k], none, is_new);
      break;
    }
    if (!next || !step_to(*next)) break;
    reached = {*next, reached.second + 1};
  }
  return reached;
}

SearchState Search::follow(const std::vector<TracedRewrite>& rewrites) {
  go_to(kOriginal);
  return static_cast<SearchState>(apply_trace(rewrites).first);
}

std::optional<Finalist> Search::reached(SearchState state) {
  if (!exists(state) || !go_to(static_cast<StateId>(state))) return std::nullopt;
  return describe();
}

}  // namespace xflow::search
