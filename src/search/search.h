// Best-first backtracking over whole graphs (TASO, SOSP 2019, algorithm 2), anytime and deterministic.
//
// A state is a graph: a path of rewrites from the original. First, two descents: each goes on with a rewrite that saves time for as long as
// there is one, once with the first that is found, once with the one that saves most. Then states are expanded, the cheapest first: each
// rewrite of a state makes a neighbour. States that cost more than alpha times the best are dropped, and no graph is visited twice. A state
// that was reached without saving time is expanded in two parts: first the rewrites that its last step made possible or changed, and only
// when nothing else is left those that could as well be done before it. A state that is better than all others begins a new descent. A
// search that is stopped by a budget has followed the same sequence of states as one that is not. See docs/search.md.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/kernels/device.h"
#include "src/search/workspace.h"

namespace xflow::search {

enum class StopReason : std::uint8_t {
  exhausted,  // every state within alpha of the best was expanded
  states,     // max_states
  time,       // max_seconds
  interrupt,
  time_limit,    // of the whole run
  memory_limit,  // likewise
  cancelled,     // by the caller
};
const char* name(StopReason reason);

struct Progress {
  std::uint64_t states = 0;  // costed so far
  Nanoseconds original{};
  Nanoseconds best{};
  double seconds = 0;
};

struct Options {
  double alpha = 1.05;
  std::uint64_t max_states = 1'000'000;  // graphs costed
  std::optional<double> max_seconds;     // wall clock
  // Bytes of constants (see ir::WorkGraph) that a graph may have, as a factor of the original's.
  double max_growth = 0.05;
  // Of two graphs that take equal time the one with fewer operations is better: this is added for each of them.
  Nanoseconds per_operation{0};
  // Whether an operation that the original does not have may stand in a result: it can be exported. It lies in the arena that is given.
  std::function<bool(const ir::Arena&, ir::NodeId)> admissible;
  std::function<void(const Progress&)> progress;  // at most a few times a second
  // Seconds that count against max_seconds since some fixed moment; null: wall clock. A caller whose costs are measured leaves out that
  // time.
  std::function<double()> seconds;
  // Rewrites that may not be done: by the name of the rule and the values of the original graph in whose place it would work (see
  // Step::originals). Null: none.
  Workspace::Excluded excluded;
  // How many graphs are handed on: the best, and others that do without at least one of the rules of each of those before.
  std::size_t finalists = 1;
  // Asked as often as the budgets are: true stops the search, because the costs have to be looked at. `used`: the part of the budget that
  // is used up, of states or of time, whichever is more.
  std::function<bool(double used)> interrupt;
  // Asked as often: why the search has to end whatever its budgets say; nothing if it may go on. Null: never.
  std::function<std::optional<StopReason>()> stop;
};

// One rewrite on the way to the best graph.
struct Step {
  std::string rule;
  // Values of the original graph whose place it took, directly or after other steps; empty where it rewrote what a step had made.
  std::vector<ir::ValueId> replaced;
  // The same, and where it rewrote what a step had made, the values in whose place that step worked.
  std::vector<ir::ValueId> originals;
  Nanoseconds gain{};  // what it saved at that point; negative if it cost time and paid later
};

struct RuleCount {
  std::uint64_t matched = 0;   // rewrites found
  std::uint64_t improved = 0;  // of these, how many lowered the cost of the graph where they were found
  std::uint64_t applied = 0;   // on the way to the best graph
};

// A graph that was found, cheaper than the original, with the way to it.
struct Finalist {
  ir::Graph graph;
  ir::ValueMap correspondence;  // values of the original graph that are another value of `graph` now, and their equals there
  Nanoseconds after{};
  std::vector<Step> steps;
  std::uint64_t constant_bytes = 0;  // see ir::WorkGraph
};

struct Outcome {
  ir::Graph best;
  ir::ValueMap correspondence;  // as of a finalist
  Nanoseconds before{};
  Nanoseconds after{};
  std::vector<Step> steps;
  std::uint64_t constant_bytes_before = 0;  // see ir::WorkGraph
  std::uint64_t constant_bytes_after = 0;
  std::vector<Finalist> others;  // the cheapest first
  std::map<std::string, RuleCount> rules;
  std::uint64_t states = 0;       // graphs costed
  std::uint64_t expanded = 0;     // graphs whose rewrites were tried
  std::uint64_t looks = 0;        // operations whose rewrites were looked at, each time one was
  std::uint64_t best_states = 0;  // of these, how many when the best was found
  double best_seconds = 0;        // and how long that took
  StopReason stop = StopReason::exhausted;
};

// Searches from `graph`; operations of the best graph are added to its arena. `follow` gives what costs a graph.
Outcome search(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const Workspace::Follow& follow, const Options& options);

}  // namespace xflow::search
