// Nodes, values and graphs.
//
// Nodes are immutable and interned in an arena by operator, attributes and operands. Structural equality is
// identity: two values are equal if and only if their ids are. A graph is a list of outputs in an arena.
// Names live in the document or in GraphBuilder. A node that is not known to be deterministic (opaque) is
// never interned.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/ir/attribute.h"
#include "src/ir/constant.h"
#include "src/ir/type.h"

namespace xflow::ir {

enum class NodeId : std::uint32_t {};
enum class OperatorId : std::uint16_t {};  // assigned by src/ops; the IR only compares it

// Output `output` of node `node`.
struct ValueId {
  NodeId node{};
  std::uint32_t output = 0;
  friend auto operator<=>(const ValueId&, const ValueId&) = default;
};

enum class NodeKind : std::uint8_t {
  input,      // a graph input or a rule's variable; one output
  constant,   // a tensor known before the run; one output
  operation,  // an operator of src/ops
  opaque,     // not an operator of src/ops: typed, never crossed by a rewrite
};

struct Node {
  NodeKind kind = NodeKind::input;
  OperatorId op{};                // kind operation
  Attributes attributes;          // kind operation
  std::vector<ValueId> operands;  // kinds operation and opaque
  std::vector<TensorType> outputs;
  Constant constant;  // kind constant
  // Kinds input and opaque: a number of the caller (document node, input position) that distinguishes nodes.
  std::uint32_t serial = 0;
  // A constant, or a deterministic expression of constants with known sizes. It costs nothing in the search.
  bool is_constant = false;
  bool at_run = false;      // kind operation: not a constant expression, see Arena::operation
  bool is_absent = false;   // the single node that represents an absent operand
  std::uint64_t hash = 0;   // structural, equal in every run
  std::uint64_t local = 0;  // kind operation: hash of operator and attributes
};

}  // namespace xflow::ir

template <>
struct std::hash<xflow::ir::NodeId> {
  std::size_t operator()(xflow::ir::NodeId id) const noexcept { return static_cast<std::size_t>(id) * 0x9E3779B97F4A7C15ULL; }
};
template <>
struct std::hash<xflow::ir::ValueId> {
  std::size_t operator()(const xflow::ir::ValueId& v) const noexcept {
    return ((static_cast<std::size_t>(v.node) << 8) + v.output) * 0x9E3779B97F4A7C15ULL;
  }
};

namespace xflow::ir {

// Whether the output sizes and the integer attributes of an operation are known numbers. An operation
// without known sizes cannot be computed before the run, even if all its operands are constants.
bool has_known_sizes(const Attributes& attributes, const std::vector<TensorType>& outputs);

// Owns the nodes and symbols of one run. Not thread-safe: one thread at a time.
class Arena {
 public:
  Arena();
  // An arena without nodes that shares the symbols of another arena, so that types mean the same in both.
  explicit Arena(std::shared_ptr<Symbols> symbols);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Symbols& symbols() { return *symbols_; }
  const Symbols& symbols() const { return *symbols_; }
  const std::shared_ptr<Symbols>& shared_symbols() const { return symbols_; }

  // A new input. Two calls give two inputs, even with equal arguments.
  ValueId input(TensorType type, std::uint32_t serial);
  // A constant. Small constants are interned by value, others by the identity of their bytes.
  ValueId constant(Constant constant);
  // The value that represents an omitted optional operand.
  ValueId absent() const { return absent_; }
  // An interned operation. Callers outside src/ops use ops::apply, which checks and types the operation.
  // With `at_run` the operation is not a constant expression, even if all its operands are constants.
  NodeId operation(OperatorId op, Attributes attributes, std::vector<ValueId> operands, std::vector<TensorType> outputs,
                   bool at_run = false);
  // A new opaque node, never interned. `serial` identifies it (the document's node).
  NodeId opaque(std::uint32_t serial, std::vector<ValueId> operands, std::vector<TensorType> outputs);

  const Node& node(NodeId id) const { return *nodes_[static_cast<std::size_t>(id)]; }
  const Node& node(ValueId value) const { return node(value.node); }
  const TensorType& type(ValueId value) const { return node(value).outputs[value.output]; }
  bool is_constant(ValueId value) const { return node(value).is_constant; }
  bool is_absent(ValueId value) const { return value == absent_; }
  std::size_t size() const { return nodes_.size(); }
  std::uint64_t hash(ValueId value) const { return node(value).hash * 31 + value.output; }

 private:
  friend class WorkGraph;  // changes operands in place and truncates the list of nodes

  NodeId add(Node node);
  void intern(NodeId id);
  void forget(NodeId id);  // removes the node from the interned nodes
  // The lowest interned node that equals `node` and that `accept` accepts; nothing if there is none.
  std::optional<NodeId> find_equal(const Node& node, const std::function<bool(NodeId)>& accept) const;
  void truncate(std::size_t size);

  std::shared_ptr<Symbols> symbols_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_multimap<std::uint64_t, NodeId> interned_;
  ValueId absent_;
};

struct Graph {
  std::vector<ValueId> outputs;
  friend bool operator==(const Graph&, const Graph&) = default;
};

std::uint64_t structural_hash(const Arena& arena, const Graph& graph);

// The nodes that a graph reaches, operands before users, in the post-order of a depth-first walk from the
// outputs. Deterministic.
std::vector<NodeId> topological_order(const Arena& arena, const Graph& graph);

// Which values of an e-graph are equal. Operations read representatives.
class ValueClasses {
 public:
  ValueClasses() = default;
  virtual ~ValueClasses() = default;
  ValueClasses(const ValueClasses&) = delete;
  ValueClasses& operator=(const ValueClasses&) = delete;

  virtual ValueId representative(ValueId value) const = 0;
  // The outputs of operations that are equal to a representative.
  virtual std::span<const ValueId> members(ValueId representative) const = 0;
};

// The nodes of a graph and the users of each value.
class GraphView {
 public:
  GraphView() = default;
  virtual ~GraphView() = default;
  GraphView(const GraphView&) = delete;
  GraphView& operator=(const GraphView&) = delete;

  virtual bool contains(NodeId node) const = 0;
  // A number that is higher for a user than for its operands. Requires a non-constant node of the graph.
  virtual std::size_t position(NodeId node) const = 0;
  // Users of any output of `node`, each once.
  virtual std::span<const NodeId> users(NodeId node) const = 0;
  // The number of operand slots and graph outputs that read `value`.
  virtual std::size_t use_count(ValueId value) const = 0;
  // Null: values are equal only if their ids are.
  virtual const ValueClasses* classes() const { return nullptr; }
};

// The view of an unchanging graph, with its nodes in topological order.
class Uses final : public GraphView {
 public:
  Uses(const Arena& arena, const Graph& graph);
  std::span<const NodeId> order() const { return order_; }
  bool contains(NodeId node) const override { return position_.contains(node); }
  std::size_t position(NodeId node) const override { return position_.at(node); }
  // Ascending in topological order.
  std::span<const NodeId> users(NodeId node) const override;
  std::size_t use_count(ValueId value) const override;

 private:
  std::vector<NodeId> order_;
  std::unordered_map<NodeId, std::size_t> position_;
  std::vector<std::vector<NodeId>> users_;
  std::unordered_map<ValueId, std::size_t> counts_;
};

using ValueMap = std::unordered_map<ValueId, ValueId>;

// The graph in which every use of a key of `replacements` reads the mapped value instead. A replacement must
// have the type of the value that it replaces (canonical equality, checked: Error::ill_typed names both
// types). Uses of keys inside the replacements are not replaced. Adds the new value of each rebuilt value to
// `replacements`.
Result<Graph> replace(Arena& arena, const Graph& graph, ValueMap& replacements);

// Checks that operands precede users, that types are possible and that operand numbers exist.
// Error::internal names the node.
Result<void> verify(const Arena& arena, const Graph& graph);

}  // namespace xflow::ir
