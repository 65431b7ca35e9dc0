#include "src/search/search.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include "src/search/improvements.h"

namespace xflow::search {
namespace {

using cost::Ticks;
using ir::NodeId;
using ir::ValueId;
using Clock = std::chrono::steady_clock;

constexpr StateId kOriginal{0};

// Interned sets of rules.
class RuleSets {
 public:
  enum class Id : std::uint32_t {};  // 0: the empty set

  Id with(Id set, std::string_view rule) {
    const auto [known, fresh] = larger_.try_emplace({set, rule});
    if (!fresh) return known->second;
    std::set<std::string_view> rules = sets_[static_cast<std::size_t>(set)];
    rules.insert(rule);
    const auto [same, is_new] = ids_.try_emplace(rules, static_cast<Id>(sets_.size()));
    if (is_new) sets_.push_back(std::move(rules));
    return known->second = same->second;
  }
  bool contains(Id set, Id part) const {
    const std::set<std::string_view>& whole = sets_[static_cast<std::size_t>(set)];
    return std::ranges::includes(whole, sets_[static_cast<std::size_t>(part)]);
  }

 private:
  std::vector<std::set<std::string_view>> sets_ = {{}};
  std::map<std::set<std::string_view>, Id> ids_ = {{{}, Id{}}};
  std::map<std::pair<Id, std::string_view>, Id> larger_;
};

struct State {
  StateId parent{};
  // The rewrite of the parent's graph: candidate `index` at `root`. It is searched for again when the state
  // is entered, because most states are never entered.
  NodeId root{};
  std::uint32_t index = 0;
  std::string_view rule;
  RuleSets::Id rules{};  // rules of the whole path
  Ticks time{};
  std::uint64_t hash = 0;
  std::uint64_t bytes = 0;
};

class Search {
 public:
  Search(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const Workspace::Follow& follow, const Options& options)
      : arena_(arena),
        original_(graph),
        options_(options),
        work_(arena, graph, rewriter, follow, {options.admissible, options.excluded}, options.per_operation),
        start_(now()) {}

  Outcome run() {
    const ir::WorkGraph& graph = work_.graph();
    states_.push_back(State{kOriginal, {}, 0, {}, {}, work_.time(), graph.hash(), graph.constant_bytes()});
    path_.push_back(kOriginal);
    visited_.emplace(graph.hash(), kOriginal);
    outcome_.before = cost::nanoseconds(work_.time());
    outcome_.constant_bytes_before = graph.constant_bytes();
    outcome_.states = 1;
    max_constant_bytes_ = static_cast<double>(graph.constant_bytes()) * (1 + options_.max_growth);
    push(kOriginal, Part::all);
    if (!stopped()) descend(kOriginal);
    if (!stopped()) descend_steepest(kOriginal);
    while (!queue_.empty() && !stopped()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (too_dear(states_[index_of(entry.state)].time)) continue;
      expand(entry);
    }
    finish();
    return std::move(outcome_);
  }

 private:
  // The rewrites of a state to expand: all, those its last step affected, or the rest.
  enum class Part : std::uint8_t { all, near, rest };
  struct Entry {
    StateId state{};
    Part part = Part::all;
    Ticks time{};
  };
  struct Order {
    // Order: entries with Part::rest last, then by time, then by state.
    bool operator()(const Entry& a, const Entry& b) const {
      if ((a.part == Part::rest) != (b.part == Part::rest)) return a.part == Part::rest;
      return a.time != b.time ? a.time > b.time : a.state > b.state;
    }
  };

  static std::size_t index_of(StateId id) { return static_cast<std::size_t>(id); }
  bool too_dear(Ticks time) const {
    return static_cast<double>(time) > static_cast<double>(states_[index_of(best_)].time) * options_.alpha;
  }

  // --- Budgets ------------------------------------------------------------------------------------------------------------------------

  bool stopped() {
    if (stopped_) return true;
    if (const auto reason = options_.stop ? options_.stop() : std::nullopt) {
      outcome_.stop = *reason;
      stopped_ = true;
    } else if (outcome_.states >= options_.max_states) {
      outcome_.stop = StopReason::states;
      stopped_ = true;
    } else if (options_.max_seconds && seconds() >= *options_.max_seconds) {
      outcome_.stop = StopReason::time;
      stopped_ = true;
    } else if (options_.interrupt && options_.interrupt(used())) {
      outcome_.stop = StopReason::interrupt;
      stopped_ = true;
    }
    return stopped_;
  }

  double used() const {
    const double states = static_cast<double>(outcome_.states) / static_cast<double>(options_.max_states);
    return options_.max_seconds ? std::max(states, seconds() / *options_.max_seconds) : states;
  }

  double now() const {
    return options_.seconds ? options_.seconds() : std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  }
  double seconds() const { return now() - start_; }

  void count_state() {
    ++outcome_.states;
    if (!options_.progress || (outcome_.states & 15U) != 0) return;
    const double at = seconds();
    if (at - reported_ < 0.2) return;
    reported_ = at;
    options_.progress(Progress{outcome_.states, outcome_.before, cost::nanoseconds(states_[index_of(best_)].time), at});
  }

  // --- States -------------------------------------------------------------------------------------------------------------------------

  // Moves the workspace to a state. False if a rewrite on the way is no longer possible.
  bool go_to(StateId target) {
    std::vector<StateId> way;
    std::size_t left = 0;
    for (StateId id = target;; id = states_[index_of(id)].parent) {
      const auto at = std::find(path_.rbegin(), path_.rend(), id);
      if (at != path_.rend()) {
        for (auto leave = path_.rbegin(); leave != at; ++leave, ++left) work_.leave();
        path_.erase(at.base(), path_.end());
        break;
      }
      way.push_back(id);
    }
    if (left + way.size() > 1) ++jumps_;
    for (auto id = way.rbegin(); id != way.rend(); ++id) {
      const State& state = states_[index_of(*id)];
      const Candidates list = candidates(state.root);
      if (state.index >= list.size() || !work_.enter(*id, *list[state.index])) return false;
      path_.push_back(*id);
    }
    return true;
  }

  // Costs the candidate in the current graph unless it is known. False if it is not possible.
  bool know(Candidate& candidate) {
    if (work_.is_known(candidate)) return candidate.possible;
    const bool first = !candidate.costed;
    work_.find_out(candidate);
    count_state();
    if (first && candidate.possible && candidate.change < Ticks{}) ++outcome_.rules[std::string(candidate.rewrite.rule)].improved;
    return candidate.possible;
  }

  const Candidates& candidates(NodeId root) {
    bool found = false;
    const Candidates& list = work_.candidates(root, found);
    if (found)
      for (const auto& candidate : list) ++outcome_.rules[std::string(candidate->rewrite.rule)].matched;
    return list;
  }

  bool is_root(NodeId id) const {
    return work_.graph().contains(id) && work_.graph().arena().node(id).kind == ir::NodeKind::operation &&
           !work_.graph().arena().node(id).is_constant;
  }

  // Adds the state after a rewrite of the workspace's state. Clears `is_new` if the graph was visited before.
  // Returns nothing if the constants exceed max_growth.
  std::optional<StateId> add(StateId parent, std::uint32_t index, const Candidate& candidate, bool& is_new) {
    const State& from = states_[index_of(parent)];
    State made{parent,
               candidate.root,
               index,
               candidate.rewrite.rule,
               {},
               from.time + candidate.change,
               from.hash + candidate.hash,
               from.bytes + static_cast<std::uint64_t>(candidate.bytes)};
    if (static_cast<double>(made.bytes) > max_constant_bytes_) return std::nullopt;
    const auto [known, inserted] = visited_.emplace(made.hash, static_cast<StateId>(states_.size()));
    is_new = inserted;
    if (!inserted) return known->second;
    made.rules = rule_sets_.with(from.rules, made.rule);
    states_.push_back(made);
    if (made.time < states_[index_of(best_)].time) {
      best_ = known->second;
      outcome_.best_states = outcome_.states;
      outcome_.best_seconds = seconds();
    }
    return known->second;
  }

  void push(StateId id, Part part) { queue_.push({id, part, states_[index_of(id)].time}); }

  // Moves to a state that was just made and replaces its predicted time by the time of the graph. False if
  // the state cannot be entered.
  bool step_to(StateId id) {
    if (!go_to(id)) return false;
    states_[index_of(id)].time = work_.time();
    return true;
  }

  // --- Strategy -----------------------------------------------------------------------------------------------------------------------

  // Takes the first rewrite that saves time until there is none. Merges of siblings come after all others: a
  // merged operation is split again, and the results can no longer become one.
  StateId descend(StateId at) {
    if (!step_to(at)) return at;
    for (bool merges = false, improved = true; improved || !merges;) {
      merges = !improved;
      improved = false;
      for (const NodeId root : work_.graph().order()) {
        if (!is_root(root)) continue;
        if (!work_.has_candidates(root) && stopped()) return at;
        ++outcome_.looks;
        const Candidates list = candidates(root);
        for (std::uint32_t k = 0; k < list.size(); ++k) {
          if (stopped()) return at;
          if (list[k]->rewrite.merges && (!merges || improved)) continue;
          if (!know(*list[k]) || list[k]->change >= Ticks{}) continue;
          const auto next = descend_by(at, k, *list[k]);
          if (!next) continue;
          at = *next;
          improved = true;
          break;
        }
      }
    }
    return at;
  }

  // Takes the rewrite that saves most until there is none. After a step, examines only the operations that it
  // affected.
  StateId descend_steepest(StateId at) {
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

  // Bytes of constants that can be added to the graph of a state.
  std::int64_t room_after(StateId at) const {
    return static_cast<std::int64_t>(std::min(max_constant_bytes_, 1e18)) - static_cast<std::int64_t>(states_[index_of(at)].bytes);
  }

  std::optional<StateId> descend_by_most(StateId at, Improvements& improvements, std::set<std::uint64_t>& failed) {
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

  // A descent can pass through visited graphs, and through graphs that cost more than the best.
  std::optional<StateId> descend_by(StateId at, std::uint32_t index, const Candidate& candidate) {
    bool is_new = false;
    const auto next = add(at, index, candidate, is_new);
    if (!next) return std::nullopt;
    if (!step_to(*next) || states_[index_of(*next)].time >= states_[index_of(at)].time) {
      step_to(at);
      return std::nullopt;
    }
    if (is_new) push(*next, Part::all);
    return next;
  }

  void expand(const Entry& entry) {
    if (!step_to(entry.state)) return;
    if (entry.part != Part::rest) ++outcome_.expanded;
    const Ticks before = states_[index_of(best_)].time;
    std::vector<StateId> made;
    for (const NodeId root : entry.part == Part::near ? work_.affected() : work_.graph().order()) {
      if (!is_root(root)) continue;
      if (!work_.has_candidates(root) && stopped()) break;
      ++outcome_.looks;
      const Candidates& list = candidates(root);
      for (std::uint32_t k = 0; k < list.size(); ++k) {
        Candidate& candidate = *list[k];
        const bool was_known = work_.is_known(candidate);
        if (entry.part == Part::near && was_known) continue;
        if (stopped()) break;
        if (!know(candidate) || too_dear(states_[index_of(entry.state)].time + candidate.change)) continue;
        bool is_new = false;
        const auto next = add(entry.state, k, candidate, is_new);
        if (!next || !is_new) continue;
        if (was_known) count_state();
        made.push_back(*next);
      }
    }
    if (entry.part == Part::near) push(entry.state, Part::rest);
    for (const StateId id : made) push(id, states_[index_of(id)].time < states_[index_of(entry.state)].time ? Part::all : Part::near);
    if (states_[index_of(best_)].time < before && !stopped()) descend(best_);
  }

  // --- Result -------------------------------------------------------------------------------------------------------------------------

  void finish() {
    go_to(best_);
    Finalist best = describe();
    outcome_.best = std::move(best.graph);
    outcome_.correspondence = std::move(best.correspondence);
    outcome_.after = best.after;
    outcome_.steps = std::move(best.steps);
    outcome_.constant_bytes_after = best.constant_bytes;
    for (const Step& step : outcome_.steps) ++outcome_.rules[step.rule].applied;
    if (options_.finalists > 1 && !outcome_.steps.empty()) find_others();
  }

  // Describes the cheapest states that save time and of which each avoids a rule of each state chosen before.
  void find_others() {
    std::map<RuleSets::Id, StateId> cheapest;
    for (std::size_t k = 1; k < states_.size(); ++k) {
      const auto [at, fresh] = cheapest.try_emplace(states_[k].rules, static_cast<StateId>(k));
      if (!fresh && states_[k].time < states_[index_of(at->second)].time) at->second = static_cast<StateId>(k);
    }
    std::vector<StateId> order;
    order.reserve(cheapest.size());
    for (const auto& [rules, state] : cheapest) order.push_back(state);
    std::ranges::sort(order, {}, [&](StateId id) { return std::pair(states_[index_of(id)].time, id); });
    std::vector<RuleSets::Id> chosen{states_[index_of(best_)].rules};
    for (const StateId id : order) {
      if (chosen.size() >= options_.finalists || states_[index_of(id)].time >= states_[0].time) return;
      const RuleSets::Id rules = states_[index_of(id)].rules;
      if (std::ranges::any_of(chosen, [&](RuleSets::Id other) { return rule_sets_.contains(rules, other); })) continue;
      if (!go_to(id) || work_.time() >= states_[0].time) continue;
      chosen.push_back(rules);
      outcome_.others.push_back(describe());
    }
    std::ranges::stable_sort(outcome_.others, {}, &Finalist::after);
  }

  // The workspace's graph and the path to it.
  Finalist describe() {
    Finalist found;
    const ir::WorkGraph& graph = work_.graph();
    found.after = cost::nanoseconds(work_.time());
    found.constant_bytes = graph.constant_bytes();
    ir::ValueMap extracted;
    found.graph = path_.size() == 1 ? original_ : graph.extract(arena_, extracted);
    // The original value that each value stands for.
    ir::ValueMap stands_for;
    const auto original = [&](ValueId v) -> std::optional<ValueId> {
      if (const auto found = stands_for.find(v); found != stands_for.end()) return found->second;
      if (const auto source = graph.source_of(v.node)) return ValueId{*source, v.output};
      return std::nullopt;
    };
    const std::vector<std::vector<ir::Replacement>> replaced = work_.replaced();
    for (std::size_t k = 0; k < replaced.size(); ++k) {
      const State& state = states_[index_of(path_[k + 1])];
      Step step{std::string(state.rule), {}, work_.originals(k), cost::nanoseconds(states_[index_of(state.parent)].time - state.time)};
      for (const auto& [from, to] : replaced[k]) {
        const auto known = original(from);
        if (!known) continue;
        step.replaced.push_back(*known);
        if (!graph.source_of(to.node)) stands_for.emplace(to, *known);
      }
      found.steps.push_back(std::move(step));
    }
    // The final value of each replaced value, computed from the last replacement to the first.
    ir::ValueMap became;
    for (auto list = replaced.rbegin(); list != replaced.rend(); ++list) {
      for (auto pair = list->rbegin(); pair != list->rend(); ++pair) {
        const auto later = became.find(pair->second);
        became.insert_or_assign(pair->first, later == became.end() ? pair->second : later->second);
      }
    }
    for (const NodeId id : ir::topological_order(arena_, original_)) {
      const auto copy = graph.copy_of(id);
      if (!copy || path_.size() == 1) continue;
      for (std::uint32_t output = 0; output < arena_.node(id).outputs.size(); ++output) {
        const auto next = became.find({*copy, output});
        const auto now = extracted.find(next == became.end() ? ValueId{*copy, output} : next->second);
        if (now != extracted.end() && now->second != ValueId{id, output}) found.correspondence.emplace(ValueId{id, output}, now->second);
      }
    }
    return found;
  }

  ir::Arena& arena_;
  const ir::Graph& original_;
  const Options& options_;
  Workspace work_;
  const double start_;
  double reported_ = 0;
  double max_constant_bytes_ = 0;
  std::uint64_t jumps_ = 0;  // moves of the workspace by more than one rewrite
  bool stopped_ = false;
  Outcome outcome_;
  std::vector<State> states_;
  std::vector<StateId> path_;  // from the original to the workspace's state
  StateId best_ = kOriginal;
  std::priority_queue<Entry, std::vector<Entry>, Order> queue_;
  std::unordered_map<std::uint64_t, StateId> visited_;  // by hash
  RuleSets rule_sets_;
};

}  // namespace

const char* name(StopReason reason) {
  switch (reason) {
    case StopReason::exhausted:
      return "no state left within alpha of the best";
    case StopReason::states:
      return "budget of states used up";
    case StopReason::time:
      return "budget of time used up";
    case StopReason::interrupt:
      return "costs changed";
    case StopReason::time_limit:
      return "time limit";
    case StopReason::memory_limit:
      return "memory limit";
    case StopReason::cancelled:
      return "interrupted";
  }
  return "";
}

Outcome search(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const Workspace::Follow& follow, const Options& options) {
  return Search(arena, graph, rewriter, follow, options).run();
}

}  // namespace xflow::search
