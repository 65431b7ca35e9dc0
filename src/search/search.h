// Best-first backtracking over whole graphs (TASO, SOSP 2019, algorithm 2), anytime and deterministic.
//
// A state is a graph. Expanding a state finds every rewrite of it. Rewrites that save time are first applied together as far as they are
// compatible: one such descent makes of a state the states that single steps would reach by the dozen. Then each rewrite alone makes a
// neighbour. States that cost more than alpha times the best are dropped, and no graph is visited twice. A search that is stopped by time
// has followed the same sequence of states as one that is not.
#pragma once

#include <xflow/result.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/cost/device.h"
#include "src/ir/graph.h"

namespace xflow::search {

// What a rule offers on one graph: values of the graph and the equal values that take their place.
struct Rewrite {
  std::string rule;
  ir::ValueMap replacements;
};

// Finds the rewrites of a graph, in an order that depends on the graph alone.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  // Calls `found` for each rewrite; stops early when it returns false.
  virtual void rewrites(const ir::Graph& graph, const ir::Uses& uses, const std::function<bool(Rewrite)>& found) = 0;
};

// The time one run of a graph takes. Errors mean that the graph cannot be costed and is no candidate.
using CostFunction = std::function<Result<cost::Nanoseconds>(const ir::Graph&)>;

struct Progress {
  std::uint64_t states = 0;  // costed so far
  cost::Nanoseconds original;
  cost::Nanoseconds best;
  double seconds = 0;
};

struct Options {
  double alpha = 1.05;
  std::uint64_t max_states = 100'000;  // graphs costed
  std::optional<double> max_seconds;   // wall clock
  // Bytes of constants (weights, and what is computed from them alone) that a graph may have, as a factor of the original's.
  double max_growth = 0.05;
  // Whether an operation that the original does not have may stand in a result: it can be spelled.
  std::function<bool(ir::NodeId)> admissible;
  std::function<void(const Progress&)> progress;  // at most a few times a second
  // Seconds that count against max_seconds since some fixed moment; null: wall clock. A caller whose costs are measured leaves out that
  // time.
  std::function<double()> seconds;
};

enum class StopReason : std::uint8_t {
  exhausted,  // every state within alpha of the best was expanded
  states,     // max_states
  time,       // max_seconds
};
const char* name(StopReason reason);

// One rewrite on the way to the best graph.
struct Step {
  std::string rule;
  std::vector<ir::ValueId> replaced;  // values of the graph before the step
  cost::Nanoseconds gain;             // what it saved at that point; negative if it cost time and paid later
};

struct RuleCount {
  std::uint64_t matched = 0;   // rewrites found
  std::uint64_t improved = 0;  // of these, how many lowered the cost of the graph where they were found
  std::uint64_t applied = 0;   // on the way to the best graph
};

struct Outcome {
  ir::Graph best;
  ir::ValueMap correspondence;  // values of the original graph that were replaced or rebuilt on the way, and their equals in `best`
  cost::Nanoseconds before;
  cost::Nanoseconds after;
  std::vector<Step> steps;
  std::map<std::string, RuleCount> rules;
  std::uint64_t states = 0;    // graphs costed
  std::uint64_t expanded = 0;  // graphs whose rewrites were found
  StopReason stop = StopReason::exhausted;
};

// Error: the original graph cannot be costed.
Result<Outcome> search(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const CostFunction& cost, const Options& options);

// Bytes of the constants that the nodes of a graph read: weights, and expressions of constants as they will be computed. Constants of
// unknown size count as nothing.
std::uint64_t constant_bytes(const ir::Arena& arena, const ir::Graph& graph);

}  // namespace xflow::search
