// Lifts a document into the IR.
//
// Only the main graph is lifted. Bodies and local functions stay in the document, and the nodes that hold or
// call them are opaque. A node whose operator, version or attributes xflow does not know exactly is opaque
// as well: it has the declared type, and no rewrite crosses it.
//
// Integers that are known before the model runs (the size of a dimension that is a number, and integers
// computed from it) are lifted as constants. The identity of a constant is lifted as that constant.
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

// The output of a node of the document that produces a value.
struct Origin {
  NodeId node{};
  std::uint32_t output = 0;
};

struct OpaqueNode {
  NodeId node{};
  std::string reason;  // "no operator for com.microsoft.Foo", "Slice: steps are not known"
};

struct LiftedModel {
  // The outputs of the main graph, then values whose names must be kept: values that bodies of nodes capture
  // and those of quantisation annotations. A document with training graphs, which are not indexed, keeps the
  // names of all values.
  ir::Graph graph;
  std::size_t output_count = 0;  // number of outputs of the main graph in graph.outputs
  // The names of graph.outputs; for a captured value the captured name.
  std::vector<std::string_view> output_names;
  // The inputs in the order of the document. From IR version 4 on they include inputs with a default;
  // earlier these are constants.
  std::vector<std::string_view> input_names;
  std::vector<ir::ValueId> inputs;                           // as many as input_names
  std::unordered_map<std::string_view, ir::ValueId> values;  // all named values of the main graph
  // The first document node that produces the value.
  std::unordered_map<ir::ValueId, Origin> origins;
  // The name of the first definition in the document.
  std::unordered_map<ir::ValueId, std::string_view> names;
  std::vector<OpaqueNode> opaque;  // in topological order
  // Results of opaque nodes, and values computed from them. Their sizes are only declared; the declaration
  // is not checked when the model runs.
  std::unordered_set<ir::ValueId> of_opaque;
  int opset = 0;  // of ONNX's own domain
  // Declared types of results of opaque nodes that contradict ONNX's shape inference: "value 'r' is declared
  // float32[1, 4, 8, 8], and is float32[1, 4, 16, 16] by shape inference". Contradictory sizes are unknown
  // in the IR.
  std::vector<std::string> contradictions;
};

struct LiftOptions {
  // Completes the types of results of opaque nodes by ONNX's shape inference, which also finds wrong
  // declarations.
  bool infer = false;
  // Names of dimensions that stand for different sizes. Each use in a declaration of an intermediate value
  // becomes a separate size.
  std::unordered_set<std::string> distrusted_dimensions = {};
  // Called before every node; true ends lifting with Error::limit. Null: never.
  std::function<bool()> stop = {};
};

// Lifts the main graph into `arena`. The document must outlive the result and the arena. No valid document
// is an error; unknown nodes become opaque. Errors: limit if LiftOptions::stop returns true.
Result<LiftedModel> lift(const Document& document, ir::Arena& arena, const LiftOptions& options = {});

// Returns true for a name of a dimension that carries no information: exporters write "?" and the like for
// unknown sizes, even several times for different sizes.
bool is_placeholder(std::string_view name);

// Returns the type of a declared value. -1, missing dimensions and placeholders ("?", names without a
// letter) become fresh symbols. Any other name becomes the dimension of that name.
ir::TensorType declared_tensor_type(ir::Symbols& symbols, const DeclaredType& declared, std::string_view value_name);

}  // namespace xflow::onnx_io
