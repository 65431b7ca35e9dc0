// Between the public graph (plain lists) and the IR.
#pragma once

#include <xflow/graph.h>

#include <functional>
#include <string>
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

struct BuiltGraph {
  ir::Graph graph;
  std::vector<ir::ValueId> inputs;  // in the order of Graph::inputs
  std::vector<ir::NodeId> nodes;    // of Graph::nodes, in their order; equal ones are one
};

// The graph in `arena`. Error::ill_typed or invalid_argument says which node does not fit.
Result<BuiltGraph> to_ir(const Graph& graph, ir::Arena& arena);

// A graph of the arena as a public one: inputs and outputs named as in `original`; expressions of constants computed by `fold`.
Result<Graph> from_ir(const Graph& original, ir::Arena& arena, const BuiltGraph& built, const ir::Graph& result,
                      const std::function<Result<ir::Constant>(ir::ValueId)>& fold);

}  // namespace api
}  // namespace xflow
