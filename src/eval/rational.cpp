#include "src/eval/rational.h"

#include <fmt/format.h>

#include <functional>

namespace xflow::eval {

using Integer = boost::multiprecision::cpp_int;
using Kind = Exact::Kind;

namespace {

Integer floor_of(const Exact::Value& value) {
  const Integer n = numerator(value);
  const Integer d = denominator(value);
  Integer quotient = n / d;  // truncates
  if (n < 0 && quotient * d != n) quotient -= 1;
  return quotient;
}

// The square root of a rational, if it is rational.
std::optional<Exact::Value> exact_root(const Exact::Value& value) {
  if (value < 0) return std::nullopt;
  const Integer n = sqrt(Integer(numerator(value)));
  const Integer d = sqrt(Integer(denominator(value)));
  if (n * n != numerator(value) || d * d != denominator(value)) return std::nullopt;
  return Exact::Value(n, d);
}

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// A pseudo-random rational in (0, 4) that depends only on the function and its arguments.
Exact::Value drawn(Function function, std::initializer_list<const Exact*> arguments) {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(function));
  for (const Exact* argument : arguments) {
    for (const char c : argument->to_string()) hash = mix(hash ^ static_cast<unsigned char>(c));
  }
  return Exact::Value(static_cast<std::int64_t>(hash % 397 + 1), 101);
}

}  // namespace

int Exact::sign() const {
  if (kind_ == Kind::positive_infinity) return 1;
  if (kind_ == Kind::negative_infinity) return -1;
  return value_.sign();
}

double Exact::to_double() const {
  switch (kind_) {
    case Kind::positive_infinity:
      return std::numeric_limits<double>::infinity();
    case Kind::negative_infinity:
      return -std::numeric_limits<double>::infinity();
    case Kind::undefined:
      return std::numeric_limits<double>::quiet_NaN();
    case Kind::finite:
      break;
  }
  return value_.convert_to<double>();
}

std::string Exact::to_string() const {
  switch (kind_) {
    case Kind::positive_infinity:
      return "inf";
    case Kind::negative_infinity:
      return "-inf";
    case Kind::undefined:
      return "undefined";
    case Kind::finite:
      break;
  }
  return value_.str();
}

Exact exact(double value) {
  if (std::isnan(value)) return Exact::undefined();
  if (std::isinf(value)) return Exact::infinity(value < 0);
  return Exact(Exact::Value(value));
}

bool RationalArithmetic::supports(Function function) const {
  switch (function) {
    case Function::exp:
    case Function::log:
    case Function::sin:
    case Function::cos:
    case Function::tanh:
    case Function::erf:
      return uninterpreted_;
    default:
      return true;
  }
}

Exact RationalArithmetic::from_literal(const ir::Real& value) const {
  if (const auto rational = value.rational()) return from_rational(*rational);
  return exact(value.to_double());
}

std::int64_t RationalArithmetic::to_integer(const Exact& value) const {
  if (!value.is_finite()) return std::numeric_limits<std::int64_t>::min();
  const Integer whole = Integer(numerator(value.value())) / Integer(denominator(value.value()));
  if (whole > std::numeric_limits<std::int64_t>::max() || whole < std::numeric_limits<std::int64_t>::min()) {
    return std::numeric_limits<std::int64_t>::min();
  }
  return whole.convert_to<std::int64_t>();
}

bool RationalArithmetic::less(const Exact& a, const Exact& b) const {
  if (a.is_undefined() || b.is_undefined()) return false;
  if (a.is_finite() && b.is_finite()) return a.value() < b.value();
  const auto rank = [](const Exact& x) { return x.kind() == Kind::negative_infinity ? 0 : x.is_finite() ? 1 : 2; };
  return rank(a) < rank(b);
}

Exact RationalArithmetic::unary(Function function, const Exact& a) const {
  if (a.is_undefined()) return a;
  const bool finite = a.is_finite();
  const bool zero = finite && a.sign() == 0;
  switch (function) {
    case Function::negate:
      return finite ? Exact(-a.value()) : Exact::infinity(a.sign() > 0);
    case Function::reciprocal:
      if (zero) return Exact::undefined();
      return finite ? Exact(1 / a.value()) : Exact(Exact::Value(0));
    case Function::abs:
      return finite ? Exact(a.sign() < 0 ? Exact::Value(-a.value()) : a.value()) : Exact::infinity(false);
    case Function::sign:
      return Exact(Exact::Value(a.sign()));
    case Function::floor:
      return finite ? Exact(Exact::Value(floor_of(a.value()))) : a;
    case Function::ceil:
      return finite ? Exact(Exact::Value(-floor_of(-a.value()))) : a;
    case Function::round_even: {
      if (!finite) return a;
      const Integer low = floor_of(a.value());
      const Exact::Value rest = a.value() - Exact::Value(low);
      const Exact::Value half(1, 2);
      const bool up = rest > half || (rest == half && low % 2 != 0);
      return Exact(Exact::Value(up ? Integer(low + 1) : low));
    }
    case Function::sqrt: {
      if (a.sign() < 0) return Exact::undefined();
      if (!finite) return a;
      if (const auto root = exact_root(a.value())) return Exact(*root);
      return uninterpreted_ ? Exact(drawn(function, {&a})) : Exact::undefined();
    }
    case Function::exp:
      if (!finite) return a.sign() < 0 ? Exact(Exact::Value(0)) : a;
      return zero ? Exact(Exact::Value(1)) : Exact(drawn(function, {&a}));
    case Function::cos:
      if (!finite) return Exact::undefined();
      return zero ? Exact(Exact::Value(1)) : Exact(drawn(function, {&a}));
    case Function::log:
      if (a.sign() <= 0) return Exact::undefined();
      if (!finite) return a;
      return a.value() == 1 ? Exact(Exact::Value(0)) : Exact(Exact::Value(drawn(function, {&a}) - 2));
    case Function::sin:
      if (!finite) return Exact::undefined();
      return zero ? a : Exact(Exact::Value(drawn(function, {&a}) - 2));
    case Function::tanh:
    case Function::erf:
      if (!finite) return Exact(Exact::Value(a.sign()));
      return zero ? a : Exact(Exact::Value((drawn(function, {&a}) - 2) / 2));
    default:
      return Exact::undefined();
  }
}

Exact RationalArithmetic::power(const Exact& base, const Exact& exponent) const {
  if (!base.is_finite() || !exponent.is_finite()) return Exact::undefined();
  if (denominator(exponent.value()) == 1) {
    const Integer whole = numerator(exponent.value());
    if (whole > 1024 || whole < -1024) return Exact::undefined();
    const int n = whole.convert_to<int>();
    if (n < 0 && base.sign() == 0) return Exact::undefined();
    Exact::Value result = 1;
    for (int k = 0; k < std::abs(n); ++k) result *= base.value();
    return Exact(n < 0 ? Exact::Value(1 / result) : result);
  }
  if (exponent.value() == Exact::Value(1, 2)) return unary(Function::sqrt, base);
  if (exponent.value() == Exact::Value(-1, 2)) return unary(Function::reciprocal, unary(Function::sqrt, base));
  if (base.sign() < 0 || !uninterpreted_) return Exact::undefined();
  return Exact(drawn(Function::power, {&base, &exponent}));
}

Exact RationalArithmetic::binary(Function function, const Exact& a, const Exact& b) const {
  if (a.is_undefined() || b.is_undefined()) return Exact::undefined();
  const bool finite = a.is_finite() && b.is_finite();
  switch (function) {
    case Function::add:
      if (finite) return Exact(a.value() + b.value());
      if (!a.is_finite() && !b.is_finite() && a.kind() != b.kind()) return Exact::undefined();
      return a.is_finite() ? b : a;
    case Function::subtract:
      return binary(Function::add, a, unary(Function::negate, b));
    case Function::multiply: {
      if (finite) return Exact(a.value() * b.value());
      const int sign = a.sign() * b.sign();
      return sign == 0 ? Exact::undefined() : Exact::infinity(sign < 0);
    }
    case Function::divide:
      return binary(Function::multiply, a, unary(Function::reciprocal, b));
    case Function::integer_divide: {
      Exact quotient = binary(Function::divide, a, b);
      if (!quotient.is_finite()) return quotient;
      return Exact(Exact::Value(Integer(numerator(quotient.value())) / Integer(denominator(quotient.value()))));
    }
    case Function::modulo:
    case Function::remainder: {
      if (!finite || b.sign() == 0) return Exact::undefined();
      const Exact::Value quotient = a.value() / b.value();
      const Integer whole =
          function == Function::modulo ? floor_of(quotient) : Integer(numerator(quotient)) / Integer(denominator(quotient));
      return Exact(a.value() - b.value() * Exact::Value(whole));
    }
    case Function::power:
      return power(a, b);
    case Function::minimum:
      return less(b, a) ? b : a;
    case Function::maximum:
      return less(a, b) ? b : a;
    default:
      return Exact::undefined();
  }
}

}  // namespace xflow::eval
