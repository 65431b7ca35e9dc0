// The e-graph of a window: all graphs that rewrites of its operations make, with equal parts stored once.
//
// E-graphs and equality saturation: Tate et al., POPL 2009; Willsey et al., POPL 2021 (egg); with rules of
// several outputs: Yang et al., MLSys 2021 (TENSAT). Operations are those of an arena of its own and read
// representatives of classes of equal values. Independent rewrites add up here, where the states of a
// search multiply. What can be chosen is decided by an extraction (egraph_choice.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/ir/work_graph.h"
#include "src/search/windows.h"
#include "src/search/workspace.h"

namespace xflow::search {

// Copies a constant or an expression of constants to another arena. `known`: values that were copied before.
ir::ValueId copy_constant(const ir::Arena& from, ir::ValueId value, ir::Arena& to, ir::ValueMap& known);

class WindowEGraph final : public ir::GraphView, public ir::ValueClasses {
 public:
  // The operations of the window alone. Values from outside of it are inputs, constants stay constants. The
  // graph must not change while the object lives, except between marks.
  WindowEGraph(const ir::WorkGraph& graph, const Window& window);

  struct Limits {
    std::size_t operations = 1'500;
    std::size_t rewrites = 30'000;     // applied
    std::uint64_t steps = 200'000;     // of matching, in a round
    std::size_t rounds_of_merges = 2;  // what is merged could be merged again without end
  };
  // Applies rewrites to all operations until nothing new comes. False if a limit or `stopped` came first.
  // Rewrites that make an operation which `admissible` refuses are left out.
  bool saturate(Rewriter& rewriter, const Workspace::Admissible& admissible, const Limits& limits, const std::function<bool()>& stopped);

  const ir::Arena& arena() const { return arena_; }
  // The values of the window that are read outside of it: in the work graph and here.
  const std::vector<std::pair<ir::ValueId, ir::ValueId>>& outputs() const { return outputs_; }
  // True for an input or a constant: nothing has to run for it.
  bool is_free(ir::ValueId representative) const;
  // Operations that are not equal to older ones with the same operands.
  std::size_t operations() const { return operations_; }

  // Makes a value in the arena of the work graph. `chosen` tells the output of an operation for each class
  // that is not free.
  using Choice = std::function<ir::ValueId(ir::ValueId representative)>;
  ir::ValueId make(ir::Arena& work, ir::ValueId value, const Choice& chosen, ir::ValueMap& made) const;
  // The operation of this graph that does the same as an operation of the work graph; nothing if there is
  // none. Operands must be asked for before their users, with the same `known`.
  std::optional<ir::NodeId> find(const ir::WorkGraph& graph, ir::NodeId operation, ir::ValueMap& known);

  // A rewrite that was applied: its rule, and the operations that it matched.
  struct Applied {
    std::string_view rule;
    std::vector<ir::NodeId> matched;
  };
  // The rewrites that made these operations from those of the window, directly or through others, in the
  // order in which they were applied. With `all`, also those that say that their results, and the outputs of
  // the window, are equal to others.
  std::vector<std::size_t> reasons(std::span<const ir::NodeId> operations, bool all) const;
  const Applied& applied(std::size_t rewrite) const { return applied_[rewrite]; }

  // --- GraphView and ValueClasses --------------------------------------------------------------------------------------------------------

  bool contains(ir::NodeId node) const override;
  std::size_t position(ir::NodeId node) const override { return index_of(node); }
  std::span<const ir::NodeId> users(ir::NodeId node) const override;
  std::size_t use_count(ir::ValueId value) const override;
  const ir::ValueClasses* classes() const override { return this; }
  ir::ValueId representative(ir::ValueId value) const override;
  std::span<const ir::ValueId> members(ir::ValueId representative) const override;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  struct Class {
    std::vector<ir::ValueId> members;  // outputs of operations
    std::vector<ir::NodeId> users;     // may name operations that are no longer in the graph
    std::vector<std::size_t> joins;    // rewrites that made classes one
  };
  struct NodeData {
    std::uint32_t first = kNone;    // number of its first output; kNone: not in the graph
    bool is_stale = false;          // another operation with newer operands has taken its place
    std::uint32_t made_by = kNone;  // the rewrite that made it; kNone: an operation of the window
    std::uint32_t copy_of = kNone;  // the operation whose place it took
    std::vector<ir::NodeId> users;  // ascending
  };

  static std::size_t index_of(ir::NodeId id) { return static_cast<std::size_t>(id); }
  std::size_t number_of(ir::ValueId value) const { return nodes_[index_of(value.node)].first + value.output; }
  std::size_t root_of(std::size_t number) const;
  bool is_known(ir::NodeId id) const { return index_of(id) < nodes_.size() && nodes_[index_of(id)].first != kNone; }

  void add(ir::NodeId id, std::uint32_t made_by);
  bool may_add(ir::NodeId id, const Workspace::Admissible& admissible) const;
  // True if they were two classes.
  bool join(ir::ValueId a, ir::ValueId b, std::size_t rewrite);
  bool apply(const Rewrite& rewrite, ir::NodeId root, const Workspace::Admissible& admissible);
  // Gives operations the representatives of their operands.
  void rebuild();
  void repair(ir::NodeId id);
  void find_users();

  ir::Arena arena_;
  std::vector<NodeData> nodes_;                 // by node
  std::vector<ir::ValueId> values_;             // by number
  mutable std::vector<std::uint32_t> parents_;  // by number: union-find
  std::vector<Class> classes_;                  // by number; of representatives
  std::vector<std::pair<ir::ValueId, ir::ValueId>> outputs_;
  ir::ValueMap entering_;                // values from outside of the window and constants -> values here
  ir::ValueMap leaving_;                 // the inverse
  std::vector<std::size_t> unrepaired_;  // classes that were joined with others
  std::vector<Applied> applied_;
  std::unordered_set<std::uint64_t> tried_;  // keys of rewrites
  std::size_t operations_ = 0;
};

}  // namespace xflow::search
