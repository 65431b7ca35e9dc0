// Types of results of nodes that xflow has no operator for, by ONNX's own shape inference (onnx 1.22, onnx/shape_inference).
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
  std::vector<std::optional<std::int64_t>> dims;
};

// Asks ONNX about one node at a time, so that what xflow knows of its operands is the basis.
class NodeInference {
 public:
  // The arguments must outlive this.
  NodeInference(const Document& document, ir::Arena& arena) : document_(document), arena_(arena), contents_(arena) {}

  // The types of the outputs of a node of the main graph, in their order; nothing where ONNX does not know the rank. `operands` are the
  // values of the node's inputs. A dimension of an operand is known where `sizes` makes it a number: without one a number in the result
  // holds for all sizes. Elements of operands are read where they are constants of at most ir::Constant::kSmall elements or known integers.
  //
  // Nothing is inferred of an operator of another domain than ONNX's own, a node with bodies, a call of a local function, or a node that is
  // not as ONNX's schema says (operands, attributes, axes within the rank): ONNX's functions read out of range there.
  std::vector<std::optional<InferredType>> infer(const Node& node, std::span<const ir::ValueId> operands,
                                                 const ir::Symbols::Valuation& sizes = nullptr);

 private:
  const Document& document_;
  ir::Arena& arena_;
  ops::IntegerContent contents_;
};

}  // namespace xflow::onnx_io
