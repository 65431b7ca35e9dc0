// Infers the types of the results of nodes that hold graphs (If, Loop, Scan) or call local functions, by a
// walk through their bodies.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/inferred_shapes.h"
#include "src/ops/integer_content.h"

namespace xflow::onnx_io {

// Lifts a body into the arena, with the values that it receives. Nodes that xflow has operators for are
// typed by these operators, other nodes by ONNX's shape inference, one at a time, with the attributes that
// the call passes. The values that this adds to the arena belong to no graph.
class BodyTypes {
 public:
  // The arguments must outlive this object. A walk visits at most `most_nodes` nodes, including those of
  // nested bodies.
  BodyTypes(const Document& document, ir::Arena& arena, NodeInference& nodes, const ir::Symbols::Valuation& sizes, std::size_t most_nodes);

  // Returns the types of the outputs of a node of the main graph, as NodeInference::infer does. `operands`
  // are the values of the node's inputs, then those of its captures. Types are missing if a function calls
  // itself, bodies are nested too deep, or there are too many nodes.
  std::vector<std::optional<InferredType>> infer(const Node& node, std::span<const ir::ValueId> operands);

  std::size_t visited() const { return visited_; }

 private:
  using Values = std::vector<ir::ValueId>;
  using Types = std::vector<ir::TensorType>;
  using Attributes = std::unordered_map<std::string_view, Attribute>;
  struct Scope {
    const Scope* outer = nullptr;            // the enclosing graph of a body; null for a function
    const Attributes* attributes = nullptr;  // those that nodes of a function may refer to
    std::unordered_map<std::string_view, ir::ValueId> values = {};
  };

  std::optional<Values> visit(const Node& node, const Scope& scope);
  std::optional<Values> call(const Node& node, std::span<const ir::ValueId> operands);
  std::optional<Types> branches(const Node& node, const Scope& scope);
  std::optional<Types> loop(const Node& node, std::span<const ir::ValueId> operands, const Scope& scope);
  std::optional<Types> scan(const Node& node, std::span<const ir::ValueId> operands, const Scope& scope);
  std::optional<Types> of_body(const Node& node, std::span<const ir::ValueId> operands, const Scope& scope);
  Types of_operator(const Node& node, std::span<const ir::ValueId> operands);

  bool walk(GraphId graph, Scope& scope);
  bool define_initializers(const Graph& graph, Scope& scope);
  std::optional<Values> run_body(const Graph& body, std::span<const ir::ValueId> inputs, const Scope& scope);
  std::optional<Types> repeat(const Graph& body, Values inputs, std::size_t first_state, std::size_t first_result, std::size_t states,
                              const Scope& scope);
  bool join(ir::TensorType& type, const ir::TensorType& other, std::size_t first_symbol);
  std::optional<ir::ValueId> find(const Scope& scope, std::string_view name) const;

  ir::ValueId leaf(ir::TensorType type);
  ir::TensorType known_outside(ir::TensorType type, std::size_t first_symbol);
  std::optional<InferredType> inferred(const ir::TensorType& type, std::size_t first_symbol);
  ir::Poly fresh() { return ir::Poly(arena_.symbols().fresh(ir::SymbolKind::dimension, "body")); }
  bool is_older(const ir::Poly& size, std::size_t first_symbol) const;

  const Document& document_;
  ir::Arena& arena_;
  NodeInference& nodes_;
  const ir::Symbols::Valuation& sizes_;
  ops::IntegerContent contents_;
  std::size_t most_nodes_;
  std::size_t visited_ = 0;
  std::size_t depth_ = 0;
  std::vector<const Function*> calls_;  // calls in progress
};

}  // namespace xflow::onnx_io
