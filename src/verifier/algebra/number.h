// The numbers of concrete evaluation.
//
// A number is an exact rational as long as only rational operations made it; a transcendental function, or an irrational root, makes it
// an approximation of 64 bits of mantissa. Two sides differ if exact values differ, or if approximations differ by far more than
// rounding explains.
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
  struct Big;  // a rational whose parts do not fit 64 bits

  Number() = default;
  explicit Number(std::int64_t integer) : numerator_(integer) {}
  explicit Number(const ir::Rational& value) : numerator_(value.numerator()), denominator_(value.denominator()) {}
  explicit Number(std::shared_ptr<const Big> big) : big_(std::move(big)) {}
  static Number approximate(long double value);  // unknown where it is infinite: too large for these numbers
  // No number, but the largest, or the least, of no numbers. Maxima and minima leave it out; nothing else has a value for it.
  static Number negative_infinity();
  static Number positive_infinity();
  static Number undefined();
  static Number unknown();

  // The operation has no value for its operands: division by 0, the root of a negative number, an index out of range.
  bool is_undefined() const { return state_ == State::undefined; }
  // There may be a value, which these numbers do not hold.
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

// function(arguments) over the reals: undefined where the function is not (division by 0, the logarithm of a number that is not positive).
Number apply_function(ops::Function function, std::span<const Number> arguments);
// The two that loops are made of.
Number add(const Number& a, const Number& b);
Number multiply(const Number& a, const Number& b);
// A conversion as ONNX Cast does: integers wrap, floating numbers are rounded to even, and truncated to integers; undefined where the
// integer does not fit, unknown where the rounding of an approximation is.
Number convert(ir::DataType from, ir::DataType to, const Number& value);
Number from_literal(const ir::Real& value);  // not a variable

enum class Comparison : unsigned char { equal, different, unclear };  // unclear: one has no value, or rounding may explain it
Comparison compare(const Number& a, const Number& b);

}  // namespace xflow::verifier
