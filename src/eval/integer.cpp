#include "src/eval/interpreter.h"

namespace xflow::eval {

namespace {

std::int64_t wrapping(std::uint64_t value) { return static_cast<std::int64_t>(value); }

// base^exponent modulo 2^64; negative exponents truncate towards zero.
std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  std::uint64_t result = 1;
  for (auto factor = static_cast<std::uint64_t>(base); exponent != 0; exponent /= 2, factor *= factor) {
    if (exponent % 2 != 0) result *= factor;
  }
  return wrapping(result);
}

std::int64_t unsigned_binary(Function function, std::uint64_t a, std::uint64_t b) {
  switch (function) {
    case Function::integer_divide:
    case Function::divide:
      return b == 0 ? 0 : wrapping(a / b);
    case Function::modulo:
    case Function::remainder:
      return b == 0 ? 0 : wrapping(a % b);
    case Function::minimum:
      return wrapping(std::min(a, b));
    case Function::maximum:
      return wrapping(std::max(a, b));
    default:
      return a < b ? 1 : 0;
  }
}

std::int64_t signed_remainder(Function function, std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t rest = a % b;
  const bool adjust = function == Function::modulo && rest != 0 && (rest < 0) != (b < 0);
  return adjust ? rest + b : rest;
}

}  // namespace

std::int64_t integer_unary(Function function, std::int64_t a) {
  switch (function) {
    case Function::negate:
      return wrapping(0 - static_cast<std::uint64_t>(a));
    case Function::abs:
      return a < 0 ? wrapping(0 - static_cast<std::uint64_t>(a)) : a;
    case Function::sign:
      return (a > 0) - (a < 0);
    case Function::logical_not:
      return a == 0 ? 1 : 0;
    case Function::is_nan:
      return 0;
    default:
      return a;  // floor, ceil, round_even
  }
}

std::int64_t integer_binary(Function function, std::int64_t a, std::int64_t b, ir::DataType type) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  switch (function) {
    case Function::add:
      return wrap(wrapping(x + y), type);
    case Function::subtract:
      return wrap(wrapping(x - y), type);
    case Function::multiply:
      return wrap(wrapping(x * y), type);
    case Function::power:
      return wrap(integer_power(a, b), type);
    case Function::logical_and:
      return (a != 0 && b != 0) ? 1 : 0;
    case Function::logical_or:
      return (a != 0 || b != 0) ? 1 : 0;
    case Function::logical_xor:
      return ((a != 0) != (b != 0)) ? 1 : 0;
    case Function::equal:
      return a == b ? 1 : 0;
    default:
      break;
  }
  if (type == ir::DataType::uint64) return unsigned_binary(function, x, y);
  switch (function) {
    case Function::divide:
    case Function::integer_divide:
      if (b == 0) return 0;
      return wrap(b == -1 ? wrapping(0 - x) : a / b, type);
    case Function::modulo:
    case Function::remainder:
      return signed_remainder(function, a, b);
    case Function::minimum:
      return std::min(a, b);
    case Function::maximum:
      return std::max(a, b);
    default:
      return a < b ? 1 : 0;
  }
}

}  // namespace xflow::eval
