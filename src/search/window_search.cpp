// The search inside windows (see windows.h). The whole graph has a cost, but the rewrites are those of one
// window: independent parts of a graph add up instead of multiplying.
#include <algorithm>
#include <array>

#include "src/search/search_run.h"
#include "src/search/windows.h"

namespace xflow::search {

using ir::NodeId;

namespace {

// One pass over the windows. `alpha` is a factor of options.alpha - 1: a later pass goes on through graphs
// that cost more. A pass has about five times the states of the one before, so that windows in which a gain
// is near are done before those that need many states.
struct Pass {
  std::size_t size;      // operations in a window
  std::uint64_t states;  // in a window
  double alpha;
};
constexpr std::array kPasses = {Pass{24, 300, 1}, Pass{24, 1'500, 4}, Pass{48, 8'000, 16}};
// After the first pass, from the best graph and from the original as it came: a larger window of the first
// pass may have taken a gain in each of its parts that excludes a larger one.
constexpr Pass kSmallPass = {8, 300, 1};
// And e-graphs of windows, if prices are known. Up to the limits of Strategy::egraph they would take longer
// than the passes.
constexpr WindowEGraph::Limits kQuickLimits = {.operations = 400, .rewrites = 4'000, .steps = 30'000};

// Each so many expansions of a window, one is of the oldest graph instead of the cheapest: a gain that many
// graphs without gain surround would end the window before a step without gain that leads to a larger one.
constexpr std::uint64_t kTurnsOfOldest = 4;

// The windows of equal structure are descended in first if there are so many of each, and if they are at
// least half of all windows.
constexpr std::size_t kFewestRepeats = 6;

}  // namespace

StateId Search::descend_repeated_windows() {
  StateId base = kOriginal;
  for (const Merge most : {Merge::none, Merge::all, Merge::some}) {
    if (stopped() || !step_to(base)) return base;
    const std::vector<std::vector<Window>> lists = repeated_windows_of(work_.graph(), kPasses[0].size);
    std::size_t windows = 0;
    std::size_t repeated = 0;
    for (const auto& list : lists) {
      windows += list.size();
      repeated += list.size() >= kFewestRepeats ? list.size() : 0;
    }
    if (2 * repeated < windows) return base;
    finished_windows_.clear();
    repeatable_.clear();
    for (const auto& list : lists) {
      if (list.size() < kFewestRepeats) continue;
      for (const Window& window : list) {
        if (stopped()) return base;
        descend_window(base, window, most);
      }
    }
  }
  return base;
}

std::optional<Search::OpenWindow> Search::open_window(StateId& base, const Window& planned) {
  if (!step_to(base)) return std::nullopt;
  OpenWindow window;
  std::ranges::copy_if(planned, std::back_inserter(window.operations), [&](NodeId id) { return is_root(id); });
  if (window.operations.empty()) return std::nullopt;
  window.signature = signature_of(work_.graph(), window.operations);
  window.first_new = work_.graph().arena().size();
  if (finished_windows_.contains(window.signature)) return std::nullopt;
  const auto known = repeatable_.find(window.signature);
  if (known != repeatable_.end() && repeat(base, known->second, window)) return std::nullopt;
  return window;
}

void Search::close_window(const OpenWindow& window, StateId from, StateId to) {
  if (from != to) {
    repeatable_[window.signature] = rewrites_between(from, to, window);
  } else if (!stopped()) {
    finished_windows_.insert(window.signature);
  }
}

void Search::descend_window(StateId& base, const Window& planned, Merge most) {
  const auto window = open_window(base, planned);
  if (!window) return;
  const StateId at = base;
  for (bool improved = true; improved && !stopped();) {
    improved = false;
    Window roots = window->operations;
    for (std::size_t k = window->first_new; k < work_.graph().arena().size(); ++k) roots.push_back(static_cast<NodeId>(k));
    for (const NodeId root : roots) {
      if (!is_root(root)) continue;
      if (!work_.has_candidates(root) && stopped()) break;
      const auto next = improve(base, root, most);
      if (next) base = *next;
      improved = improved || next.has_value();
    }
  }
  close_window(*window, at, base);
}

void Search::search_windows() {
  std::vector<StateId> tracks = bases();
  const auto search_all = [&](const Pass& pass, std::vector<StateId>& from) {
    const double alpha = 1 + std::max(options_.alpha - 1, 0.0) * pass.alpha;
    return std::ranges::all_of(from, [&](StateId& base) {
      return search_each_window(base, pass.size, [&](const Window& window) { return search_window(base, window, pass.states, alpha); });
    });
  };
  for (const Pass& pass : kPasses) {
    if (!search_all(pass, tracks)) return;
    if (&pass != kPasses.data()) continue;
    std::vector<StateId> beginnings = bases();
    if (!search_all(kSmallPass, beginnings)) return;
    beginnings = bases();
    if (options_.prices_are_known && !search_egraphs(pass.size, kQuickLimits, beginnings)) return;
    if (states_[index_of(best_)].time < states_[index_of(tracks[0])].time) tracks[0] = best_;
  }
}

std::vector<StateId> Search::bases() const {
  if (best_ == kOriginal) return {kOriginal};
  return {best_, kOriginal};
}

bool Search::search_each_window(const StateId& base, std::size_t size, const std::function<bool(const Window&)>& in) {
  finished_windows_.clear();
  repeatable_.clear();
  for (bool improved = true; improved && !stopped();) {
    improved = false;
    if (!step_to(base)) return false;
    for (const Window& window : windows_of(work_.graph(), size)) {
      if (stopped() || is_full()) return false;
      improved = in(window) || improved;
    }
  }
  return true;
}

bool Search::search_window(StateId& base, const Window& planned, std::uint64_t most_states, double alpha) {
  const StateId before = base;
  const auto window = open_window(base, planned);
  if (!window) return base != before;
  WindowRun run{window->operations, window->first_new, static_cast<double>(states_[index_of(base)].time) * alpha, base, {}, {}};
  std::ranges::sort(run.inside);
  run.visited.emplace(states_[index_of(base)].hash, base);
  run.push({base, Part::all, states_[index_of(base)].time});
  const std::uint64_t end = outcome_.states + most_states;
  for (std::uint64_t turn = 1; outcome_.states < end && !stopped(); ++turn) {
    const auto entry = run.take(turn % kTurnsOfOldest != 0);
    if (!entry) break;
    expand_in(run, *entry);
  }
  if (states_[index_of(run.best)].time < states_[index_of(base)].time) base = run.best;
  close_window(*window, before, base);
  return base != before;
}

std::optional<Search::Entry> Search::WindowRun::take(bool cheapest) {
  const auto is_new = [&](const Entry& entry) { return taken.emplace(entry.state, entry.part).second; };
  while (!queue.empty() && !oldest.empty()) {
    const Entry entry = cheapest ? queue.top() : oldest.front();
    cheapest ? queue.pop() : oldest.pop_front();
    if (is_new(entry)) return entry;
  }
  return std::nullopt;
}

bool Search::expand_in(WindowRun& run, const Entry& entry) {
  if (!step_to(entry.state)) return false;
  if (entry.part != Part::rest) ++outcome_.expanded;
  const auto is_inside = [&](NodeId id) {
    return static_cast<std::size_t>(id) >= run.first_new || std::ranges::binary_search(run.inside, id);
  };
  const auto is_outside = [&](NodeId id) { return is_root(id) && !is_inside(id); };
  std::vector<NodeId> roots;
  if (entry.part == Part::near && entry.state != kOriginal) {
    roots = work_.affected();
    std::erase_if(roots, [&](NodeId id) { return !is_inside(id); });
  } else {
    roots = run.inside;
    for (std::size_t k = run.first_new; k < work_.graph().arena().size(); ++k) roots.push_back(static_cast<NodeId>(k));
  }
  std::vector<StateId> made;
  for (const NodeId root : roots) {
    if (!is_root(root)) continue;
    if (!work_.has_candidates(root) && stopped()) break;
    ++outcome_.looks;
    const Candidates& list = candidates(root);
    for (std::uint32_t k = 0; k < list.size(); ++k) {
      Candidate& candidate = *list[k];
      const bool was_known = work_.is_known(candidate);
      if (entry.part == Part::near && was_known) continue;
      if (stopped()) break;
      if (is_bounding_ && std::ranges::any_of(candidate.rewrite.matched, is_outside)) continue;
      const Ticks before = states_[index_of(entry.state)].time;
      if (!know(candidate) || static_cast<double>(before + candidate.change) > run.most_time) continue;
      bool is_new = false;
      const auto next = add(entry.state, k, candidate, run.visited, is_new);
      if (!next || !is_new) continue;
      if (was_known) count_state();
      if (states_[index_of(*next)].time < states_[index_of(run.best)].time) run.best = *next;
      made.push_back(*next);
    }
  }
  const auto push = [&](StateId id, Part part) { run.push({id, part, states_[index_of(id)].time}); };
  if (entry.part == Part::near) push(entry.state, Part::rest);
  for (const StateId id : made) push(id, states_[index_of(id)].time < states_[index_of(entry.state)].time ? Part::all : Part::near);
  return !stopped();
}

Search::WindowRewrites Search::rewrites_between(StateId from, StateId to, const OpenWindow& window) const {
  WindowRewrites rewrites;
  for (StateId id = to; id != from; id = states_[index_of(id)].parent) {
    const State& state = states_[index_of(id)];
    const auto number = static_cast<std::size_t>(state.root);
    const bool made = number >= window.first_new;
    const auto at = std::ranges::find(window.operations, state.root);
    rewrites.push_back(
        {state.rule, state.index, made, made ? number - window.first_new : static_cast<std::size_t>(at - window.operations.begin())});
  }
  std::ranges::reverse(rewrites);
  return rewrites;
}

bool Search::repeat(StateId& base, const WindowRewrites& rewrites, const OpenWindow& window) {
  const StateId from = base;
  StateId at = from;
  Visited visited;
  for (const WindowRewrite& rewrite : rewrites) {
    if (!rewrite.made && rewrite.root >= window.operations.size()) break;
    const NodeId root = rewrite.made ? static_cast<NodeId>(window.first_new + rewrite.root) : window.operations[rewrite.root];
    if (static_cast<std::size_t>(root) >= work_.graph().arena().size() || !is_root(root) || stopped()) break;
    const Candidates list = candidates(root);
    if (rewrite.index >= list.size() || list[rewrite.index]->rewrite.rule != rewrite.rule || !know(*list[rewrite.index])) break;
    bool is_new = false;
    const auto next = add(at, rewrite.index, *list[rewrite.index], visited, is_new);
    if (!next || !step_to(*next)) break;
    at = *next;
  }
  if (states_[index_of(at)].time < states_[index_of(from)].time) {
    base = at;
    return true;
  }
  if (at != from) step_to(from);
  return false;
}

}  // namespace xflow::search
