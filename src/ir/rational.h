// Exact rationals with 64-bit numerator and denominator, and Real: the value of a real-valued attribute or
// literal.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace xflow::ir {

// numerator / denominator in lowest terms, denominator >= 1. Arithmetic returns nothing if the numerator or
// the denominator of the result does not fit 64 bits.
class Rational {
 public:
  Rational() = default;
  Rational(std::int64_t integer) : numerator_(integer) {}  // NOLINT(google-explicit-constructor): integers are rationals
  // Nothing if the denominator is 0 or the reduced numerator or denominator does not fit 64 bits.
  static std::optional<Rational> make(std::int64_t numerator, std::int64_t denominator);
  // The exact value of a double; nothing if it is not finite or does not fit.
  static std::optional<Rational> from_double(double value);
  // The exact value of a literal: "3", "-7/6", "0.25", "1e-5". Nothing if it does not parse or fit.
  static std::optional<Rational> parse(std::string_view text);

  std::int64_t numerator() const { return numerator_; }
  std::int64_t denominator() const { return denominator_; }
  // Nearest double.
  double to_double() const { return static_cast<double>(static_cast<long double>(numerator_) / static_cast<long double>(denominator_)); }
  std::string to_string() const;  // "3", "-7/6"

  friend bool operator==(const Rational&, const Rational&) = default;

 private:
  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
};

std::optional<Rational> add(const Rational& a, const Rational& b);
std::optional<Rational> multiply(const Rational& a, const Rational& b);
std::optional<Rational> divide(const Rational& a, const Rational& b);  // nothing for b = 0

// A real number in an attribute or an expression. It is an exact rational, a double (one that does not fit a
// Rational, or infinity as in the bounds of clip), or a named variable of a rule.
class Real {
 public:
  Real() : value_(Rational(0)) {}
  Real(Rational value) : value_(value) {}                // NOLINT(google-explicit-constructor): rationals are reals
  Real(std::int64_t value) : value_(Rational(value)) {}  // NOLINT(google-explicit-constructor): integers are reals
  // The exact value of `value`, as a Rational if it fits, so that equal values compare equal.
  static Real from_double(double value);
  static Real variable(std::string name);

  bool is_variable() const { return std::holds_alternative<std::string>(value_); }
  const std::string& variable_name() const { return std::get<std::string>(value_); }  // requires is_variable()
  std::optional<Rational> rational() const;                                           // the value if it is a Rational
  double to_double() const;                                                           // nearest double; NaN for a variable
  bool is_zero() const { return *this == Real(0); }
  std::string to_string() const;  // "1/6", "-inf", "1.5e-40", "$name"

  // Whether `stored` is the value nearest to this number in a floating type with `mantissa_bits` bits of
  // precision (24 for float32, 53 for float64, 11 for float16, 8 for bfloat16). A model's constant matches a
  // rule's literal this way.
  bool nearest_in_type(double stored, int mantissa_bits) const;

  friend bool operator==(const Real&, const Real&) = default;
  std::size_t hash() const;

 private:
  std::variant<Rational, double, std::string> value_;
};

inline Real positive_infinity() { return Real::from_double(std::numeric_limits<double>::infinity()); }
inline Real negative_infinity() { return Real::from_double(-std::numeric_limits<double>::infinity()); }

}  // namespace xflow::ir
