// Types of results of nodes that xflow has no operator for: by ONNX's own shape inference (onnx 1.22, onnx/shape_inference), one node at a
// time, or by a walk through the body that the node holds or calls.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/ops/integer_content.h"

namespace xflow::onnx_io {

// The type of a tensor of known rank as far as it was inferred; dimensions without a value are not known.
struct InferredType {
  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::optional<ir::Poly>> dims;
};

// Asks ONNX about one node at a time, so that what xflow knows of its operands is the basis.
class NodeInference {
 public:
  // The arguments must outlive this.
  NodeInference(const Document& document, ir::Arena& arena) : document_(document), arena_(arena), contents_(arena) {}

  // The types of the outputs of a node of the main graph, in their order; nothing where the rank is not known. `operands` are the values
  // of the node's inputs, then of its captures. A dimension of an operand is known where `sizes` makes it a number: without one a dimension
  // of the result holds for all sizes. Elements of operands are read where they are constants of at most ir::Constant::kSmall elements or
  // known integers.
  //
  // ONNX's functions read out of range on nodes that are not as the schema says. They are asked about operators of ONNX's own domain and of
  // ai.onnx.ml whose operands, attributes and axes are checked before, never about a node with bodies or a call of a local function: these
  // are typed by BodyTypes. A walk through bodies visits at most kMostNodes nodes, all walks together kMostNodesInAll.
  std::vector<std::optional<InferredType>> infer(const Node& node, std::span<const ir::ValueId> operands,
                                                 const ir::Symbols::Valuation& sizes = nullptr);

  // The same of a node of any graph that has no bodies and calls nothing; attributes that refer to others are replaced before.
  std::vector<std::optional<InferredType>> infer_operator(const Node& node, std::span<const ir::ValueId> operands,
                                                          const ir::Symbols::Valuation& sizes);
  // Whether ONNX has an operator of this domain and name in the opset of the node.
  bool has_schema(const Node& node) const;

  static constexpr std::size_t kMostNodes = 1000;
  static constexpr std::size_t kMostNodesInAll = 100'000;

 private:
  const Document& document_;
  ir::Arena& arena_;
  ops::IntegerContent contents_;
  std::size_t visited_ = 0;  // nodes of bodies
};

}  // namespace xflow::onnx_io
