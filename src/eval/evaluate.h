// The reference: computes graphs of the IR from the index notation of their operators.
//
// What it assumes: reads by an operator's semantics are in range (checked: Error::internal), and integer tensors do not overflow 64 bits
// before they wrap to their type. Sums are added in an order of our choice, which is the same in every run.
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

// The numbers that floating tensors are computed in. Integers and booleans are computed in 64 bits and wrap to their type.
enum class Number : std::uint8_t {
  float64,   // the reference: every floating type in double, rounded where the graph casts only
  float32,   // every operation rounds to float, sums are accumulated in float; float64 tensors in double; results of narrower types are
             // rounded to their type
  rational,  // exact; functions without rational values are not supported unless Options::uninterpreted
  prime,     // modulo Options::prime; +, -, *, /, = only
};

struct Options {
  Number number = Number::float64;
  std::uint32_t prime = 2147483647;  // below 2^31
  // Over rationals: exp, log, ... are fixed functions with drawn values, so that what holds for any function holds for them.
  bool uninterpreted = false;
  // Values of dimensions and parameters beside those that the shapes of inputs give.
  std::unordered_map<ir::SymbolId, std::int64_t> symbols;
  // Values of real variables of a rule.
  std::unordered_map<std::string, ir::Rational> reals;
  // What an opaque node is called in messages: "If at NAME". Without it: "an unknown operator".
  std::function<std::string(const ir::Node&)> name_of;
  // Asked before every operation, and within long ones; true ends the evaluation with Error::limit.
  std::function<bool()> stop;
  // Of one tensor; a larger one is Error::limit before anything is computed of it.
  std::uint64_t most_elements = std::uint64_t{1} << 34;
  // Asked before a tensor of 1 MiB and more is made: one that takes more is Error::limit. Null: no bound.
  std::function<std::uint64_t()> bytes_left;
};

// Tensors by the value that they are. Graph inputs, or any other value: then what computes it is not asked for.
using Bindings = std::unordered_map<ir::ValueId, Tensor>;

// The outputs of `graph`. Nodes are computed in topological order, tensors are freed after their last use, constants are read when needed.
// Named dimensions get their sizes from the shapes of bound values; a shape that contradicts its type is Error::ill_typed.
// Errors: unsupported "cannot execute: If at NAME" for an opaque node, or for a size or an input that is not known, or a function that the
// numbers lack; limit for a tensor of more than Options::most_elements.
Result<std::vector<Tensor>> evaluate(ir::Arena& arena, const ir::Graph& graph, const Bindings& inputs, const Options& options = {});

// The value of a constant expression: computed in double, rounded once to the value's type. Operations on single elements and movements of
// data are computed in one pass from their operands, without tensors in between. Of `options` stop, most_elements and
// bytes_left count.
Result<ir::Constant> fold(ir::Arena& arena, ir::ValueId value, const Options& options = {});

// One expression, the element at `index` (a symbol each) of a tensor of type `type` and size `dims`; operands by number.
Result<Tensor> evaluate(ir::Symbols& symbols, const ops::Expr& expression, const std::vector<ir::Poly>& index, ir::DataType type,
                        const std::vector<std::int64_t>& dims, const std::vector<const Tensor*>& operands, const Options& options = {});

// Adds the sizes of the dimensions that `type` names to `sizes`. Error::ill_typed if `dims` contradicts it.
Result<void> bind_shape(const ir::Symbols& symbols, const ir::TensorType& type, const std::vector<std::int64_t>& dims,
                        std::unordered_map<ir::SymbolId, std::int64_t>& sizes);

}  // namespace xflow::eval
