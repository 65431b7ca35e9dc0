#include "src/verifier/algebra/conversions.h"

#include <algorithm>

#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::DataType;
using ops::ExprKind;
using ops::Function;

namespace {

// The number of bits of the magnitude: 7 for int8, 8 for uint8.
int magnitude_bits(DataType type) { return ir::bits(type) - (ir::is_unsigned(type) ? 0 : 1); }

}  // namespace

bool keeps_values(DataType from, DataType to) {
  if (from == to && from != DataType::undefined) return true;
  if (from == DataType::boolean) return ir::is_integer(to) || ir::is_floating(to);
  if (broken(Fault::conversions_keep_values)) return true;
  if (ir::is_integer(from) && ir::is_integer(to)) {
    if (ir::is_unsigned(to) && !ir::is_unsigned(from) && !broken(Fault::conversions_ignore_signs)) return false;
    return magnitude_bits(from) <= magnitude_bits(to);
  }
  // The smallest number is minus a power of two, so its mantissa has one bit.
  if (ir::is_integer(from) && ir::is_floating(to))
    return magnitude_bits(from) <= ir::mantissa_bits(to) || broken(Fault::conversions_to_floating_keep_values);
  if (!ir::is_floating(from) || !ir::is_floating(to)) return false;
  // Neither of float16 and bfloat16 contains the other: float16 has more digits, bfloat16 has larger
  // numbers.
  return to == DataType::float64 || (to == DataType::float32 && from != DataType::float64);
}

bool is_value_of(const ir::Rational& number, DataType type) {
  if (type == DataType::boolean) return number == ir::Rational(0) || number == ir::Rational(1);
  if (ir::is_integer(type)) {
    const IntegerRange range = integer_range(type);
    return number.denominator() == 1 && number.numerator() >= range.low && number.numerator() <= range.high;
  }
  if (!ir::is_floating(type)) return false;
  // Accepts integers and small binary fractions, far from the smallest and the largest number of any type.
  const std::int64_t most = std::int64_t{1} << std::min(ir::mantissa_bits(type), 15);
  const std::int64_t d = number.denominator();
  return (d & (d - 1)) == 0 && d <= 256 && number.numerator() >= -most && number.numerator() <= most;
}

IntegerRange integer_range(DataType type) {
  const int magnitude = std::min(magnitude_bits(type), 63);
  const auto high = static_cast<std::int64_t>((std::uint64_t{1} << magnitude) - 1);
  return {ir::is_unsigned(type) ? 0 : -high - 1, high};
}

DataType element_type(const ir::Arena& arena, const ir::Node& node, const ops::ExprNode& e) {
  switch (e.kind) {
    case ExprKind::read:
      return arena.type(node.operands[static_cast<std::size_t>(e.operand)]).data_type;
    case ExprKind::cast:
      return e.data_type;
    case ExprKind::integer:
      return DataType::int64;
    case ExprKind::select:
    case ExprKind::sum:
    case ExprKind::maximum:
      return element_type(arena, node, *e.arguments[0]);
    case ExprKind::apply:
      switch (e.function) {
        case Function::logical_and:
        case Function::logical_or:
        case Function::logical_xor:
        case Function::logical_not:
        case Function::less:
        case Function::equal:
        case Function::is_nan:
          return DataType::boolean;
        case Function::choose:
          return element_type(arena, node, *e.arguments[1]);
        default:
          return element_type(arena, node, *e.arguments[0]);
      }
    case ExprKind::literal:
      break;
  }
  return DataType::undefined;
}

}  // namespace xflow::verifier
