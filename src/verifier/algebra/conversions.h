// Conversions between element types, and which of them preserve every value.
//
// A conversion that can lose a value (int64 to int8, int64 to float32, float32 to float16, float32 to int64)
// is an uninterpreted function in a proof: equal operands give equal results, and nothing else is known.
// Arithmetic on integers is assumed not to overflow; conversions are not arithmetic.
#pragma once

#include <cstdint>

#include "src/ir/graph.h"
#include "src/ir/rational.h"
#include "src/ops/expr.h"

namespace xflow::verifier {

// True if every value of the type `from` is a value of the type `to`.
bool keeps_values(ir::DataType from, ir::DataType to);

// True if the number is a value of the type.
bool is_value_of(const ir::Rational& number, ir::DataType type);

// The smallest and the largest value of an integer type. For uint64 `high` is 2^63 - 1, because the largest
// value does not fit int64.
struct IntegerRange {
  std::int64_t low;
  std::int64_t high;
};
IntegerRange integer_range(ir::DataType type);

// The element type of an expression in the node's semantics; undefined if unknown.
ir::DataType element_type(const ir::Arena& arena, const ir::Node& node, const ops::ExprNode& e);

}  // namespace xflow::verifier
