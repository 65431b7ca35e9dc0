// The reference interpreter: it computes graphs of the IR from the index notation of their operators.
//
// Assumptions: the reads of an operator's semantics are in range (checked: Error::internal), and integer
// tensors do not overflow 64 bits before they wrap to their type. Sums are added in an unspecified order,
// which is the same in every run.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/eval/tensor.h"
#include "src/ir/graph.h"
#include "src/ops/expr.h"

namespace xflow::eval {

// The number type in which floating tensors are computed. Integers and booleans are computed in 64 bits and
// wrap to their type.
enum class Number : std::uint8_t {
  float64,   // the reference: every floating type in double, rounded at casts of the graph only
  float32,   // every operation rounds to float, sums are accumulated in float; float64 tensors in double; results of narrower types are
             // rounded to their type
  rational,  // exact; functions without rational values are not supported unless Options::uninterpreted
  prime,     // modulo Options::prime; +, -, *, /, = only
};

// Options of an evaluation.
struct Options {
  Number number = Number::float64;
  std::uint32_t prime = 2147483647;  // below 2^31
  // Over rationals: exp, log, ... are fixed functions with pseudo-random values. What holds for every
  // function holds for them.
  bool uninterpreted = false;
  // Values of dimensions and parameters in addition to those that the shapes of inputs determine.
  std::unordered_map<ir::SymbolId, std::int64_t> symbols;
  // Values of real variables of a rule.
  std::unordered_map<std::string, ir::Rational> reals;
  // The name of an opaque node in messages: "If at NAME". Without it: "an unknown operator".
  std::function<std::string(const ir::Node&)> name_of;
  // Called before every operation and within long ones; true ends the evaluation with Error::limit.
  std::function<bool()> stop;
  // The limit for one tensor. A larger tensor causes Error::limit before any of it is computed.
  std::uint64_t most_elements = std::uint64_t{1} << 34;
  // Called before an operation that needs 1 MiB or more for its result and copies of its operands.
  // Error::limit if it needs more than the returned number of bytes. Null: no bound.
  std::function<std::uint64_t()> bytes_left;
};

// Tensors by value: graph inputs, or any other value, whose operands are then not computed.
using Bindings = std::unordered_map<ir::ValueId, Tensor>;

// The outputs of `graph`. Nodes are computed in topological order, tensors are freed after their last use,
// and constants are read when needed. Named dimensions get their sizes from the shapes of bound values.
// Errors:
// - ill_typed for a shape that contradicts its type.
// - unsupported "cannot execute: If at NAME" for an opaque node, and for an unknown size or input or a
//   function that the number type lacks.
// - limit for a tensor of more than Options::most_elements, and by Options::stop and Options::bytes_left.
Result<std::vector<Tensor>> evaluate(ir::Arena& arena, const ir::Graph& graph, const Bindings& inputs, const Options& options = {});

// The value of a constant expression, computed in double and rounded once to the value's type. Pointwise
// operations and data movements are fused into one pass without intermediate tensors. Of `options`, only
// stop, most_elements and bytes_left are used.
Result<ir::Constant> fold(ir::Arena& arena, ir::ValueId value, const Options& options = {});

// Evaluates an expression to a tensor of type `type` and size `dims`. The expression is the element at
// `index`, which has one symbol for each dimension. It refers to operands by number.
Result<Tensor> evaluate(ir::Symbols& symbols, const ops::Expr& expression, const std::vector<ir::Poly>& index, ir::DataType type,
                        const std::vector<std::int64_t>& dims, const std::vector<const Tensor*>& operands, const Options& options = {});

// Adds the sizes of the dimensions in `type` to `sizes`. Error::ill_typed if `dims` contradicts the type.
Result<void> bind_shape(const ir::Symbols& symbols, const ir::TensorType& type, const std::vector<std::int64_t>& dims,
                        std::unordered_map<ir::SymbolId, std::int64_t>& sizes);

}  // namespace xflow::eval
