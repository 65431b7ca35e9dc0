// Infers types of results of nodes that xflow has no operator for: by ONNX's shape inference (onnx 1.22,
// onnx/shape_inference), one node at a time, or by a walk through the body that the node holds or calls.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/ops/integer_content.h"

namespace xflow::onnx_io {

// The inferred type of a tensor of known rank. Dimensions without a value are unknown.
struct InferredType {
  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::optional<ir::Poly>> dims;
};

// Returns true if an attribute of a node has the value that ONNX gives it by default: the node means the
// same without it.
bool is_default(const Document& document, const Node& node, const Attribute& attribute);

// Runs ONNX's shape inference on one node at a time, so that it starts from what xflow knows of the
// operands.
class NodeInference {
 public:
  // The arguments must outlive this object.
  NodeInference(const Document& document, ir::Arena& arena) : document_(document), arena_(arena), contents_(arena) {}

  // Returns the types of the outputs of a node of the main graph, in their order; nothing for an output of
  // unknown rank. `operands` are the values of the node's inputs, then those of its captures. A dimension of
  // an operand is known if it is a number under `sizes`; without `sizes` the dimensions of the results hold
  // for all sizes. Elements of operands are read if they are constants of at most ir::Constant::kSmall
  // elements or known integers.
  //
  // ONNX's inference functions read out of range on nodes that violate their schema. They are called only
  // for operators of ONNX's own domain and of ai.onnx.ml whose operands, attributes and axes were checked.
  // They are never called for a node with bodies or a call of a local function: BodyTypes infers those
  // types. A walk through bodies visits at most kMostNodes nodes, all walks together at most
  // kMostNodesInAll.
  std::vector<std::optional<InferredType>> infer(const Node& node, std::span<const ir::ValueId> operands,
                                                 const ir::Symbols::Valuation& sizes = nullptr);

  // The same for a node of any graph that has no bodies and calls no function. References to attributes of a
  // function must have been replaced.
  std::vector<std::optional<InferredType>> infer_operator(const Node& node, std::span<const ir::ValueId> operands,
                                                          const ir::Symbols::Valuation& sizes);
  // Returns true if ONNX defines an operator of this domain and name in the opset of the node.
  bool has_schema(const Node& node) const;

  static constexpr std::size_t kMostNodes = 1000;
  static constexpr std::size_t kMostNodesInAll = 100'000;

 private:
  const Document& document_;
  ir::Arena& arena_;
  ops::IntegerContent contents_;
  std::size_t visited_ = 0;  // visited nodes of bodies
};

}  // namespace xflow::onnx_io
