// Strategies of a search: those of xflow by name, and those of the caller.
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/time.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace xflow {

// In which order a search tries rewrites (docs/search.md, *Strategies*).
enum class Strategy : std::uint8_t {
  automatic,     // descents, then windows, then the whole graph
  backtracking,  // best first over the whole graph (TASO, SOSP 2019, algorithm 2)
  partition,     // descents, then windows
  egraph,        // descents, then e-graphs of windows (egg, POPL 2021; TENSAT, MLSys 2021)
};
// Returns the name of a strategy: "auto", "backtracking".
constexpr const char* to_string(Strategy strategy) {
  switch (strategy) {
    case Strategy::automatic:
      return "auto";
    case Strategy::backtracking:
      return "backtracking";
    case Strategy::partition:
      return "partition";
    case Strategy::egraph:
      return "egraph";
  }
  return "";
}
// The inverse of to_string. Errors: invalid_argument for other texts.
XFLOW_API Result<Strategy> parse_strategy(std::string_view text);

// A graph that rewrites made of the original. The number 0 is the original.
enum class SearchState : std::uint32_t {};

// A rewrite of one graph by a proved rule.
struct PossibleRewrite {
  std::string_view rule;        // valid during the search
  std::uint64_t operation = 0;  // the operation at which the rule matches; a number within the graph
  std::uint32_t number = 0;     // of the rewrite among those at the operation
  Nanoseconds change{};         // of the predicted time; negative if it saves time
  std::int64_t bytes = 0;       // by which the constants grow
  bool merges = false;          // it replaces several values by parts of one value
};

// The graphs that rewrites reach, for a strategy. Graphs are made and costed on request. The limits of the
// search (SearchOptions::max_growth, what can be exported, what the device can run) hold for all of them.
class XFLOW_API SearchSpace {
 public:
  SearchSpace() = default;
  virtual ~SearchSpace() = default;
  SearchSpace(const SearchSpace&) = delete;
  SearchSpace& operator=(const SearchSpace&) = delete;

  // The graph that the search begins with.
  virtual SearchState original() const = 0;
  // The cheapest graph so far.
  virtual SearchState best() const = 0;
  virtual Nanoseconds time(SearchState state) const = 0;  // predicted
  // Graphs with equal hashes are equal. A graph in which values became equal can have several.
  virtual std::uint64_t hash(SearchState state) const = 0;
  // The rewrites that are possible in a graph, in the order of its operations, each with its effect. Costing
  // one counts as a state of the budget. The list is cut short when is_over().
  virtual std::vector<PossibleRewrite> rewrites(SearchState state) = 0;
  // The graph after a rewrite of rewrites(state); a graph whose hash was reached before has its former
  // number. Nothing if the rewrite is not possible, or the constants would grow too much.
  virtual std::optional<SearchState> apply(SearchState state, const PossibleRewrite& rewrite) = 0;
  // True if the budget is used up or the call is cancelled. The strategy must return then.
  virtual bool is_over() = 0;
};

// A strategy of the caller (SearchOptions::own_strategy). The result of the search is the cheapest graph
// that was reached, or a cheaper one that the gap finds (SearchOptions::gap). It is validated as any other,
// so a strategy cannot make a result wrong. The result is the same in every run if the strategy decides by
// what SearchSpace says alone.
class XFLOW_API SearchStrategy {
 public:
  SearchStrategy() = default;
  virtual ~SearchStrategy() = default;
  SearchStrategy(const SearchStrategy&) = delete;
  SearchStrategy& operator=(const SearchStrategy&) = delete;

  // Searches a graph until the strategy has nothing left to try, or space.is_over().
  virtual void search(SearchSpace& space) = 0;
};

}  // namespace xflow
