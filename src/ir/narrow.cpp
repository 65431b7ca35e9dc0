#include "src/ir/narrow.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace xflow::ir {
namespace {

// The layout from the highest bit: sign, exponent, mantissa. A number with exponent bits 0 is subnormal.
struct Layout {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  std::uint8_t largest;  // the bits of the largest number
  bool has_infinity;     // at `largest` + 1; the bits above it are NaN
  bool unsigned_zero;    // only one zero; the bits of -0 are NaN
};

Layout layout(DataType type) {
  switch (type) {
    case DataType::float8e4m3fn:
      return {4, 3, 7, 0x7E, false, false};
    case DataType::float8e4m3fnuz:
      return {4, 3, 8, 0x7F, false, true};
    case DataType::float8e5m2:
      return {5, 2, 15, 0x7B, true, false};
    case DataType::float8e5m2fnuz:
      return {5, 2, 16, 0x7F, false, true};
    default:  // float4e2m1
      return {2, 1, 1, 0x7, false, false};
  }
}

}  // namespace

bool is_narrow_integer(DataType type) {
  return type == DataType::uint4 || type == DataType::int4 || type == DataType::uint2 || type == DataType::int2;
}

bool is_narrow_floating(DataType type) {
  return type == DataType::float8e4m3fn || type == DataType::float8e4m3fnuz || type == DataType::float8e5m2 ||
         type == DataType::float8e5m2fnuz || type == DataType::float4e2m1;
}

double narrow_to_double(DataType type, std::uint8_t bits) {
  const Layout l = layout(type);
  const int sign_bit = l.exponent_bits + l.mantissa_bits;
  const bool negative = (bits >> sign_bit & 1U) != 0;
  const int magnitude = bits & ((1 << sign_bit) - 1);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (l.unsigned_zero && negative && magnitude == 0) return kNan;
  double value = kNan;
  if (magnitude <= l.largest) {
    const int exponent = magnitude >> l.mantissa_bits;
    const int mantissa = magnitude & ((1 << l.mantissa_bits) - 1);
    const int whole = exponent == 0 ? mantissa : mantissa + (1 << l.mantissa_bits);
    value = std::ldexp(whole, std::max(exponent, 1) - l.bias - l.mantissa_bits);
  } else if (l.has_infinity && magnitude == l.largest + 1) {
    value = std::numeric_limits<double>::infinity();
  }
  return negative ? -value : value;
}

std::uint8_t double_to_narrow(DataType type, double value) {
  const Layout l = layout(type);
  const int sign_bit = l.exponent_bits + l.mantissa_bits;
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 1U << static_cast<unsigned>(sign_bit) : 0U);
  if (std::isnan(value)) {
    if (l.unsigned_zero) return static_cast<std::uint8_t>(1U << static_cast<unsigned>(sign_bit));
    if (type == DataType::float4e2m1) return l.largest;
    return static_cast<std::uint8_t>(sign | ((1U << static_cast<unsigned>(sign_bit)) - 1));
  }
  const double magnitude = std::min(std::fabs(value), narrow_to_double(type, l.largest));
  const int least = 1 - l.bias - l.mantissa_bits;  // the exponent of the spacing of subnormal numbers
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int unit = magnitude == 0 ? least : std::max(exponent - 1 - l.mantissa_bits, least);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
  // If `steps` is 2^(mantissa_bits + 1), this sum carries it into the exponent.
  const int bits = steps + ((unit - least) << l.mantissa_bits);
  if (bits == 0 && l.unsigned_zero) return 0;
  return static_cast<std::uint8_t>(sign | static_cast<unsigned>(bits));
}

std::int64_t wrap_narrow(DataType type, std::int64_t value) {
  switch (type) {
    case DataType::uint4:
      return value & 15;
    case DataType::int4:
      return ((value & 15) ^ 8) - 8;
    case DataType::uint2:
      return value & 3;
    default:  // int2
      return ((value & 3) ^ 2) - 2;
  }
}

std::int64_t narrow_element(DataType type, const unsigned char* bytes, std::uint64_t k) {
  const auto width = static_cast<unsigned>(bits(type));
  const unsigned per_byte = 8 / width;
  const unsigned element = (bytes[k / per_byte] >> (width * (k % per_byte))) & ((1U << width) - 1);
  return is_narrow_integer(type) ? wrap_narrow(type, element) : element;
}

}  // namespace xflow::ir
