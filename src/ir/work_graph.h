// A graph that the search rewrites in place: the cost of a rewrite is proportional to what it changes.
//
// The constructor copies the graph into a new arena. A replacement redirects the users of a value: their
// operands change, their ids do not. A journal records every change, so that undo() can revert it; undo()
// also frees the nodes made since the mark. A user that becomes equal to another operation is merged with
// it. Operations without users leave the graph, as in a newly built graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::ir {

using Replacement = std::pair<ValueId, ValueId>;  // the replaced value, its replacement

class WorkGraph final : public GraphView {
 public:
  // `symbols`: a copy of those of the source, for a graph in another thread. Null: those of the source.
  WorkGraph(const Arena& source, const Graph& graph, const std::shared_ptr<Symbols>& symbols = nullptr);

  // The arena for new operations: create them between mark() and replace().
  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  // The copy of a node of the source arena; nothing if the graph does not reach the node.
  std::optional<NodeId> copy_of(NodeId source) const;
  // The node of the source arena that `id` is a copy of; nothing if `id` was made later.
  std::optional<NodeId> source_of(NodeId id) const;

  bool contains(NodeId node) const override;
  std::size_t position(NodeId node) const override { return static_cast<std::size_t>(slot(node).label); }
  std::span<const NodeId> users(NodeId node) const override;  // ascending in their ids
  std::size_t use_count(ValueId value) const override;
  std::size_t total_uses(NodeId node) const;  // of all its outputs

  // The non-constant nodes of the graph, operands before users.
  std::vector<NodeId> order() const;
  std::size_t operations() const { return operations_; }
  // Bytes of the constants that the non-constant nodes and the graph outputs read. A weight counts with its
  // size. A constant expression of the source counts as it is stored there: the weights in it, or its result
  // if that is smaller. Any other constant expression counts with the size of its result. Constants of
  // unknown size count 0.
  std::uint64_t constant_bytes() const { return constant_bytes_; }
  // Bytes of a value; 0 if its size is not known.
  std::uint64_t computed_bytes(ValueId value) const;
  // Equal for equal graphs of one source, independent of the order of the rewrites. In the hash, a
  // replacement takes the name of the value that it replaces. So the order of two rewrites does not matter
  // either if one of them reads a value that the other one replaces.
  std::uint64_t hash() const { return hash_; }

  // A state that undo() restores. Undo marks in reverse order.
  struct Mark {
    std::size_t journal = 0;
    std::size_t nodes = 0;
  };
  Mark mark() const { return {journal_.size(), arena_.size()}; }
  void undo(Mark mark);
  // Redirects all uses of each replaced value to its replacement, which must have the same type. Operations
  // that are new to the graph keep their operands. `since` must be a mark from before the new operations
  // were made. Returns false if the types differ, the graph would become cyclic, or nothing changes; the
  // caller must then undo(since).
  bool replace(std::span<const Replacement> replacements, Mark since);

  // A node that changed since a mark: its operands, the constness of an operand, its users, or its presence
  // in the graph. `operands` is false if only its users changed.
  struct Change {
    NodeId node{};
    bool operands = false;
  };
  std::vector<Change> changes(Mark since) const;
  // The replacements between two marks, in order, including merges of equal operations.
  std::vector<Replacement> replaced(Mark since, Mark until) const;

  // Builds the graph in its source arena. Unchanged nodes are the original nodes of the source.
  Graph extract(Arena& source) const;
  // The same; adds the value in `source` of each value of the graph to `values`.
  Graph extract(Arena& source, ValueMap& values) const;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  static constexpr std::uint64_t kNoBytes = ~std::uint64_t{0};

  struct Slot {
    std::vector<NodeId> users;                // ascending
    std::vector<std::uint32_t> user_counts;   // for each user: how many of its operand slots read this node
    std::vector<std::uint32_t> uses;          // by output
    std::vector<std::uint32_t> running_uses;  // by output: uses by graph outputs and non-constant nodes
    std::vector<std::uint64_t> names;         // by output: the name of the value in hashes
    std::uint64_t content = 0;
    std::uint32_t total_uses = 0;
    std::uint64_t stored = kNoBytes;  // constant expressions of the source: bytes stored for it
    std::int64_t label = 0;           // increases along the list
    std::uint32_t previous = kNone;   // in topological order, if `listed`
    std::uint32_t next = kNone;
    std::uint32_t source = kNone;
    bool present = false;
    bool listed = false;
  };

  // A journal entry: one change and what undo() needs to revert it.
  struct Entry {
    enum class Kind : std::uint8_t { enter, leave, use, unuse, operand, constant, touched, output, list, unlist, replaced };
    Kind kind = Kind::use;
    std::uint32_t node = kNone;  // the changed node; use, unuse: the user, kNone for a graph output
    std::uint32_t index = 0;     // operand, output: its index; unlist: the previous node in the list
    ValueId value;               // use, unuse: the used value; operand, output: the old value; replaced: from
    ValueId to;                  // replaced: to
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
  void find_stored_bytes();
  void count_bytes(ValueId value, bool in);
  bool runs(std::uint32_t user) const { return user == kNone || !arena_.node(NodeId{user}).is_constant; }

  // Single changes. set_present to relabel do not write the journal; use, unuse, list and unlist do.
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
  std::vector<bool> fresh_;            // by node: whether it entered the graph in the current replace()
  std::vector<NodeId> entered_;        // the nodes with fresh_ set
  std::vector<Replacement> merges_;    // merges that replace() still has to do
  std::unordered_set<NodeId> merged_;  // nodes that were merged with others in the current replace(), and leave the graph
  bool changed_ = false;
  std::uint32_t first_ = kNone;  // ends of the list
  std::uint32_t last_ = kNone;
  std::uint64_t hash_ = 0;
  std::uint64_t constant_bytes_ = 0;
  std::size_t operations_ = 0;
};

}  // namespace xflow::ir
