// Exact rationals with two infinities and an undefined value. Private to src/eval: the only header that
// includes the number library.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "src/eval/arithmetic.h"

namespace xflow::eval {

// A rational, an infinity (bounds of clip, padding of maxima), or undefined (0/0, 1/0, infinity - infinity).
// Every operation propagates undefined.
class Exact {
 public:
  enum class Kind : std::uint8_t { finite, positive_infinity, negative_infinity, undefined };
  using Value = boost::multiprecision::cpp_rational;

  Exact() = default;
  explicit Exact(Value value) : value_(std::move(value)) {}
  explicit Exact(Kind kind) : kind_(kind) {}
  static Exact undefined() { return Exact(Kind::undefined); }
  static Exact infinity(bool negative) { return Exact(negative ? Kind::negative_infinity : Kind::positive_infinity); }

  Kind kind() const { return kind_; }
  bool is_finite() const { return kind_ == Kind::finite; }
  bool is_undefined() const { return kind_ == Kind::undefined; }
  const Value& value() const { return value_; }
  int sign() const;  // of a defined number: -1, 0 or 1
  double to_double() const;
  std::string to_string() const;
  // False if either is undefined.
  friend bool operator==(const Exact& a, const Exact& b) { return !a.is_undefined() && a.kind_ == b.kind_ && a.value_ == b.value_; }

 private:
  Value value_;
  Kind kind_ = Kind::finite;
};

class RationalElements {
 public:
  std::vector<Exact> values;
};

// The exact value of a double; NaN becomes undefined.
Exact exact(double value);

// Exact rational arithmetic. Functions with irrational values are not supported unless `uninterpreted`. In
// that case each of them is a fixed function from rationals to rationals whose values come from a hash of
// its name and argument. exp and sqrt are positive, and exp(0) = 1 and similar identities hold. So what
// holds for every function holds for it.
class RationalArithmetic {
 public:
  using Number = Exact;
  static constexpr bool kOrdered = true;
  static constexpr bool kCheap = false;

  explicit RationalArithmetic(bool uninterpreted) : uninterpreted_(uninterpreted) {}

  bool supports(Function function) const;
  Exact from_integer(std::int64_t value) const { return Exact(Exact::Value(value)); }
  Exact from_unsigned(std::uint64_t value) const { return Exact(Exact::Value(value)); }
  Exact from_double(double value) const { return exact(value); }
  double to_double(const Exact& value) const { return value.to_double(); }
  Exact from_literal(const ir::Real& value) const;
  Exact from_rational(const ir::Rational& value) const { return Exact(Exact::Value(value.numerator(), value.denominator())); }
  Exact lowest() const { return Exact::infinity(true); }
  Exact round(const Exact& value, ir::DataType) const { return value; }
  std::int64_t to_integer(const Exact& value) const;
  std::int64_t to_unsigned(const Exact& value) const { return to_integer(value); }
  bool nonzero(const Exact& value) const { return value.is_undefined() || value.sign() != 0; }
  bool is_nan(const Exact& value) const { return value.is_undefined(); }
  bool less(const Exact& a, const Exact& b) const;
  bool equal(const Exact& a, const Exact& b) const { return a == b; }

  template <Function F>
  Exact unary(const Exact& a) const {
    return unary(F, a);
  }
  template <Function F>
  Exact binary(const Exact& a, const Exact& b) const {
    return binary(F, a, b);
  }

 private:
  Exact unary(Function function, const Exact& a) const;
  Exact binary(Function function, const Exact& a, const Exact& b) const;
  Exact power(const Exact& base, const Exact& exponent) const;

  bool uninterpreted_;
};

}  // namespace xflow::eval
