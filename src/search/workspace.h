// Where a search works: one graph that changes in place, what it costs, and the rewrites that it offers.
//
// A state of the search is a path of rewrites from the original graph. The workspace goes from state to state by undoing and doing
// rewrites. What is known of a rewrite (what it would save, whether it may be done) is kept with the nodes that it depends on: after
// another rewrite only what depends on changed nodes is looked for and costed again.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/cost/incremental_cost.h"
#include "src/ir/work_graph.h"

namespace xflow::search {

// What a rule offers at one place.
struct Rewrite {
  std::string_view rule;  // its name; the rewriter's own
  // Makes the new operations in the arena and says what they replace. Nothing if there is no rewrite after all.
  std::function<std::vector<ir::Replacement>(ir::Arena&)> build;
  bool merges = false;  // it replaces several values by parts of one
};

// Finds the rewrites of a graph.
class Rewriter {
 public:
  Rewriter() = default;
  virtual ~Rewriter() = default;
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;
  // Calls `found` for each rewrite at the operation `root`, in an order that depends on the graph alone. `reads` gets the nodes on which
  // the answer depends: on what they read, or who uses them.
  virtual void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>& reads,
                        const std::function<void(Rewrite)>& found) = 0;
};

enum class StateId : std::uint32_t {};

// A rewrite, and what it would change in the graph for which that was found out.
struct Candidate {
  Rewrite rewrite;
  ir::NodeId root{};
  bool costed = false;
  bool possible = false;  // it changes something, can be exported, and costs are known
  cost::Ticks change{};
  std::uint64_t hash = 0;     // to be added to the hash of the graph
  std::int64_t bytes = 0;     // of constants, to be added
  std::uint64_t context = 0;  // of the footprint
  std::vector<ir::NodeId> footprint;
};
using Candidates = std::vector<std::shared_ptr<Candidate>>;

// The rewrites at an operation, and the nodes on which depends which these are.
struct FoundCandidates {
  Candidates list;
  std::vector<ir::NodeId> reads;
};

class Workspace {
 public:
  using Follow = std::function<std::unique_ptr<cost::IncrementalCost>(const ir::WorkGraph&)>;
  using Admissible = std::function<bool(const ir::Arena&, ir::NodeId)>;
  using Excluded = std::function<bool(std::string_view rule, std::span<const ir::ValueId> originals)>;
  // What may be done; both may be null.
  struct Limits {
    Admissible admissible;  // operations
    Excluded excluded;      // rewrites
  };

  // `per_operation` is added to the time of a graph for each operation.
  Workspace(const ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const Follow& follow, Limits limits,
            Nanoseconds per_operation);

  const ir::WorkGraph& graph() const { return graph_; }
  cost::Ticks time() const { return time_of(graph_.operations()); }
  std::size_t depth() const { return steps_.size(); }

  // Does a rewrite: the graph is then that of `state`. False, and nothing done, where it is not possible.
  bool enter(StateId state, const Candidate& candidate);
  // Undoes the last rewrite.
  void leave();
  // What was replaced by the rewrites done so far, one list for each of them.
  std::vector<std::vector<ir::Replacement>> replaced() const;
  // Values of the original graph in whose place a rewrite done so far works, operations that it made equal to others included; where it
  // rewrote what another one made, those of that one.
  const std::vector<ir::ValueId>& originals(std::size_t step) const { return steps_[step].originals; }

  // Operations for which the last rewrite may have changed which rewrites there are, or what one of them would change, in the order of
  // the graph; those that it made are among them. All nodes of the graph where none was done.
  std::vector<ir::NodeId> affected() const;
  // Whether the rewrites at an operation need not be looked for.
  bool has_candidates(ir::NodeId root) const { return candidates_[index_of(root)] != nullptr; }

  // The rewrites at an operation of the graph. `found` is set where they had to be looked for.
  const Candidates& candidates(ir::NodeId root, bool& found);
  // True if what is known of the candidate holds for the graph as it is.
  bool is_known(const Candidate& candidate) const { return candidate.costed && candidate.context == context_of(candidate.footprint); }
  // Finds out what the candidate would change.
  void find_out(Candidate& candidate);

 private:
  struct Step {
    bool forgot(ir::NodeId root) const;

    StateId state{};
    ir::WorkGraph::Mark graph;
    std::size_t cost = 0;
    std::vector<ir::ValueId> originals;
    std::vector<std::pair<ir::NodeId, std::uint32_t>> versions;                             // before
    std::vector<std::pair<ir::NodeId, std::shared_ptr<const FoundCandidates>>> candidates;  // before, ascending
    std::vector<ir::NodeId> late;  // where candidates were looked for that nobody had asked for before this rewrite
  };
  using Found = std::vector<std::pair<ir::NodeId, std::shared_ptr<const FoundCandidates>>>;

  static std::size_t index_of(ir::NodeId id) { return static_cast<std::size_t>(id); }
  cost::Ticks time_of(std::size_t operations) const;
  bool apply(const Rewrite& rewrite, ir::WorkGraph::Mark since);
  std::vector<ir::ValueId> originals_of(std::span<const ir::Replacement> replacements, ir::WorkGraph::Mark since) const;
  void grow();
  void keep(StateId state, Found found);
  void add_readers(ir::NodeId root, const FoundCandidates& found);
  void add_watchers(const Candidate& candidate);
  std::uint64_t context_of(const std::vector<ir::NodeId>& nodes) const;

  ir::WorkGraph graph_;
  Rewriter& rewriter_;
  Limits limits_;
  std::unique_ptr<cost::IncrementalCost> cost_;
  cost::Ticks per_operation_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> versions_;                             // by node: the state in which something changed there last
  std::vector<std::shared_ptr<const FoundCandidates>> candidates_;  // by node; null: to be looked for
  std::vector<std::vector<ir::NodeId>> readers_;                    // by node: operations whose rewrites may depend on it, ascending
  std::vector<std::vector<ir::NodeId>> watchers_;                   // by node: operations with candidates that have it in their footprint
  std::unordered_map<std::uint32_t, Found> found_;                  // by state: what was looked for there, of the last states
  std::deque<std::pair<std::uint32_t, std::size_t>> kept_;  // these states in the order in which they were left, and how much they keep
  std::size_t kept_candidates_ = 0;
};

}  // namespace xflow::search
