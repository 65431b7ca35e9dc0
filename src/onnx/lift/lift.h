// From the document to the IR.
//
// The main graph is lifted; bodies and local functions stay in the document, and the nodes that hold or call them are opaque. A node whose
// operator, version or attributes xflow does not know exactly is opaque too: typed as far as the document declares it, never crossed.
// Integers that are known before a model runs (the size of a dimension that is a number, and what is computed from it) are constants; the
// identity of a constant is that constant.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

// Which output of which node of the document makes a value.
struct Origin {
  NodeId node{};
  std::uint32_t output = 0;
};

struct OpaqueNode {
  NodeId node{};
  std::string reason;  // "no operator for com.microsoft.Foo", "Slice: steps are not known"
};

struct LiftedModel {
  // The outputs of the main graph, then values whose names have to stay: those that bodies of nodes capture, those of quantisation
  // annotations, and with training graphs, which are not indexed, all.
  ir::Graph graph;
  std::size_t output_count = 0;                // how many of graph.outputs are outputs of the main graph
  std::vector<std::string_view> output_names;  // of graph.outputs; for captured values the captured name
  std::vector<std::string_view>
      input_names;                  // in the order of the document; an input with a default is one, before IR version 4 a constant
  std::vector<ir::ValueId> inputs;  // of the same length
  std::unordered_map<std::string_view, ir::ValueId> values;  // every value name of the main graph
  std::unordered_map<ir::ValueId, Origin> origins;           // first document node that makes each value
  std::unordered_map<ir::ValueId, std::string_view> names;   // the name under which the document first defines each value
  std::vector<OpaqueNode> opaque;                            // in topological order
  // Results of opaque nodes, and what is computed from them: their sizes are declared, and nothing checks that they are so when the model
  // runs.
  std::unordered_set<ir::ValueId> of_opaque;
  int opset = 0;  // of ONNX's own domain
  // Declared types of results of opaque nodes that ONNX's shape inference contradicts: "value 'r' is declared float32[1, 4, 8, 8], and is
  // float32[1, 4, 16, 16] by shape inference". Sizes that differ are unknown in the IR.
  std::vector<std::string> contradictions;
};

struct LiftOptions {
  // Types of results of opaque nodes are completed by ONNX's own shape inference, which also says where a declaration is wrong.
  bool infer = false;
  // Names of dimensions that do not mean one size wherever intermediate values are declared with them: each use is a size of its own.
  std::unordered_set<std::string> distrusted_dimensions = {};
  // Asked before every node; true ends lifting with Error::limit. Null: never.
  std::function<bool()> stop = {};
};

// Lifts the main graph into `arena`. The document must outlive the result and the arena. Nothing that a valid document holds is an error;
// what is not known becomes opaque. Errors: limit, where LiftOptions::stop says so.
Result<LiftedModel> lift(const Document& document, ir::Arena& arena, const LiftOptions& options = {});

// The type of a declared value. -1, missing dimensions and placeholders ("?", names without a letter) are fresh symbols; other names are
// the dimension of that name.
ir::TensorType declared_tensor_type(ir::Symbols& symbols, const DeclaredType& declared, std::string_view value_name);

}  // namespace xflow::onnx_io
