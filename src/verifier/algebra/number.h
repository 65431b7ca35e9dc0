// Numbers of the concrete evaluation.
//
// A number is an exact rational as long as only rational operations produced it. A transcendental function
// or an irrational root produces an approximation with a 64-bit mantissa. Two sides differ if exact values
// differ, or if approximations differ by far more than rounding explains.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/ir/rational.h"
#include "src/ops/expr.h"

namespace xflow::verifier {

class Number {
 public:
  struct Big;  // a rational whose numerator or denominator does not fit 64 bits

  Number() = default;
  explicit Number(std::int64_t integer) : numerator_(integer) {}
  explicit Number(const ir::Rational& value) : numerator_(value.numerator()), denominator_(value.denominator()) {}
  explicit Number(std::shared_ptr<const Big> big) : big_(std::move(big)) {}
  static Number approximate(long double value);  // unknown if infinite: too large for a long double
  // The maximum or minimum of no numbers; not a number itself. Maxima and minima ignore it; no other
  // operation has a value for it.
  static Number negative_infinity();
  static Number positive_infinity();
  static Number undefined();
  static Number unknown();

  // The operation has no value for its operands: division by 0, the root of a negative number, an index out
  // of range.
  bool is_undefined() const { return state_ == State::undefined; }
  // A value may exist, but this type cannot represent it.
  bool is_unknown() const { return state_ == State::unknown; }
  bool is_infinite() const { return state_ == State::infinite; }
  bool has_value() const { return state_ == State::exact || state_ == State::approximate; }
  bool is_exact() const { return state_ == State::exact; }
  bool is_small() const { return is_exact() && !big_; }
  bool is_zero() const { return is_exact() ? !big_ && numerator_ == 0 : approximation_ == 0; }
  std::int64_t numerator() const { return numerator_; }      // of a small number
  std::int64_t denominator() const { return denominator_; }  // of a small number
  const std::shared_ptr<const Big>& big() const { return big_; }
  long double approximation() const;
  std::string to_string() const;

 private:
  enum class State : unsigned char { exact, approximate, infinite, undefined, unknown };
  State state_ = State::exact;
  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
  std::shared_ptr<const Big> big_;
  long double approximation_ = 0;
};

bool less(const Number& a, const Number& b);

// function(arguments) over the reals. Undefined where the function is: division by 0, the logarithm of a
// number that is not positive.
Number apply_function(ops::Function function, std::span<const Number> arguments);
// The operations of the inner loops.
Number add(const Number& a, const Number& b);
Number multiply(const Number& a, const Number& b);
// Converts like ONNX Cast: integers wrap, floating-point numbers are rounded to nearest even, and truncated
// when converted to an integer type. Undefined if the truncated number does not fit the integer type;
// unknown if the rounding of an approximation is ambiguous.
Number convert(ir::DataType from, ir::DataType to, const Number& value);
Number from_literal(const ir::Real& value);  // `value` must not be a variable

enum class Comparison : unsigned char { equal, different, unclear };  // unclear: no value, or rounding may explain the difference
Comparison compare(const Number& a, const Number& b);

}  // namespace xflow::verifier
