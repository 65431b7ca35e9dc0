// Conversions between element types: which of them keep every value.
//
// A conversion that can lose a value (int64 to int8, int64 to float32, float32 to float16, float32 to int64) is a function of its own in a
// proof, of which nothing is known but that equal operands give equal results. Arithmetic on integers is assumed not to overflow;
// conversions are not arithmetic.
#pragma once

#include <cstdint>

#include "src/ir/graph.h"
#include "src/ir/rational.h"
#include "src/ops/expr.h"

namespace xflow::verifier {

// Every value of the type `from` is one of the type `to`.
bool keeps_values(ir::DataType from, ir::DataType to);

// The number is a value of the type.
bool is_value_of(const ir::Rational& number, ir::DataType type);

// The smallest and the largest value of an integer type; the largest of uint64 is beyond 64 bits with sign and not reached.
struct IntegerRange {
  std::int64_t low;
  std::int64_t high;
};
IntegerRange integer_range(ir::DataType type);

// The element type of an expression of the node's semantics where it is known, undefined otherwise.
ir::DataType element_type(const ir::Arena& arena, const ir::Node& node, const ops::ExprNode& e);

}  // namespace xflow::verifier
