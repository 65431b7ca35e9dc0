// A graph that changes in place, for a search: what a rewrite costs is what it changes.
//
// The graph is copied into an arena of its own. A replacement redirects the users of a value; their operands change, their ids stay. Every
// change is written down, so that it can be undone; undoing also frees the nodes that were made since. Users that become equal to another
// operation are merged with it, and operations that nobody uses leave the graph, as in a newly built graph.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::ir {

using Replacement = std::pair<ValueId, ValueId>;  // what is replaced, and by what

class WorkGraph final : public GraphView {
 public:
  WorkGraph(const Arena& source, const Graph& graph);

  // New operations are made here, between mark() and replace().
  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  // The node that a node of the source became; nothing for one that the graph does not reach.
  std::optional<NodeId> copy_of(NodeId source) const;
  // Where a node was copied from; nothing for one that was made later.
  std::optional<NodeId> source_of(NodeId id) const;

  bool contains(NodeId node) const override;
  std::size_t position(NodeId node) const override { return static_cast<std::size_t>(slot(node).label); }
  std::span<const NodeId> users(NodeId node) const override;  // ascending in their ids
  std::size_t use_count(ValueId value) const override;
  std::size_t total_uses(NodeId node) const;  // of all its outputs

  // The nodes of the graph that are no constants, operands before users.
  std::vector<NodeId> order() const;
  std::size_t operations() const { return operations_; }
  // Bytes of the constants that these nodes read: weights; expressions of constants of the source as they are stored there, that is the
  // weights in them where these are smaller than the result; and other expressions as they will be computed. Constants of unknown size
  // count as nothing.
  std::uint64_t constant_bytes() const { return constant_bytes_; }
  // Equal for equal graphs that came from one source, whatever the order of the rewrites. A replacement stands for the value that it
  // replaces; so two orders of rewrites of which one reads what the other replaces have the same hash as well.
  std::uint64_t hash() const { return hash_; }

  // A moment to which undo() returns. Marks are undone in the reverse order.
  struct Mark {
    std::size_t journal = 0;
    std::size_t nodes = 0;
  };
  Mark mark() const { return {journal_.size(), arena_.size()}; }
  void undo(Mark mark);
  // Puts values in the place of others of the same type, everywhere but in the operations that are new to the graph: these stand as they
  // are. `since` was taken before the operations were made. False where the graph would depend on itself or nothing changes: undo then.
  bool replace(std::span<const Replacement> replacements, Mark since);

  // A node whose place in the graph changed since a mark: its operands (or what is known of them), or its users, or whether it is there.
  struct Change {
    NodeId node{};
    bool operands = false;
  };
  std::vector<Change> changes(Mark since) const;
  // What was replaced between two marks, in order, merges of equal operations included.
  std::vector<Replacement> replaced(Mark since, Mark until) const;

  // The graph in the arena that it came from: nodes that did not change are the ones of the source.
  Graph extract(Arena& source) const;
  // The same; `values` gets what each value of the graph is there.
  Graph extract(Arena& source, ValueMap& values) const;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  static constexpr std::uint64_t kNoBytes = ~std::uint64_t{0};

  struct Slot {
    std::vector<NodeId> users;                // ascending
    std::vector<std::uint32_t> user_counts;   // operand slots of each of them
    std::vector<std::uint32_t> uses;          // by output
    std::vector<std::uint32_t> running_uses;  // by output: of these, those by graph outputs and operations that are no constants
    std::vector<std::uint64_t> names;         // by output: what the value is called in hashes
    std::uint64_t content = 0;
    std::uint32_t total_uses = 0;
    std::uint64_t stored = kNoBytes;  // of an expression of constants of the source: bytes of the weights in it
    std::int64_t label = 0;           // ascending along the list
    std::uint32_t previous = kNone;   // in topological order, if `listed`
    std::uint32_t next = kNone;
    std::uint32_t source = kNone;
    bool present = false;
    bool listed = false;
  };

  // What was done, with what undoes it.
  struct Entry {
    enum class Kind : std::uint8_t { enter, leave, use, unuse, operand, constant, touched, output, list, unlist, replaced };
    Kind kind = Kind::use;
    std::uint32_t node = kNone;  // the node; of use and unuse the user, kNone for a graph output
    std::uint32_t index = 0;     // operand, output: which; unlist: the node before
    ValueId value;               // use, unuse: which; operand, output: the old one; replaced: from
    ValueId to;                  // replaced
  };
  using Kind = Entry::Kind;

  static std::size_t index_of(NodeId id) { return static_cast<std::size_t>(id); }
  static std::uint32_t number(NodeId id) { return static_cast<std::uint32_t>(id); }
  Slot& slot(NodeId id) { return slots_[index_of(id)]; }
  const Slot& slot(NodeId id) const { return slots_[index_of(id)]; }
  Node& node(NodeId id) { return *arena_.nodes_[index_of(id)]; }

  void add_slots();
  std::uint64_t name(ValueId value) const { return slot(value.node).names[value.output]; }
  std::uint64_t content_of(NodeId id) const;
  void count(NodeId id, bool in);
  std::uint64_t computed_bytes(ValueId value) const;
  void find_stored_bytes();
  void count_bytes(ValueId value, bool in);
  bool runs(std::uint32_t user) const { return user == kNone || !arena_.node(NodeId{user}).is_constant; }

  // The changes themselves, and the same written down.
  void set_present(NodeId id, bool present);
  void add_use(ValueId value, std::uint32_t user);
  void remove_use(ValueId value, std::uint32_t user);
  void put_operand(NodeId user, std::size_t index, ValueId to);
  void set_constant(NodeId id, bool constant);
  void link(NodeId id, std::uint32_t previous);
  void unlink(NodeId id);
  void relabel();
  void use(ValueId value, std::uint32_t user);
  void unuse(ValueId value, std::uint32_t user);
  void list(NodeId id, std::uint32_t previous);
  void unlist(NodeId id);

  void enter(NodeId id);
  void drop_unused(NodeId id);
  bool redirect(ValueId from, ValueId to, bool merges);
  bool put_before(NodeId operand, NodeId user);
  void update_constness(NodeId id);

  Arena arena_;
  std::vector<ValueId> outputs_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> copies_;  // by node of the source
  std::vector<Entry> journal_;
  std::vector<bool> fresh_;          // by node: entered the graph in this replace()
  std::vector<NodeId> entered_;      // the same as a list
  std::vector<Replacement> merges_;  // to do
  bool changed_ = false;
  std::uint32_t first_ = kNone;  // of the list
  std::uint32_t last_ = kNone;
  std::uint64_t hash_ = 0;
  std::uint64_t constant_bytes_ = 0;
  std::size_t operations_ = 0;
};

}  // namespace xflow::ir
