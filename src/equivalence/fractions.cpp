#include "src/equivalence/fractions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

namespace xflow::equivalence {
namespace {

constexpr int kMostProductBits = 16;
// A type has 2^8 times as many numbers in a power of two as there are fractions.
constexpr int kSpareBits = 8;

}  // namespace

std::optional<ir::Rational> rounded_fraction(double number, ir::DataType type) {
  const int bits = ir::mantissa_bits(type);
  if (bits <= kSpareBits || !std::isfinite(number) || number == 0) return std::nullopt;
  const double most = std::ldexp(1.0, std::min(kMostProductBits, bits - kSpareBits));
  const double size = std::abs(number);
  const double unit = std::ldexp(1.0, -bits);
  for (double q = 1;; ++q) {
    const double p = std::nearbyint(size * q);
    if (p * q > most || size * q * q > 2 * most) return std::nullopt;
    if (p == 0 || std::abs(p / q - size) > 2 * unit * size) continue;
    const auto fraction = ir::Rational::make(static_cast<std::int64_t>(std::copysign(p, number)), static_cast<std::int64_t>(q));
    if (!fraction || !ir::Real(*fraction).nearest_in_type(number, bits)) continue;
    return ir::Real(*fraction) == ir::Real::from_double(number) ? std::nullopt : fraction;
  }
}

std::optional<ir::Rational> rounded_fraction(const ir::AttributeValue& attribute) {
  const auto* real = std::get_if<ir::Real>(&attribute);
  if (real == nullptr || real->is_variable()) return std::nullopt;
  const double number = real->to_double();
  // A fraction that a rule gave is no float.
  if (!(*real == ir::Real::from_double(number)) || static_cast<double>(static_cast<float>(number)) != number) return std::nullopt;
  return rounded_fraction(number, ir::DataType::float32);
}

Rounding rounding_of_fraction(double number, const ir::Rational& fraction, ir::DataType type) {
  int exponent = 0;
  std::frexp(number, &exponent);
  return {std::abs(number - fraction.to_double()), std::ldexp(0.5, exponent - ir::mantissa_bits(type)), std::abs(number)};
}

}  // namespace xflow::equivalence
