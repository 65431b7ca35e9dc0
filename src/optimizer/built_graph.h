// Converts graphs built in code between the public form (plain lists) and the IR.
#pragma once

#include <xflow/graph.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"

namespace xflow {

struct Graph::State {
  std::vector<GraphInput> inputs;
  std::vector<GraphWeight> weights;
  std::vector<GraphNode> nodes;
  std::vector<GraphOutput> outputs;
  std::vector<ir::Constant> constants;  // keep the bytes of the weights
};

namespace api {

ir::DataType ir_type(DataType type);

// Adds the inputs, weights and operations of a graph to an arena, one by one.
class OperationMaker {
 public:
  explicit OperationMaker(ir::Arena& arena) : arena_(arena) {}

  void input(DataType type, const std::vector<Dimension>& dims);
  void weight(const ir::Constant& constant);
  // Adds an operation and returns its number of results. Errors: ill_typed; invalid_argument for an operator
  // or an operand that does not exist.
  Result<std::size_t> apply(std::string_view op, std::span<const Value> operands, std::span<const NamedAttribute> attributes);

  std::vector<ir::ValueId> values;  // of inputs, weights and results, in order of creation
  std::vector<ir::ValueId> inputs;

 private:
  ir::Arena& arena_;
};

struct BuiltGraph {
  ir::Graph graph;
  std::vector<ir::ValueId> inputs;  // in the order of Graph::inputs
  std::vector<ir::NodeId> nodes;    // in the order of Graph::nodes; equal nodes have one id
};

// Builds the graph in `arena`. Error::ill_typed or invalid_argument names the node that does not fit.
Result<BuiltGraph> to_ir(const Graph& graph, ir::Arena& arena);

// Converts a graph of the arena to a public graph. Inputs and outputs are named as in `original`. `fold`
// computes expressions of constants.
Result<Graph> from_ir(const Graph& original, ir::Arena& arena, const BuiltGraph& built, const ir::Graph& result,
                      const std::function<Result<ir::Constant>(ir::ValueId)>& fold);

}  // namespace api
}  // namespace xflow
