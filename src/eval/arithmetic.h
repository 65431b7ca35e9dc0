// Arithmetics: the number types that the interpreter runs over. Private to src/eval.
//
// An arithmetic A has a type A::Number and states which functions it has (`supports`, `kOrdered`). The
// interpreter checks this before it starts.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "src/ir/constant.h"
#include "src/ir/narrow.h"
#include "src/ir/rational.h"
#include "src/ir/type.h"
#include "src/ops/expr.h"

namespace xflow::eval {

using ops::Function;

// Converts a double to an integer by truncation. NaN and values out of range give the smallest integer, as
// on x86.
inline std::int64_t truncate(double value) {
  if (!(value > -9.3e18 && value < 9.3e18)) return std::numeric_limits<std::int64_t>::min();
  const double whole = std::trunc(value);
  if (whole >= 0x1p63 || whole < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(whole);
}

// Wraps an integer to the range of an integer type. uint64 keeps its bits; a boolean is value != 0.
inline std::int64_t wrap(std::int64_t value, ir::DataType type) {
  switch (type) {
    case ir::DataType::int8:
      return static_cast<std::int8_t>(value);
    case ir::DataType::uint8:
      return static_cast<std::uint8_t>(value);
    case ir::DataType::int16:
      return static_cast<std::int16_t>(value);
    case ir::DataType::uint16:
      return static_cast<std::uint16_t>(value);
    case ir::DataType::int32:
      return static_cast<std::int32_t>(value);
    case ir::DataType::uint32:
      return static_cast<std::uint32_t>(value);
    case ir::DataType::boolean:
      return value != 0 ? 1 : 0;
    default:
      return ir::is_narrow_integer(type) ? ir::wrap_narrow(type, value) : value;
  }
}

// Converts a double to an integer or boolean, or to the bits of a narrow floating type.
inline std::int64_t narrowed(double value, ir::DataType type) {
  if (ir::is_narrow_floating(type)) return ir::double_to_narrow(type, value);
  return type == ir::DataType::boolean ? (value != 0 ? 1 : 0) : wrap(truncate(value), type);
}

// Rounds to the nearest value of a floating type, widened to double.
inline double round_to(double value, ir::DataType type) {
  switch (type) {
    case ir::DataType::float32:
      return static_cast<double>(static_cast<float>(value));
    case ir::DataType::float16:
      return ir::half_to_float(ir::float_to_half(static_cast<float>(value)));
    case ir::DataType::bfloat16:
      return ir::bfloat16_to_float(ir::float_to_bfloat16(static_cast<float>(value)));
    default:
      return value;
  }
}

// IEEE 754 binary64 or binary32: every operation rounds to T. minimum and maximum propagate NaN.
template <typename T>
class FloatingArithmetic {
 public:
  using Number = T;
  static constexpr bool kOrdered = true;
  static constexpr bool kCheap = true;  // copying and computing an element is nearly free

  static bool supports(Function) { return true; }
  T from_integer(std::int64_t value) const { return static_cast<T>(value); }
  T from_unsigned(std::uint64_t value) const { return static_cast<T>(value); }
  T from_double(double value) const { return static_cast<T>(value); }
  double to_double(T value) const { return static_cast<double>(value); }
  T from_literal(const ir::Real& value) const { return static_cast<T>(value.to_double()); }
  T from_rational(const ir::Rational& value) const { return static_cast<T>(value.to_double()); }
  T lowest() const { return -std::numeric_limits<T>::infinity(); }
  T round(T value, ir::DataType type) const { return static_cast<T>(round_to(static_cast<double>(value), type)); }
  std::int64_t to_integer(T value) const { return truncate(static_cast<double>(value)); }
  // Converts to uint64, returned as its bits.
  std::int64_t to_unsigned(T value) const {
    if (value >= T(0x1p63) && value < T(0x1p64)) return static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
    return truncate(static_cast<double>(value));
  }
  bool nonzero(T value) const { return value != T(0); }
  bool is_nan(T value) const { return std::isnan(value); }
  bool less(T a, T b) const { return a < b; }
  bool equal(T a, T b) const { return a == b; }

  template <Function F>
  T unary(T a) const {
    if constexpr (F == Function::negate) return -a;
    if constexpr (F == Function::reciprocal) return T(1) / a;
    if constexpr (F == Function::exp) return std::exp(a);
    if constexpr (F == Function::log) return std::log(a);
    if constexpr (F == Function::sqrt) return std::sqrt(a);
    if constexpr (F == Function::sin) return std::sin(a);
    if constexpr (F == Function::cos) return std::cos(a);
    if constexpr (F == Function::tanh) return std::tanh(a);
    if constexpr (F == Function::erf) return std::erf(a);
    if constexpr (F == Function::abs) return std::fabs(a);
    if constexpr (F == Function::sign) return std::isnan(a) ? a : T((a > T(0)) - (a < T(0)));
    if constexpr (F == Function::floor) return std::floor(a);
    if constexpr (F == Function::ceil) return std::ceil(a);
    if constexpr (F == Function::round_even) return std::nearbyint(a);
  }

  template <Function F>
  T binary(T a, T b) const {
    if constexpr (F == Function::add) return a + b;
    if constexpr (F == Function::subtract) return a - b;
    if constexpr (F == Function::multiply) return a * b;
    if constexpr (F == Function::divide) return a / b;
    if constexpr (F == Function::integer_divide) return std::trunc(a / b);
    if constexpr (F == Function::modulo) {
      const T rest = std::fmod(a, b);
      return rest != T(0) && (rest < T(0)) != (b < T(0)) ? rest + b : rest;
    }
    if constexpr (F == Function::remainder) return std::fmod(a, b);
    if constexpr (F == Function::power) return std::pow(a, b);
    if constexpr (F == Function::minimum) return a < b || std::isnan(a) ? a : b;
    if constexpr (F == Function::maximum) return a > b || std::isnan(a) ? a : b;
  }
};

}  // namespace xflow::eval
