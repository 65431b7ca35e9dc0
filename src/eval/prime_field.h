// Arithmetic modulo a prime, for the fingerprints of the generator.
#pragma once

#include <cstdint>

#include "src/eval/arithmetic.h"
#include "src/eval/tensor.h"

namespace xflow::eval {

// The field of integers modulo a prime p, 2 < p < 2^31. Numbers are residues. kUndefinedResidue represents
// undefined values (1/0) and is propagated by every operation. There is no order, and no exp or sqrt.
class PrimeField {
 public:
  using Number = std::uint32_t;
  static constexpr bool kOrdered = false;
  static constexpr bool kCheap = true;

  explicit PrimeField(std::uint32_t prime) : prime_(prime) {}
  std::uint32_t prime() const { return prime_; }

  static bool supports(Function function);
  Number from_integer(std::int64_t value) const {
    const std::int64_t rest = value % static_cast<std::int64_t>(prime_);
    return static_cast<Number>(rest < 0 ? rest + prime_ : rest);
  }
  Number from_unsigned(std::uint64_t value) const { return static_cast<Number>(value % prime_); }
  // The exact value of a double m * 2^e; undefined for infinities and NaN.
  Number from_double(double value) const;
  double to_double(Number value) const { return value; }
  Number from_literal(const ir::Real& value) const;
  Number from_rational(const ir::Rational& value) const {
    return divide(from_integer(value.numerator()), from_integer(value.denominator()));
  }
  Number lowest() const { return kUndefinedResidue; }
  Number round(Number value, ir::DataType) const { return value; }
  std::int64_t to_integer(Number value) const { return value; }
  std::int64_t to_unsigned(Number value) const { return value; }
  bool nonzero(Number value) const { return value != 0; }
  bool is_nan(Number value) const { return value == kUndefinedResidue; }
  bool less(Number, Number) const { return false; }
  bool equal(Number a, Number b) const { return a == b && a != kUndefinedResidue; }

  Number add(Number a, Number b) const {
    if (a == kUndefinedResidue || b == kUndefinedResidue) return kUndefinedResidue;
    const std::uint32_t sum = a + b;
    return sum >= prime_ ? sum - prime_ : sum;
  }
  Number multiply(Number a, Number b) const {
    if (a == kUndefinedResidue || b == kUndefinedResidue) return kUndefinedResidue;
    return static_cast<Number>(static_cast<std::uint64_t>(a) * b % prime_);
  }
  Number negate(Number a) const { return a == 0 || a == kUndefinedResidue ? a : prime_ - a; }
  Number power(Number base, std::uint64_t exponent) const;
  // 1 / a = a^(p - 2) (Fermat); undefined for 0.
  Number inverse(Number a) const { return a == 0 || a == kUndefinedResidue ? kUndefinedResidue : power(a, prime_ - 2); }
  Number divide(Number a, Number b) const { return multiply(a, inverse(b)); }

  template <Function F>
  Number unary(Number a) const {
    if constexpr (F == Function::negate) return negate(a);
    if constexpr (F == Function::reciprocal) return inverse(a);
    return kUndefinedResidue;
  }
  template <Function F>
  Number binary(Number a, Number b) const {
    if constexpr (F == Function::add) return add(a, b);
    if constexpr (F == Function::subtract) return add(a, negate(b));
    if constexpr (F == Function::multiply) return multiply(a, b);
    if constexpr (F == Function::divide) return divide(a, b);
    return kUndefinedResidue;
  }

 private:
  std::uint32_t prime_;
};

}  // namespace xflow::eval
