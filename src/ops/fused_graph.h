// Functions of one element as small graphs of operators, written as text.
//
// The text is in postfix notation, tokens separated by ";":
//
//   x, b           the operands 0 and 1
//   0.5            a constant of the element type of x
//   $alpha         the ONNX attribute of that name as such a constant; -$alpha its negation
//   mul            an operator of the IR; elu~1, elu~$alpha: with its real attributes in order
//   gelu_erf       a fused function (fused_functions.def), which stands for its graph
//   #k             the result of the operator or function k, counted from 0, that stands before
//
// "x;x;sigmoid;mul" is x * sigmoid(x).
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::ops {

// Parts stand after what they read; the last one is the result.
struct FusedGraph {
  struct Operand {
    std::size_t number = 0;
  };
  // A number, or the value of an attribute.
  struct Number {
    double value = 0;
    std::string attribute = {};
    bool negated = false;  // of an attribute
  };
  struct Apply {
    ir::OperatorId op{};
    std::vector<Number> reals;          // attributes, rounded to float as ONNX has them
    std::vector<std::size_t> operands;  // parts
  };
  std::vector<std::variant<Operand, Number, Apply>> parts;
};

// Error::unsupported: "'x;foo' is no graph of a function: no operator or fused function 'foo'".
Result<FusedGraph> parse_fused_graph(std::string_view text);

// How many operands the graph has: the largest that it reads, and those before it.
std::size_t operand_count(const FusedGraph& graph);
// The names of its operators of one operand.
std::vector<std::string_view> unary_operators(const FusedGraph& graph);

// The value of an ONNX attribute.
using AttributeValueOf = std::function<ir::Real(std::string_view name)>;

// The result of the graph, made in `arena` of these operands, which all have one element type. Products with and
// quotients by an attribute that is 1 are left out. Errors: those of ops::apply.
Result<ir::ValueId> apply_fused_graph(ir::Arena& arena, const FusedGraph& graph, std::span<const ir::ValueId> operands,
                                      const AttributeValueOf& attribute = nullptr);

}  // namespace xflow::ops
