// The workspace of a search: one graph that changes in place, its cost, and the rewrites that it offers.
//
// A state of the search is a path of rewrites from the original graph. The workspace goes from state to
// state by undoing and applying rewrites. Facts about a rewrite (its gain, whether it is possible) are
// cached with the nodes they depend on: after another rewrite, only what depends on changed nodes is
// searched for and costed again.
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

// How a rewrite replaces values, in the order in which descents apply rewrites.
enum class Merge : std::uint8_t {
  none,  // one value, or several by values of their own
  all,   // a set of siblings by parts of one value
  some,  // several values by parts of one value
};

// A rewrite by a rule at one operation.
struct Rewrite {
  std::string_view rule;  // name of the rule; the rewriter owns the string
  // Makes the new operations in the arena and returns the replacements. Empty if the rewrite turns out to be
  // impossible.
  std::function<std::vector<ir::Replacement>(ir::Arena&)> build;
  Merge merge = Merge::none;
  std::vector<ir::NodeId> matched = {};  // the operations that it rewrites; empty if it is the one at the root alone
  // Of rewrites in an e-graph: those with equal keys at one operation do the same. 0: unknown.
  std::uint64_t key = 0;
  bool carries = false;  // it makes a slice of a gather, or moves one before what computes what the slice reads
};

// Finds the rewrites of a graph.
class Rewriter {
 public:
  Rewriter() = default;
  virtual ~Rewriter() = default;
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;
  // Calls `found` for each rewrite at the operation `root`, in an order that depends on the graph alone.
  // `reads` receives the nodes that the answer depends on: it depends on their operands or on their users.
  virtual void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>& reads,
                        const std::function<void(Rewrite)>& found) = 0;
  // The same for an operation of an e-graph (see ir::GraphView::classes), whose arena is `arena`. By default
  // there are none. False if there may be more than were found. `steps` of matching are left and are counted
  // down.
  virtual bool equal_rewrites(ir::Arena& /*arena*/, const ir::GraphView& /*graph*/, ir::NodeId /*root*/, std::uint64_t& /*steps*/,
                              const std::function<void(Rewrite)>& /*found*/) {
    return true;
  }
};

enum class StateId : std::uint32_t {};

// A rewrite, and its effect on the graph in which it was costed.
struct Candidate {
  Rewrite rewrite;
  ir::NodeId root{};
  bool costed = false;
  bool possible = false;  // it changes something, can be exported, and its cost is known
  cost::Ticks change{};
  std::uint64_t hash = 0;     // difference of the graph's hash
  std::int64_t bytes = 0;     // difference of the bytes of constants
  std::uint64_t context = 0;  // hash of the versions of the footprint's nodes
  std::vector<ir::NodeId> footprint;
  bool is_wide = false;  // the footprint was too large to be kept: the effect holds for one state alone
};
using Candidates = std::vector<std::shared_ptr<Candidate>>;

// The rewrites at an operation, and the nodes that decide which rewrites there are.
struct FoundCandidates {
  Candidates list;
  std::vector<ir::NodeId> reads;
  std::size_t bytes() const;  // of memory, about
};

// One graph that goes from state to state, with cached candidates.
class Workspace {
 public:
  using Follow = std::function<std::unique_ptr<cost::IncrementalCost>(const ir::WorkGraph&)>;
  using Admissible = std::function<bool(const ir::Arena&, ir::NodeId)>;
  using Excluded = std::function<bool(std::string_view rule, std::span<const ir::ValueId> originals)>;
  // Restrictions on rewrites. Both may be null.
  struct Limits {
    Admissible admissible;  // which new operations are allowed
    Excluded excluded;      // which rewrites are not allowed
    // Bytes of memory for the candidates of states that were left.
    std::uint64_t kept_bytes = 64U << 20U;
  };

  // `per_operation` is added to the time of a graph for each operation. `symbols`: see ir::WorkGraph.
  Workspace(const ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const Follow& follow, Limits limits,
            Nanoseconds per_operation, const std::shared_ptr<ir::Symbols>& symbols = nullptr);

  const ir::WorkGraph& graph() const { return graph_; }
  cost::Ticks time() const { return time_of(graph_.operations()); }
  // The time of the operations of the graph that are among `nodes`, and of what runs in one kernel with
  // them.
  cost::Ticks time_of(std::span<const ir::NodeId> nodes) const;
  std::size_t depth() const { return steps_.size(); }

  // Applies a rewrite; the graph is then that of `state`. Returns false and changes nothing if the rewrite
  // is not possible.
  bool enter(StateId state, const Candidate& candidate);
  // Undoes the last rewrite.
  void leave();
  // Drops all that is cached, so that what follows depends on the graph alone. The graph must be the
  // original.
  void forget();
  // Forgets the candidates of all states that were left.
  void forget_left_states();
  // The replacements of the rewrites applied so far, one list per rewrite.
  std::vector<std::vector<ir::Replacement>> replaced() const;
  // The values of the original graph that rewrite `step` replaces, directly or because an earlier rewrite
  // made them equal to others. If it rewrote the result of another rewrite, these include the originals of
  // that rewrite.
  const std::vector<ir::ValueId>& originals(std::size_t step) const { return steps_[step].originals; }

  // The operations whose set of rewrites, or the effect of one of them, the last rewrite may have changed,
  // in the order of the graph. New operations are among them. All nodes of the graph if no rewrite was
  // applied.
  std::vector<ir::NodeId> affected() const;
  // True if the rewrites at an operation are cached.
  bool has_candidates(ir::NodeId root) const { return candidates_[index_of(root)] != nullptr; }

  // The rewrites at an operation of the graph. `found` is set to true if they had to be searched for.
  const Candidates& candidates(ir::NodeId root, bool& found);
  // True if the cached effect of the candidate holds for the current graph.
  bool is_known(const Candidate& candidate) const { return candidate.costed && candidate.context == context_of(candidate); }
  // Computes the effect of the candidate on the current graph.
  void find_out(Candidate& candidate);

 private:
  struct Step {
    // True if this step invalidated the candidates at `root`.
    bool forgot(ir::NodeId root) const;

    StateId state{};
    ir::WorkGraph::Mark graph;
    std::size_t cost = 0;
    std::vector<ir::ValueId> originals;
    std::vector<std::pair<ir::NodeId, std::uint32_t>> versions;                             // before
    std::vector<std::pair<ir::NodeId, std::shared_ptr<const FoundCandidates>>> candidates;  // before the step, ascending by node
    std::vector<ir::NodeId> late;  // operations whose candidates were first searched for after this step
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
  std::uint64_t context_of(const Candidate& candidate) const;

  ir::WorkGraph graph_;
  Rewriter& rewriter_;
  Limits limits_;
  std::unique_ptr<cost::IncrementalCost> cost_;
  cost::Ticks per_operation_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> versions_;                             // by node: the state that changed it last
  std::vector<std::shared_ptr<const FoundCandidates>> candidates_;  // by node; null: not cached
  std::vector<std::vector<ir::NodeId>> readers_;                    // by node: operations whose rewrites may depend on it, ascending
  std::vector<std::vector<ir::NodeId>> watchers_;                   // by node: operations with candidates that have it in their footprint
  std::unordered_map<std::uint32_t, Found> found_;                  // by state: candidates found there, for the most recently left states
  std::deque<std::pair<std::uint32_t, std::size_t>> kept_;          // states of found_ in the order they were left, with their bytes
  std::size_t kept_bytes_ = 0;
  std::vector<ir::NodeId> wide_;  // operations with wide candidates, ascending; some may no longer have one
};

}  // namespace xflow::search
