#include "src/ir/rational.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>

namespace xflow::ir {
namespace {

__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using): __extension__ takes a declaration of this form

Wide gcd(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    const Wide r = a % b;
    a = b;
    b = r;
  }
  return a;
}

bool fits(Wide a) { return a >= std::numeric_limits<std::int64_t>::min() && a <= std::numeric_limits<std::int64_t>::max(); }

// The value of a decimal or integer literal "12", "-0.25", "1e-5".
std::optional<Rational> parse_decimal(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  Wide digits = 0;
  long exponent = 0;
  bool any = false;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      digits = digits * 10 + (c - '0');
      if (!fits(digits)) return std::nullopt;
      if (point) --exponent;
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    const std::string rest(text.substr(i + 1));
    if (rest.empty()) return std::nullopt;
    char* end = nullptr;
    const long e = std::strtol(rest.c_str(), &end, 10);
    if (*end != '\0' || e > 40 || e < -40) return std::nullopt;
    exponent += e;
  }
  Wide numerator = negative ? -digits : digits;
  Wide denominator = 1;
  for (; exponent > 0; --exponent) {
    numerator *= 10;
    if (!fits(numerator)) return std::nullopt;
  }
  for (; exponent < 0; ++exponent) {
    const Wide g = gcd(numerator, 10);
    if (g > 1) {
      numerator /= g;
      denominator *= 10 / g;
    } else {
      denominator *= 10;
    }
    if (!fits(denominator)) return std::nullopt;
  }
  return Rational::make(static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator));
}

std::optional<Rational> reduce(Wide numerator, Wide denominator) {
  if (denominator == 0) return std::nullopt;
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  if (const Wide g = gcd(numerator, denominator); g > 1) {
    numerator /= g;
    denominator /= g;
  }
  if (!fits(numerator) || !fits(denominator)) return std::nullopt;
  return Rational::make(static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator));
}

}  // namespace

std::optional<Rational> Rational::make(std::int64_t numerator, std::int64_t denominator) {
  Wide n = numerator;
  Wide d = denominator;
  if (d == 0) return std::nullopt;
  if (d < 0) {
    n = -n;
    d = -d;
  }
  if (const Wide g = gcd(n, d); g > 1) {
    n /= g;
    d /= g;
  }
  if (!fits(n) || !fits(d)) return std::nullopt;
  Rational r;
  r.numerator_ = static_cast<std::int64_t>(n);
  r.denominator_ = static_cast<std::int64_t>(d);
  return r;
}

std::optional<Rational> Rational::from_double(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);  // value = mantissa * 2^exponent, 53 bits
  auto integer = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  exponent -= 53;
  while (integer != 0 && integer % 2 == 0 && exponent < 0) {
    integer /= 2;
    ++exponent;
  }
  if (integer == 0) return Rational(0);
  if (exponent >= 0) {
    if (exponent > 62) return std::nullopt;
    return reduce(static_cast<Wide>(integer) << exponent, 1);
  }
  if (exponent < -62) return std::nullopt;
  return reduce(integer, static_cast<Wide>(1) << -exponent);
}

std::optional<Rational> Rational::parse(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return parse_decimal(text);
  const auto a = parse_decimal(text.substr(0, slash));
  const auto b = parse_decimal(text.substr(slash + 1));
  if (!a || !b) return std::nullopt;
  return divide(*a, *b);
}

std::string Rational::to_string() const {
  if (denominator_ == 1) return std::to_string(numerator_);
  return std::to_string(numerator_) + "/" + std::to_string(denominator_);
}

std::optional<Rational> add(const Rational& a, const Rational& b) {
  const Wide x = static_cast<Wide>(a.numerator()) * b.denominator();
  const Wide y = static_cast<Wide>(b.numerator()) * a.denominator();
  Wide sum = 0;
  // |x|, |y| <= 2^126, so their sum fits 128 bits.
  sum = x + y;
  return reduce(sum, static_cast<Wide>(a.denominator()) * b.denominator());
}

std::optional<Rational> multiply(const Rational& a, const Rational& b) {
  return reduce(static_cast<Wide>(a.numerator()) * b.numerator(), static_cast<Wide>(a.denominator()) * b.denominator());
}

std::optional<Rational> divide(const Rational& a, const Rational& b) {
  return reduce(static_cast<Wide>(a.numerator()) * b.denominator(), static_cast<Wide>(a.denominator()) * b.numerator());
}

Real Real::from_double(double value) {
  Real r;
  if (const auto exact = Rational::from_double(value)) {
    r.value_ = *exact;
  } else {
    r.value_ = value;
  }
  return r;
}

Real Real::variable(std::string name) {
  Real r;
  r.value_ = std::move(name);
  return r;
}

std::optional<Rational> Real::rational() const {
  if (const auto* r = std::get_if<Rational>(&value_)) return *r;
  return std::nullopt;
}

double Real::to_double() const {
  if (const auto* r = std::get_if<Rational>(&value_)) return r->to_double();
  if (const auto* d = std::get_if<double>(&value_)) return *d;
  return std::numeric_limits<double>::quiet_NaN();
}

std::string Real::to_string() const {
  if (const auto* r = std::get_if<Rational>(&value_)) return r->to_string();
  if (const auto* d = std::get_if<double>(&value_)) {
    if (std::isinf(*d)) return *d > 0 ? "inf" : "-inf";
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.17g", *d);
    return buffer;
  }
  return "$" + variable_name();
}

bool Real::nearest_in_type(double stored, int bits) const {
  if (is_variable() || std::isnan(stored)) return false;
  const double exact = to_double();
  if (std::isinf(exact) || std::isinf(stored) || exact == 0 || stored == 0) return exact == stored;
  // `exact` has 53 bits. For narrower types its error is far below half a unit in the last place of
  // `stored`; for float64 both must be equal.
  if (bits >= 53) return exact == stored;
  if (bits <= 0) return exact == stored;
  int exponent = 0;
  std::frexp(exact, &exponent);
  const double unit = std::ldexp(1.0, exponent - bits);
  const double nearest = std::nearbyint(exact / unit) * unit;
  return nearest == stored;
}

std::size_t Real::hash() const {
  if (const auto* r = std::get_if<Rational>(&value_))
    return std::hash<std::int64_t>{}(r->numerator()) * 31 + std::hash<std::int64_t>{}(r->denominator());
  if (const auto* d = std::get_if<double>(&value_)) return std::hash<double>{}(*d) + 7;
  return std::hash<std::string>{}(variable_name()) + 13;
}

}  // namespace xflow::ir
