// One search: its states, its budgets and its strategies. See search.h.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/search/egraph_choice.h"
#include "src/search/egraph_prices.h"
#include "src/search/growth_plan.h"
#include "src/search/improvements.h"
#include "src/search/search.h"
#include "src/search/window_egraph.h"
#include "src/search/windows.h"

namespace xflow::search {

using cost::Ticks;

inline constexpr StateId kOriginal{0};

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

// A graph: a rewrite of the graph of another state.
struct State {
  StateId parent{};
  // The rewrite of the parent's graph: candidate `index` at `root`. It is searched for again when the state
  // is entered, because most states are never entered.
  ir::NodeId root{};
  std::uint32_t index = 0;
  std::string_view rule;
  RuleSets::Id rules{};  // rules of the whole path
  Ticks time{};
  std::uint64_t hash = 0;
  std::uint64_t bytes = 0;
};

class Search final : private InnerSpace {
 public:
  // `symbols`: see ir::WorkGraph.
  Search(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const Workspace::Follow& follow, const Options& options,
         const std::shared_ptr<ir::Symbols>& symbols = nullptr);
  ~Search();

  Outcome run();

 private:
  class PartVisits;  // part_visits.h
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
  using Visited = std::unordered_map<std::uint64_t, StateId>;  // by hash

  static std::size_t index_of(StateId id) { return static_cast<std::size_t>(id); }
  // The number of a state in the workspace. Numbers of states that were dropped are not used again.
  StateId number_of(StateId id) const { return id == kOriginal ? id : static_cast<StateId>(first_number_ + index_of(id)); }
  bool too_expensive(Ticks time) const;

  // --- Budgets ---------------------------------------------------------------------------------------------------------------------------

  bool stopped();
  bool bounding_stopped();
  bool ends_run();  // Options::stop
  double used() const;
  double now() const;
  double seconds() const { return now() - start_; }
  void count_state();
  void report_progress();

  // --- Memory ----------------------------------------------------------------------------------------------------------------------------

  // The part of Options::max_bytes for cached candidates.
  static std::uint64_t kept_bytes(const Options& options);
  // True if the states take more than their part of Options::max_bytes.
  bool is_full() const;
  std::vector<bool> needed_states(std::span<const Entry> entries) const;
  // Drops the expensive half of the queue, and more until at most half of the states are left. The
  // workspace's graph is then the original. For the search of the whole graph: numbers of states change.
  void drop_states();
  // The cheapest state of each set of rules.
  std::map<RuleSets::Id, StateId> cheapest_by_rules() const;

  // --- States ----------------------------------------------------------------------------------------------------------------------------

  // Moves the workspace to a state. False if a rewrite on the way is no longer possible.
  bool go_to(StateId target);
  // Costs the candidate in the current graph unless it is known. False if it is not possible.
  bool know(Candidate& candidate);
  const Candidates& candidates(ir::NodeId root);
  bool is_root(ir::NodeId id) const;
  // Adds the state after a rewrite of the workspace's state. Clears `is_new` if the graph was visited
  // before. Returns nothing if the constants exceed max_growth.
  std::optional<StateId> add(StateId parent, std::uint32_t index, const Candidate& candidate, Visited& visited, bool& is_new);
  // Makes the state the best one if it is cheaper.
  void keep_if_best(StateId id);
  void push(StateId id, Part part) { queue_.push({id, part, states_[index_of(id)].time}); }
  // Moves to a state that was just made and replaces its predicted time by the time of the graph. False if
  // the state cannot be entered.
  bool step_to(StateId id);

  // --- The search of the caller's strategy, and of a trace -------------------------------------------------------------------------------

  SearchState original() const override { return SearchState{0}; }
  SearchState best() const override { return static_cast<SearchState>(best_); }
  Nanoseconds time(SearchState state) const override;
  std::uint64_t hash(SearchState state) const override;
  std::vector<PossibleRewrite> rewrites(SearchState state) override;
  std::optional<SearchState> apply(SearchState state, const PossibleRewrite& rewrite) override;
  bool is_over() override { return stopped(); }
  std::optional<Finalist> reached(SearchState state) override;
  SearchState follow(const std::vector<TracedRewrite>& rewrites) override;
  void choose(SearchState state) override { chosen_ = static_cast<StateId>(state); }
  bool exists(SearchState state) const;
  // The rewrites at the operation with this number; null if the workspace's graph has no such operation.
  const Candidates* candidates_at(std::uint64_t operation);
  // Applies the rewrites of a trace to the original, as far as they are possible. Returns the last state and
  // the number of rewrites.
  std::pair<StateId, std::size_t> apply_trace(const std::vector<TracedRewrite>& trace);
  // For each rewrite of the path to the workspace's state, its number among those of its rule at its
  // operation.
  std::vector<std::uint64_t> matches_of_path();

  // --- Strategies ------------------------------------------------------------------------------------------------------------------------

  // Takes the first rewrite that saves time until there is none. Merges of siblings come after all others: a
  // merged operation is split again, and the results can no longer become one. Sets come before pairs.
  StateId descend(StateId at);
  // The state after the first rewrite at an operation that saves time, of those up to `most`; nothing if
  // there is none.
  std::optional<StateId> improve(StateId at, ir::NodeId root, Merge most);
  // The state after the slice at `root` was carried before the operations that compute what it reads, as
  // far as that saves time; nothing if it saves none. Steps on the way may cost time: a runtime has one
  // kernel for a normalisation, which a slice divides until it has passed it.
  std::optional<StateId> carry(StateId at, ir::NodeId root);
  std::optional<StateId> carry_by(StateId at, std::uint32_t index, const Candidate& candidate);
  // The rewrite to go on with, of the operations from number `first_new` on: the one that saves most. If
  // none saves time, the one of the slice whose operand is last in the graph, so that the slice passes a
  // normalisation before it goes on to what the normalisation reads. Nothing if no slice can move.
  std::optional<std::pair<std::uint32_t, std::shared_ptr<Candidate>>> next_to_carry(std::size_t first_new);
  // Options::strategy.
  void run_strategy();
  // Descents and windows.
  void search_parts();
  // Best first over the whole graph.
  void search_whole();
  // Takes the rewrite that saves most until there is none. After a step, examines only the operations that
  // it affected.
  StateId descend_steepest(StateId at);
  // Bytes of constants that can be added to the graph of a state.
  std::int64_t room_after(StateId at) const;
  std::optional<StateId> descend_by_most(StateId at, Improvements& improvements, std::set<std::uint64_t>& failed);
  // A descent can pass through visited graphs, and through graphs that cost more than the best.
  std::optional<StateId> descend_by(StateId at, std::uint32_t index, const Candidate& candidate);
  void expand(const Entry& entry);

  // --- Windows ---------------------------------------------------------------------------------------------------------------------------

  // A search inside a window. Entries wait in the order of their times and in that of their numbers.
  struct WindowRun {
    std::vector<ir::NodeId> inside;  // the operations, ascending
    std::size_t first_new = 0;       // operations from this number on were made by the search
    double most_time = 0;            // graphs that cost more are dropped
    StateId best{};                  // the cheapest graph so far
    Visited visited;
    std::priority_queue<Entry, std::vector<Entry>, Order> queue;
    std::deque<Entry> oldest = {};
    std::set<std::pair<StateId, Part>> taken = {};

    void push(const Entry& entry) {
      queue.push(entry);
      oldest.push_back(entry);
    }
    // The cheapest entry, or the oldest one. Nothing if none is left.
    std::optional<Entry> take(bool cheapest);
  };
  // What is left of a window in a graph, to be searched.
  struct OpenWindow {
    Window operations;
    std::uint64_t signature = 0;
    std::size_t first_new = 0;  // operations from this number on are made by the search
  };
  // A rewrite of a window, in terms that hold for every window of the same structure.
  struct WindowRewrite {
    std::string_view rule;
    std::uint32_t index = 0;  // among the candidates at the root
    bool made = false;        // whether the rewrites made the root
    std::size_t root = 0;     // if so, its number among the operations made; otherwise its position in the window
  };
  using WindowRewrites = std::vector<WindowRewrite>;

  // Descends in the windows of the original, and then repeats it with merges of siblings, if most windows
  // repeat others, as in a network of equal layers: one descent serves all windows of equal structure.
  // Returns where to go on: the original if there are no such windows.
  StateId descend_repeated_windows();
  // Takes rewrites of the window's operations, and of those that they make, as long as they save time.
  void descend_window(StateId& base, const Window& planned, Merge most);
  // Prepares the search of a window. Nothing if it needs none: it is empty, one of equal structure has no
  // cheaper graph, or the rewrites of one were repeated in it, which changes `base`.
  std::optional<OpenWindow> open_window(StateId& base, const Window& planned);
  // Keeps what the search of a window has found from `from` to `to` for windows of equal structure.
  void close_window(const OpenWindow& window, StateId from, StateId to);
  // Searches in windows of the cheapest graph, and in those of the original, until no window gives a cheaper
  // one.
  void search_windows();
  // Where a pass over windows begins: at the best graph and at the original. A descent may have left the way
  // to the best graph, which cannot be found from its end.
  std::vector<StateId> bases() const;
  // Calls `in` for each window of the graph of `base`, which it may change, until it has returned false for
  // all windows of one graph. False if the search ends before.
  bool search_each_window(const StateId& base, std::size_t size, const std::function<bool(const Window&)>& in);
  // Searches for a graph that is cheaper than `base` by rewrites of the window's operations and of those
  // that they make. If there is one, it is the new base, and the result is true.
  bool search_window(StateId& base, const Window& planned, std::uint64_t most_states, double alpha);
  // False if the state could not be entered or not all of its rewrites were tried.
  bool expand_in(WindowRun& run, const Entry& entry);
  // The rewrites from a state to another one that they made.
  WindowRewrites rewrites_between(StateId from, StateId to, const OpenWindow& window) const;
  // Repeats the rewrites of another window of the same structure. True if the graph is cheaper then.
  bool repeat(StateId& base, const WindowRewrites& rewrites, const OpenWindow& window);

  // --- E-graphs --------------------------------------------------------------------------------------------------------------------------

  // A graph that an e-graph has found: a choice of its operations, and the time of the whole graph with it.
  struct EGraphGoal {
    Chosen chosen;
    std::vector<ir::NodeId> operations;  // of the e-graph
    Ticks time{};
  };
  // Searches in e-graphs of windows, of the cheapest graph and of the original, until none gives a cheaper
  // one.
  void search_egraphs();
  // Searches in the e-graph of a window of the graph of `base`. If a graph that is cheaper is reached, it is
  // the new base, and the result is true.
  bool search_egraph(StateId& base, const Window& planned, const WindowEGraph::Limits& limits);
  // In windows of one size, beginning at each of `from`, which become what was reached. False if the search
  // has to end.
  bool search_egraphs(std::size_t size, const WindowEGraph::Limits& limits, std::vector<StateId>& from);
  // The cheapest graph that is found in an e-graph of the workspace's graph; nothing if none is cheaper.
  std::optional<EGraphGoal> choose(const WindowEGraph& egraph);
  // The time of the workspace's graph with a choice; nothing if it is not possible.
  std::optional<Ticks> time_with(const WindowEGraph& egraph, const Chosen& chosen);
  class Progression;
  // The state after the rewrites that lead from the workspace's state to a goal; the cheapest one that was
  // reached if the goal is not. `all`: see WindowEGraph::reasons.
  StateId reach(const OpenWindow& window, WindowEGraph& egraph, const EGraphGoal& goal, bool all);

  // --- Lower bound -----------------------------------------------------------------------------------------------------------------------

  // The result of a visit of a part: a function of the original, the part and the limits alone, and so the
  // same in every workspace.
  struct PartVisit {
    bool whole = false;  // all graphs that rewrites inside the part reach were visited
    bool ended = false;  // the run ended meanwhile
    // In the order in which they were found. The parent 0 is the original, k is states[k - 1].
    std::vector<State> states;
    std::uint64_t costed = 0;
    std::uint64_t expanded = 0;
    std::uint64_t looks = 0;
    std::map<std::string, RuleCount> rules;
  };
  // The graphs of a part that were visited.
  struct VisitedPart {
    bool whole = false;     // all that rewrites inside it reach
    GrowthChoices choices;  // the efficient ones
    GrowthChoices gains;    // the same of those that cost no time
    // Of the part that was searched: its operations, and the number of the first operation that it makes.
    Window operations;
    std::size_t first_new = 0;
  };
  using KnownParts = std::unordered_map<std::uint64_t, VisitedPart>;  // by a key: parts of equal keys save the same
  // Parts that do not overlap, and the bound that they give.
  struct Parts {
    LowerBound bound;
    std::vector<std::pair<Window, const VisitedPart*>> visited;  // null: there was no budget for the part
  };
  void find_lower_bound();
  // Parts of at most `size` operations. Nothing if the original cannot be entered.
  std::optional<Parts> bound_parts(std::size_t size, KnownParts& known);
  // Adds the states of a visit to those of this search.
  VisitedPart take_visit(const PartVisit& visit, const Window& part);
  // Visits the graphs of a part from the original. The search has no state but the original before and
  // after.
  PartVisit visit_part(const Window& part);
  // Costs the rewrites of a part in the original, without counting them: the search has done that. False if
  // the run ended.
  bool know_rewrites_of(const WindowRun& run);
  // What the parts save at most together.
  Ticks most_saved(const Parts& parts) const;
  // Does in one graph what the parts save in graphs of their own, as far as the growth of constants allows.
  void join_parts(const Parts& parts);

  // --- Result ----------------------------------------------------------------------------------------------------------------------------

  // Makes the original the first state.
  void begin();
  void finish();
  // Describes the cheapest states that save time and of which each avoids a rule of each state chosen
  // before.
  void find_others();
  // The workspace's graph and the path to it.
  Finalist describe();

  ir::Arena& arena_;
  const ir::Graph& original_;
  const Options& options_;
  Rewriter& rewriter_;
  const Workspace::Follow& follow_;
  Workspace work_;
  const double start_;
  double reported_ = 0;
  double max_constant_bytes_ = 0;
  std::uint64_t jumps_ = 0;  // moves of the workspace by more than one rewrite
  bool stopped_ = false;
  bool is_bounding_ = false;  // while the lower bound is found
  bool is_joining_ = false;   // while parts are joined, which no number of states ends
  Outcome outcome_;
  std::vector<State> states_;
  std::size_t first_number_ = 0;  // see number_of
  bool has_dropped_ = false;      // states were dropped
  std::vector<StateId> path_;     // from the original to the workspace's state
  StateId best_ = kOriginal;
  std::optional<StateId> chosen_;  // InnerSpace::choose
  std::priority_queue<Entry, std::vector<Entry>, Order> queue_;
  Visited visited_;
  RuleSets rule_sets_;
  std::unordered_set<std::uint64_t> finished_windows_;            // signatures of windows without a cheaper graph, in this pass
  std::unordered_map<std::uint64_t, WindowRewrites> repeatable_;  // of windows with one, by signature
  std::unordered_set<std::uint64_t> vain_carries_;                // hashes of graphs after a first step that led to no gain
  EGraphPrices::Known known_prices_;
  std::unique_ptr<PartVisits> visits_;
};

}  // namespace xflow::search
