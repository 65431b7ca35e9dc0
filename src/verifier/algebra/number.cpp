#include "src/verifier/algebra/number.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <optional>

#include "src/ir/narrow.h"
#include "src/verifier/algebra/conversions.h"

namespace xflow::verifier {

using ops::Function;
using Exact = boost::multiprecision::cpp_rational;
using Integer = boost::multiprecision::cpp_int;

struct Number::Big {
  Exact value;
};

Number Number::approximate(long double value) {
  Number n;
  n.state_ = std::isfinite(value) ? State::approximate : State::unknown;
  n.approximation_ = value;
  return n;
}

Number Number::negative_infinity() {
  Number n;
  n.state_ = State::infinite;
  n.approximation_ = -std::numeric_limits<long double>::infinity();
  return n;
}

Number Number::positive_infinity() {
  Number n = negative_infinity();
  n.approximation_ = -n.approximation_;
  return n;
}

Number Number::undefined() {
  Number n;
  n.state_ = State::undefined;
  return n;
}

Number Number::unknown() {
  Number n;
  n.state_ = State::unknown;
  return n;
}

long double Number::approximation() const {
  if (!is_exact()) return approximation_;
  if (big_) return big_->value.convert_to<long double>();
  return static_cast<long double>(numerator_) / static_cast<long double>(denominator_);
}

std::string Number::to_string() const {
  if (is_undefined()) return "undefined";
  if (is_unknown()) return "unknown";
  if (!is_exact()) return std::to_string(static_cast<double>(approximation_));
  if (big_) return big_->value.str();
  return denominator_ == 1 ? std::to_string(numerator_) : std::to_string(numerator_) + "/" + std::to_string(denominator_);
}

namespace {

Exact exact(const Number& n) { return n.big() ? n.big()->value : Exact(Integer(n.numerator()), Integer(n.denominator())); }

// Larger numbers become unknown: repeated squaring would fill the memory.
constexpr std::size_t kMaxBits = 1U << 14U;

Number number(const Exact& value) {
  const Integer n = boost::multiprecision::numerator(value);
  const Integer d = boost::multiprecision::denominator(value);
  const auto too_long = [](const Integer& i) { return i != 0 && boost::multiprecision::msb(boost::multiprecision::abs(i)) > kMaxBits; };
  if (too_long(n) || too_long(d)) return Number::unknown();
  if (n >= INT64_MIN && n <= INT64_MAX && d <= INT64_MAX) {
    if (const auto small = ir::Rational::make(n.convert_to<std::int64_t>(), d.convert_to<std::int64_t>())) return Number(*small);
  }
  return Number(std::make_shared<const Number::Big>(Number::Big{value}));
}

ir::Rational small(const Number& n) { return *ir::Rational::make(n.numerator(), n.denominator()); }

Integer floor_of(const Exact& r) {
  const Integer n = boost::multiprecision::numerator(r);
  const Integer d = boost::multiprecision::denominator(r);
  Integer q = n / d;
  if (n % d != 0 && n < 0) q -= 1;
  return q;
}

Integer truncated(const Exact& r) { return boost::multiprecision::numerator(r) / boost::multiprecision::denominator(r); }

Number boolean(bool value) { return Number(std::int64_t{value ? 1 : 0}); }

// True if an approximation is so close to 0 that it may be 0 or have either sign.
bool may_be_zero(const Number& a) { return !a.is_exact() && std::fabs(a.approximation()) < 1e-12L; }

Number divide(const Number& a, const Number& b) {
  if (may_be_zero(b)) return Number::unknown();
  if (b.is_zero()) return Number::undefined();
  if (a.is_exact() && b.is_exact()) return number(Exact(exact(a) / exact(b)));
  return Number::approximate(a.approximation() / b.approximation());
}

Number negate(const Number& a) {
  if (!a.is_exact()) return Number::approximate(-a.approximation());
  return number(Exact(-exact(a)));
}

Number real_function(long double (*f)(long double), const Number& a) { return Number::approximate(f(a.approximation())); }

Number square_root(const Number& a) {
  if (may_be_zero(a)) return Number::unknown();
  if (less(a, Number())) return Number::undefined();
  if (a.is_exact()) {
    const Integer n = boost::multiprecision::numerator(exact(a));
    const Integer d = boost::multiprecision::denominator(exact(a));
    const Integer rn = boost::multiprecision::sqrt(n);
    const Integer rd = boost::multiprecision::sqrt(d);
    if (rn * rn == n && rd * rd == d) return number(Exact(rn, rd));
  }
  return real_function(&std::sqrt, a);
}

Number power(const Number& a, const Number& b) {
  if (b.is_small() && b.denominator() == 1 && b.numerator() >= -64 && b.numerator() <= 64) {
    const std::int64_t n = b.numerator();
    if (n < 0 && may_be_zero(a)) return Number::unknown();
    if (n < 0 && a.is_zero()) return Number::undefined();
    if (!a.is_exact()) return Number::approximate(std::pow(a.approximation(), static_cast<long double>(n)));
    Number result(1);
    for (std::int64_t k = 0; k < std::abs(n); ++k) result = multiply(result, a);
    return n < 0 ? divide(Number(1), result) : result;
  }
  if (b.is_small() && b.numerator() == 1 && b.denominator() == 2) return square_root(a);
  if (may_be_zero(a)) return Number::unknown();
  if (less(a, Number()) || (a.is_zero() && less(b, Number()))) return Number::undefined();
  return Number::approximate(std::pow(a.approximation(), b.approximation()));
}

Number remainder(const Number& a, const Number& b, bool sign_of_divisor) {
  if (b.is_exact() && b.is_zero()) return Number::undefined();
  if (!a.is_exact() || !b.is_exact()) return Number::unknown();
  const Exact q = exact(a) / exact(b);
  const Integer n = sign_of_divisor ? floor_of(q) : truncated(q);
  return number(Exact(exact(a) - exact(b) * Exact(n)));
}

Number round_even(const Number& a) {
  if (!a.is_exact()) return Number::unknown();
  const Integer low = floor_of(exact(a));
  const Exact rest = exact(a) - Exact(low);
  const bool up = rest > Exact(1, 2) || (rest == Exact(1, 2) && low % 2 != 0);
  return number(Exact(up ? Integer(low + 1) : low));
}

}  // namespace

bool less(const Number& a, const Number& b) {
  if (a.is_small() && b.is_small() && a.denominator() == b.denominator()) return a.numerator() < b.numerator();
  if (a.is_exact() && b.is_exact()) return exact(a) < exact(b);
  return a.approximation() < b.approximation();
}

namespace {

// The result of an operation on two numbers, one of which has no value.
Number without_value(const Number& a, const Number& b) {
  const auto has_none = [](const Number& n) { return n.is_undefined() || n.is_infinite(); };
  return has_none(a) || has_none(b) ? Number::undefined() : Number::unknown();
}

}  // namespace

Number add(const Number& a, const Number& b) {
  if (!a.has_value() || !b.has_value()) return without_value(a, b);
  if (a.is_small() && b.is_small()) {
    std::int64_t whole = 0;
    const bool integers = a.denominator() == 1 && b.denominator() == 1;
    if (integers && !__builtin_add_overflow(a.numerator(), b.numerator(), &whole)) return Number(whole);
    if (const auto sum = ir::add(small(a), small(b))) return Number(*sum);
  }
  if (a.is_exact() && b.is_exact()) return number(Exact(exact(a) + exact(b)));
  return Number::approximate(a.approximation() + b.approximation());
}

Number multiply(const Number& a, const Number& b) {
  if (!a.has_value() || !b.has_value()) return without_value(a, b);
  if (a.is_small() && b.is_small()) {
    std::int64_t whole = 0;
    const bool integers = a.denominator() == 1 && b.denominator() == 1;
    if (integers && !__builtin_mul_overflow(a.numerator(), b.numerator(), &whole)) return Number(whole);
    if (const auto product = ir::multiply(small(a), small(b))) return Number(*product);
  }
  if (a.is_exact() && b.is_exact()) return number(Exact(exact(a) * exact(b)));
  // 0 times any number is exactly 0.
  if ((a.is_exact() && a.is_zero()) || (b.is_exact() && b.is_zero())) return Number();
  return Number::approximate(a.approximation() * b.approximation());
}

Number apply_function(Function function, std::span<const Number> arguments) {
  for (const Number& n : arguments)
    if (n.is_undefined()) return Number::undefined();
  for (const Number& n : arguments)
    if (n.is_unknown()) return Number::unknown();
  const bool passes_infinities = function == Function::maximum || function == Function::minimum || function == Function::choose;
  if (!passes_infinities && std::any_of(arguments.begin(), arguments.end(), [](const Number& n) { return n.is_infinite(); }))
    return Number::undefined();
  const Number& a = arguments[0];
  const Number& b = arguments.size() > 1 ? arguments[1] : a;
  switch (function) {
    case Function::negate:
      return negate(a);
    case Function::reciprocal:
      return divide(Number(1), a);
    case Function::exp:
      return a.is_exact() && a.is_zero() ? Number(1) : real_function(&std::exp, a);
    case Function::log:
      if (may_be_zero(a)) return Number::unknown();
      return less(Number(), a) ? real_function(&std::log, a) : Number::undefined();
    case Function::sqrt:
      return square_root(a);
    case Function::sin:
      return a.is_exact() && a.is_zero() ? a : real_function(&std::sin, a);
    case Function::cos:
      return real_function(&std::cos, a);
    case Function::tanh:
      return a.is_exact() && a.is_zero() ? a : real_function(&std::tanh, a);
    case Function::erf:
      return a.is_exact() && a.is_zero() ? a : real_function(&std::erf, a);
    case Function::abs:
      return less(a, Number()) ? negate(a) : a;
    case Function::sign:
      return Number(std::int64_t{less(a, Number()) ? -1 : (a.is_zero() ? 0 : 1)});
    case Function::floor:
      return a.is_exact() ? number(Exact(floor_of(exact(a)))) : Number::unknown();
    case Function::ceil:
      return a.is_exact() ? number(Exact(-floor_of(Exact(-exact(a))))) : Number::unknown();
    case Function::round_even:
      return round_even(a);
    case Function::logical_not:
      return boolean(a.is_zero());
    case Function::is_nan:
      return boolean(false);
    case Function::add:
      return add(a, b);
    case Function::subtract:
      return add(a, negate(b));
    case Function::multiply:
      return multiply(a, b);
    case Function::divide:
      return divide(a, b);
    case Function::integer_divide: {
      const Number q = divide(a, b);
      return q.is_exact() ? number(Exact(truncated(exact(q)))) : q.has_value() ? Number::unknown() : q;
    }
    case Function::modulo:
      return remainder(a, b, true);
    case Function::remainder:
      return remainder(a, b, false);
    case Function::power:
      return power(a, b);
    case Function::minimum:
      return less(b, a) ? b : a;
    case Function::maximum:
      return less(a, b) ? b : a;
    case Function::logical_and:
      return boolean(!a.is_zero() && !b.is_zero());
    case Function::logical_or:
      return boolean(!a.is_zero() || !b.is_zero());
    case Function::logical_xor:
      return boolean(a.is_zero() != b.is_zero());
    case Function::less:
      return boolean(less(a, b));
    case Function::equal:
      return boolean(!less(a, b) && !less(b, a));
    case Function::choose:
      return a.is_zero() ? arguments[2] : b;
  }
  return Number::unknown();
}

namespace {

// 2^n.
Exact power_of_two(int n) {
  const Integer p = Integer(1) << static_cast<unsigned>(std::abs(n));
  return n >= 0 ? Exact(p) : Exact(Integer(1), p);
}

// The exponent of the largest number of a floating-point type, and that of its smallest step.
struct Exponents {
  int largest;
  int step;
};
Exponents exponents(ir::DataType type) {
  if (type == ir::DataType::float16) return {15, -24};
  if (type == ir::DataType::float64) return {1023, -1074};
  return {127, type == ir::DataType::bfloat16 ? -133 : -149};
}

// Rounds to nearest, ties to even; nullopt if the result is infinite.
std::optional<Exact> rounded(ir::DataType type, const Exact& value) {
  if (value == 0) return value;
  const Exact size = boost::multiprecision::abs(value);
  const auto bits = [](const Integer& i) { return static_cast<int>(boost::multiprecision::msb(i)); };
  int exponent = bits(boost::multiprecision::numerator(size)) - bits(boost::multiprecision::denominator(size));
  if (size < power_of_two(exponent)) --exponent;
  const Exponents limits = exponents(type);
  const Exact step = power_of_two(std::max(exponent - ir::mantissa_bits(type) + 1, limits.step));
  const Exact steps = size / step;
  Integer n = floor_of(steps);
  const Exact rest = steps - Exact(n);
  if (rest > Exact(1, 2) || (rest == Exact(1, 2) && n % 2 != 0)) n += 1;
  const Exact result = Exact(n) * step;
  if (result >= power_of_two(limits.largest + 1)) return std::nullopt;
  return value < 0 ? Exact(-result) : result;
}

Number converted_to_floating(ir::DataType type, const Number& value) {
  if (value.is_exact()) {
    const auto result = rounded(type, exact(value));
    return result ? number(*result) : Number::unknown();
  }
  const long double x = value.approximation();
  // Requires that all numbers within the error of the approximation are rounded to the same number.
  const long double error = std::fabs(x) * 1e-15L + 1e-18L;
  const auto low = rounded(type, Exact(x - error));
  const auto high = rounded(type, Exact(x + error));
  return low && high && *low == *high ? number(*low) : Number::unknown();
}

Number converted_to_integer(ir::DataType from, ir::DataType to, const Number& value) {
  if (!value.is_exact()) return Number::unknown();
  Integer whole = truncated(exact(value));
  const bool is_unsigned = ir::is_unsigned(to);
  const Integer count = Integer(1) << static_cast<unsigned>(ir::bits(to));
  const Integer low = is_unsigned ? Integer(0) : Integer(-count / 2);
  const Integer high = low + count;
  if (whole >= low && whole < high) return number(Exact(whole));
  if (!ir::is_integer(from)) return Number::undefined();
  whole = (whole - low) % count;
  return number(Exact(whole < 0 ? Integer(whole + count + low) : Integer(whole + low)));
}

}  // namespace

Number convert(ir::DataType from, ir::DataType to, const Number& value) {
  if (value.is_infinite()) return ir::is_floating(to) ? value : Number::undefined();
  if (!value.has_value() || from == to) return value;
  if (to == ir::DataType::boolean) return may_be_zero(value) ? Number::unknown() : boolean(!value.is_zero());
  if (keeps_values(from, to)) return value;
  if (ir::is_narrow(from) || ir::is_narrow(to)) return Number::unknown();
  return ir::is_integer(to) ? converted_to_integer(from, to, value) : converted_to_floating(to, value);
}

Number from_literal(const ir::Real& value) {
  if (const auto r = value.rational()) return Number(*r);
  const double x = value.to_double();
  if (std::isinf(x)) return x < 0 ? Number::negative_infinity() : Number::positive_infinity();
  return Number::approximate(x);
}

Comparison compare(const Number& a, const Number& b) {
  if (!a.has_value() || !b.has_value()) return Comparison::unclear;
  if (a.is_small() && b.is_small()) {
    return a.numerator() == b.numerator() && a.denominator() == b.denominator() ? Comparison::equal : Comparison::different;
  }
  if (a.is_exact() && b.is_exact()) return exact(a) == exact(b) ? Comparison::equal : Comparison::different;
  const long double x = a.approximation();
  const long double y = b.approximation();
  const long double error = std::fabs(x - y) / (1 + std::fabs(x) + std::fabs(y));
  if (error < 1e-12L) return Comparison::equal;
  return error > 1e-6L ? Comparison::different : Comparison::unclear;
}

}  // namespace xflow::verifier
