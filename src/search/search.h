// Best-first backtracking over whole graphs (TASO, SOSP 2019, algorithm 2), anytime and deterministic.
//
// A state is a graph: a path of rewrites from the original. The search starts with two descents, which
// apply time-saving rewrites until there is none; in a network of equal layers the first begins in
// windows of one layer, and repeats what it found in the others. One descent takes the first such
// rewrite, the other the one that saves most. Then windows, connected parts of the cheapest graph and of
// the original, are searched with a budget each (windows.h). Then states are expanded, cheapest first:
// each rewrite of a state makes a neighbour. States that cost more than alpha times the best are dropped,
// and no graph is visited twice.
//
// A state that was reached without saving time is expanded in two parts. The first part has the rewrites
// that its last step enabled or changed. The second part has the rewrites that could as well be done before
// that step; it comes after all other states. A state that is better than all others starts a new descent.
//
// A search that a budget stops has followed the same sequence of states as a longer search. See
// docs/search.md.
#pragma once

#include <xflow/error.h>
#include <xflow/report.h>
#include <xflow/search_strategy.h>
#include <xflow/trace.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/kernels/device.h"
#include "src/search/workspace.h"

namespace xflow::search {

using xflow::StopReason;

// The state of a running search.
struct Progress {
  std::uint64_t states = 0;  // graphs costed so far
  Nanoseconds original{};
  Nanoseconds best{};
  double seconds = 0;
};

// The rewriter and the cost model of one thread. They share nothing that changes with those of other
// threads.
struct ThreadTools {
  std::unique_ptr<Rewriter> rewriter;
  Workspace::Follow follow;
};

// Options of a search.
struct Options {
  Strategy strategy = Strategy::automatic;
  SearchStrategy* own_strategy = nullptr;  // used instead of `strategy`
  // Rewrites to apply from the original on, instead of a search. Null: none. See Outcome::replayed.
  const std::vector<TracedRewrite>* replay = nullptr;
  double alpha = 1.05;
  std::uint64_t max_states = 1'000'000;  // graphs costed
  std::optional<double> max_seconds;     // wall clock
  // Limit on the growth of the bytes of constants (see ir::WorkGraph), as a fraction of the original's.
  double max_growth = 0.05;
  std::uint64_t max_growth_bytes = 0;  // or by so many bytes, if that is more
  // Graphs costed beside max_states to find Outcome::bound; 0: none are, and there is no bound. With
  // max_seconds the last tenth of it is kept for the bound.
  std::uint64_t bound_states = 0;
  // Threads that visit the parts of the bound, the calling one included. Above 1 only with thread_tools. The
  // result does not depend on it, unless the budget is one of time.
  std::size_t threads = 1;
  // Makes the tools of a thread that visits parts; called from the calling thread. Several threads call
  // `admissible` and `excluded` then. Null: the calling thread visits all parts with the tools of the
  // search, as it has to if costs are measured.
  std::function<ThreadTools()> thread_tools;
  // True if no kernel has to be timed for its price. The search then prices operations that are in no
  // result, too: those of e-graphs.
  bool prices_are_known = false;
  // Bytes of memory for states and cached rewrites. When they take more, the expensive states are dropped. A
  // strategy of the caller ends then.
  std::uint64_t max_bytes = 1U << 30U;
  // Added to the time of a graph for each operation: of two graphs that take equal time, the one with fewer
  // operations is better.
  Nanoseconds per_operation{0};
  // True if an operation that the original does not have can be in a result, because it can be exported. The
  // operation is in the given arena.
  std::function<bool(const ir::Arena&, ir::NodeId)> admissible;
  std::function<void(const Progress&)> progress;  // at most a few times a second
  // Seconds since a fixed moment, as counted against max_seconds. Null: wall clock. A caller that measures
  // costs excludes the time for it.
  std::function<double()> seconds;
  // Excluded rewrites, by the name of the rule and the original values that it would replace (see
  // Step::originals). Null: none.
  Workspace::Excluded excluded;
  // Number of graphs to return: the best graph, and other graphs of which each avoids at least one rule of
  // each graph before it.
  std::size_t finalists = 1;
  // Called as often as the budgets are checked. True stops the search, because costs have to be measured
  // again. `used`: the used part of the budget of states or of time, whichever is larger.
  std::function<bool(double used)> interrupt;
  // Called as often: the reason to end the search regardless of its budgets; nothing to go on. Null: never.
  std::function<std::optional<StopReason>()> stop;
};

// One rewrite on the way to the best graph.
struct Step {
  std::string rule;
  // Values of the original graph that it replaced, directly or after other steps. Empty if it rewrote the
  // result of a step.
  std::vector<ir::ValueId> replaced;
  // The same, and if it rewrote the result of a step, that step's `originals`.
  std::vector<ir::ValueId> originals;
  Nanoseconds gain{};  // time that it saved at that point; negative if it cost time and paid off later
  // The operation of the workspace at which the rule matched, and the number of the match among those of the
  // rule there (TracedRewrite).
  ir::NodeId root{};
  std::uint64_t match = 0;
};

// Counts of the rewrites by one rule.
struct RuleCount {
  std::uint64_t matched = 0;   // rewrites found
  std::uint64_t improved = 0;  // rewrites that lowered the cost of the graph in which they were found
  std::uint64_t applied = 0;   // rewrites on the path to the best graph
};

// A graph that is cheaper than the original, with the path to it.
struct Finalist {
  ir::Graph graph;
  ir::ValueMap correspondence;  // values of the original graph that changed -> equal values of `graph`
  Nanoseconds after{};
  std::vector<Step> steps;
  std::uint64_t constant_bytes = 0;  // see ir::WorkGraph
};

// What rewrites inside disjoint parts of the original can save at most. All graphs are visited that are
// reached by rewrites of a part's operations, and of those that these make, whatever they cost; the
// operations outside of the part stay. If the budget does not allow that, the part is open, and its whole
// time counts as saved. Rewrites and kernels across parts are left out. The parts share max_growth; see
// plan_growth.
struct LowerBound {
  Nanoseconds time{};  // of the original without these savings
  std::size_t parts = 0;
  std::size_t open_parts = 0;
  Nanoseconds open_time{};   // of the original's kernels in open parts
  std::uint64_t states = 0;  // graphs costed for it
};

// A graph that was cheaper than all before it.
struct BetterGraph {
  double seconds = 0;        // since the start, as Options::seconds counts
  std::uint64_t states = 0;  // graphs costed until then
  Nanoseconds time{};
};

// The result of a search.
struct Outcome {
  ir::Graph best;
  ir::ValueMap correspondence;  // as Finalist::correspondence
  Nanoseconds before{};
  Nanoseconds after{};
  std::vector<Step> steps;
  std::uint64_t constant_bytes_before = 0;  // see ir::WorkGraph
  std::uint64_t constant_bytes_after = 0;
  std::vector<Finalist> others;  // sorted by time, cheapest first
  std::map<std::string, RuleCount> rules;
  std::uint64_t states = 0;               // graphs costed
  std::uint64_t expanded = 0;             // graphs whose rewrites were tried
  std::uint64_t looks = 0;                // operations whose rewrites were examined, repeats included
  std::uint64_t best_states = 0;          // graphs costed when the best was found
  double best_seconds = 0;                // seconds until the best was found
  std::vector<BetterGraph> improvements;  // in their order; the last is the best
  StopReason stop = StopReason::exhausted;
  std::optional<LowerBound> bound;  // of the times that are reached from the original
  std::size_t replayed = 0;         // number of rewrites of Options::replay that were applied, until one was not possible
};

// What a strategy inside of xflow sees of a search. Every search is one.
class InnerSpace : public SearchSpace {
 public:
  // The graph of a state, with the path to it. Its operations are added to the arena of the search. Nothing
  // if a rewrite on the way is no longer possible.
  virtual std::optional<Finalist> reached(SearchState state) = 0;
  // Applies rewrites of the original, as SearchOptions::replay, as far as they are possible.
  virtual SearchState follow(const std::vector<TracedRewrite>& rewrites) = 0;
  // The result of the search is this state, whatever it costs, and not the cheapest one.
  virtual void choose(SearchState state) = 0;
};

// A strategy inside of xflow.
class InnerStrategy : public SearchStrategy {
 public:
  void search(SearchSpace& space) final { search_inner(static_cast<InnerSpace&>(space)); }

 private:
  virtual void search_inner(InnerSpace& space) = 0;
};

// Searches from `graph`. Operations of the best graph are added to its arena. `follow` makes the cost model
// of a graph.
Outcome search(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const Workspace::Follow& follow, const Options& options);

}  // namespace xflow::search
