// Built-in simplifications, which need no rule because they hold by the definition of a graph: equal
// deterministic nodes are merged, and unused values, copies of constants and shapes known before the run are
// not computed. Lifting merges equal nodes, drops unused ones, and leaves out nodes of the third kind. The
// functions here find these nodes, so that they can be costed and reported like rules.
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

// A node of the document that the written graph can do without.
struct RemovableNode {
  std::string_view rule;  // "merge-equal-nodes", "drop-unused", "fold-shapes", "drop-identity", "fold-constants"
  onnx_io::NodeId node{};
};

// Lists the removable nodes in the order of the document. A node that computes a constant is listed if it
// computes the constant from sizes, is an identity, or is folded.
std::vector<RemovableNode> removable_nodes(const onnx_io::Document& document, const onnx_io::LiftedModel& model,
                                           const onnx_io::FoldedShapes& folds, const ir::Arena& arena);

// A removable node with its cost.
struct Simplification {
  std::string rule;
  std::string where;   // "node 'conv1' (Conv)"
  ir::Graph part;      // the node alone, with its operands as inputs
  Nanoseconds gain{};  // the cost of the node; the caller fills it in
};

// Lists the simplifications in the order of the document. Nodes that compute constants cost nothing; only
// those that compute them from sizes, and identities, are listed.
std::vector<Simplification> find_simplifications(const onnx_io::Document& document, const onnx_io::LiftedModel& model,
                                                 const onnx_io::FoldedShapes& folds, ir::Arena& arena);
// The same for a graph built in code; nodes are counted from 0: "node 3 (relu)".
std::vector<Simplification> find_simplifications(const Graph& graph, const BuiltGraph& built, ir::Arena& arena);

// Whether a simplification saves time. Removing nodes of no cost is no reason to write another model.
bool gain_time(std::span<const Simplification> simplifications);
// Adds the simplifications to the report, before the steps of the search, which started with the simplified
// graph.
void list_simplifications(std::span<const Simplification> simplifications, OptimizeReport& report);

// The reason not to ship a result of `simplifications` alone if no runner runs the original model.
std::string no_gain_of_simplifications(std::span<const Simplification> simplifications);

}  // namespace xflow::api
