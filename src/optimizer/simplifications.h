// The simplifications that need no rule, because they hold by the definition of a graph: equal deterministic nodes are one, a value that
// nobody uses is not computed, and neither is a copy of a constant or a shape that is known before the model runs. Lifting does the first
// two and leaves out the nodes of the third; here they are found, so that they can be costed and reported like rules.
#pragma once

#include <xflow/optimize.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"
#include "src/kernels/device.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/folded_shapes.h"
#include "src/onnx/lift/lift.h"
#include "src/optimizer/built_graph.h"

namespace xflow::api {

// A node of the document that the written graph need not have.
struct RemovableNode {
  std::string_view rule;  // "merge-equal-nodes", "drop-unused", "fold-shapes", "drop-identity", "fold-constants"
  onnx_io::NodeId node{};
};

// In the order of the document. Nodes that compute constants are listed if they do so from sizes, are identities, or are folded.
std::vector<RemovableNode> removable_nodes(const onnx_io::Document& document, const onnx_io::LiftedModel& model,
                                           const onnx_io::FoldedShapes& folds, const ir::Arena& arena);

// The same with what the node costs.
struct Simplification {
  std::string rule;
  std::string where;   // "node 'conv1' (Conv)"
  ir::Graph part;      // what the node computes, alone: its operands are inputs
  Nanoseconds gain{};  // what it costs; for the caller to find out
};

// In the order of the document. Nodes that compute constants cost nothing; of them only those are listed that do so from sizes, and
// identities.
std::vector<Simplification> find_simplifications(const onnx_io::Document& document, const onnx_io::LiftedModel& model,
                                                 const onnx_io::FoldedShapes& folds, ir::Arena& arena);
// The same for a graph that was built in code: "node 3 (relu)", counted from 0.
std::vector<Simplification> find_simplifications(const Graph& graph, const BuiltGraph& built, ir::Arena& arena);

// True if one of them saves time: nodes that cost nothing are no reason to write another model.
bool gain_time(std::span<const Simplification> simplifications);
// Puts them before the steps of the search, which began with the graph that they leave.
void list_simplifications(std::span<const Simplification> simplifications, OptimizeReport& report);

// Why a result of `simplifications` alone is not shipped where no runner runs the model itself.
std::string no_gain_of_simplifications(std::span<const Simplification> simplifications);

}  // namespace xflow::api
