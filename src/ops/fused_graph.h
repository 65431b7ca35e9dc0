// Scalar functions as small graphs of operators, written as text.
//
// The text is in postfix notation. Tokens are separated by ";":
//
//   x, b           the operands 0 and 1
//   0.5            a constant of the element type of x
//   $alpha         the ONNX attribute of this name as a constant of that type; -$alpha its negation
//   mul            an operator of the IR; elu~1, elu~$alpha: with its real attributes in order
//   gelu_erf       a fused function (fused_functions.def): expands to its graph
//   #k             the result of the preceding operator or function number k, counted from 0
//
// "x;x;sigmoid;mul" is x * sigmoid(x).
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::ops {

enum class Op : std::uint8_t;  // op.h, included only by files that name single operators

// Parts come after the parts that they read. The last part is the result.
struct FusedGraph {
  struct Operand {
    std::size_t number = 0;
  };
  // A number or the value of an ONNX attribute.
  struct Number {
    double value = 0;
    std::string attribute = {};  // empty for a number
    bool negated = false;        // negates the value of the attribute
  };
  struct Apply {
    ir::OperatorId op{};
    std::vector<Number> reals;          // the real attributes, rounded to float as in ONNX
    std::vector<std::size_t> operands;  // indices of parts
  };
  std::vector<std::variant<Operand, Number, Apply>> parts;
};

// Parses the text above. Error::unsupported: "'x;foo' is not a graph of a function: no operator or
// fused function 'foo'".
Result<FusedGraph> parse_fused_graph(std::string_view text);

// The number of operands of the graph: the largest operand number that it reads, plus 1.
std::size_t operand_count(const FusedGraph& graph);
// The graph's operators with one operand.
std::vector<Op> unary_operators(const FusedGraph& graph);

// The value of an ONNX attribute.
using AttributeValueOf = std::function<ir::Real(std::string_view name)>;

// Builds the graph in `arena` on these operands, which must have the same element type, and returns its
// result. Omits products with and quotients by an attribute that is 1. Errors: those of ops::apply.
Result<ir::ValueId> apply_fused_graph(ir::Arena& arena, const FusedGraph& graph, std::span<const ir::ValueId> operands,
                                      const AttributeValueOf& attribute = nullptr);

}  // namespace xflow::ops
