// Ids of operations and shapes, for graphs on tensors of known sizes.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::generator {

enum class OpRef : std::uint32_t {};    // an operator with its attributes
enum class TypeRef : std::uint32_t {};  // a shape; elements are float32

// An input (node < 0: input -1 - node), or an output of a node.
struct FlatValue {
  std::int32_t node = 0;
  std::uint32_t output = 0;
  friend auto operator<=>(const FlatValue&, const FlatValue&) = default;
};
inline FlatValue flat_input(std::size_t k) { return {-1 - static_cast<std::int32_t>(k), 0}; }

// An operation of a FlatGraph.
struct FlatNode {
  OpRef op{};
  std::vector<FlatValue> operands;
  std::vector<TypeRef> types;  // of the outputs
};

// A graph in topological order: operands precede their users.
struct FlatGraph {
  std::vector<FlatNode> nodes;
  std::vector<FlatValue> outputs;
};

// Two graphs on the same inputs whose outputs are claimed to be pairwise equal.
struct FlatEquation {
  std::vector<TypeRef> inputs;
  FlatGraph source;
  FlatGraph target;
};

// Interns operations and shapes.
class Vocabulary {
 public:
  // Interns an operator with its attributes.
  OpRef op(ir::OperatorId op, const ir::Attributes& attributes);
  // Interns the operation that ops::apply makes with these attributes, defaults included. The operands must
  // fit.
  OpRef op_on(ir::OperatorId op, const ir::Attributes& attributes, std::span<const TypeRef> operands);
  // Interns a shape.
  TypeRef type(const std::vector<std::int64_t>& dims);
  // Interns the operation that fills a tensor of this shape with one number.
  OpRef filled(const std::vector<std::int64_t>& dims, const ir::Rational& value);

  ir::OperatorId operator_of(OpRef op) const { return operators_[static_cast<std::size_t>(op)]; }
  const ir::Attributes& attributes(OpRef op) const { return ops_[static_cast<std::size_t>(op)].attributes; }
  const std::vector<std::int64_t>& dims(TypeRef type) const { return types_[static_cast<std::size_t>(type)]; }
  // The number that the operation fills a tensor with. Nothing for other operations.
  const std::optional<ir::Rational>& fills(OpRef op) const { return ops_[static_cast<std::size_t>(op)].fills; }
  bool is_commutative(OpRef op) const { return ops_[static_cast<std::size_t>(op)].commutative; }

  // The types of the operation's outputs. Error::ill_typed from the operator's type rule.
  Result<std::vector<TypeRef>> apply(OpRef op, std::span<const TypeRef> operands);

  // Converts a graph of the IR on inputs of known shapes. Error::unsupported for tensors that are not
  // float32 of known size, constants that are not filled with one number, and absent operands.
  Result<FlatGraph> flatten(const ir::Arena& arena, std::span<const ir::ValueId> inputs, std::span<const ir::ValueId> outputs);

  // The text of a graph; `inputs` are the names of its inputs. Outputs are separated by "; ".
  std::string to_string(const FlatGraph& graph, const std::vector<std::string>& inputs) const;

 private:
  struct Entry {
    ir::OperatorId op{};
    ir::Attributes attributes;
    std::optional<ir::Rational> fills;
    bool commutative = false;
  };
  std::deque<Entry> ops_;                  // a deque: references to numbers and attributes stay valid while operations are added
  std::vector<ir::OperatorId> operators_;  // operators of ops_, contiguous because they are read most often
  std::unordered_multimap<std::size_t, OpRef> op_ids_;
  // Cache of op_on: arguments and result.
  struct Asked {
    ir::OperatorId op{};
    ir::Attributes attributes;
    std::vector<TypeRef> operands;
    OpRef is{};
  };
  std::unordered_multimap<std::size_t, Asked> asked_;  // by hash
  std::vector<std::vector<std::int64_t>> types_;
  struct DimsHash {
    std::size_t operator()(const std::vector<std::int64_t>& dims) const;
  };
  std::unordered_map<std::vector<std::int64_t>, TypeRef, DimsHash> type_ids_;
  std::map<std::vector<std::uint32_t>, std::vector<TypeRef>> typings_;
};

}  // namespace xflow::generator
