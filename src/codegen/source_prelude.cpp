#include "src/codegen/source_text.h"

namespace xflow::eval {
namespace {

// Functions that no library has with these meanings. They match arithmetic.h and integer.cpp.
constexpr std::string_view kPrelude =
    "#if defined(__CUDACC__) || defined(__CUDACC_RTC__)\n"
    "#define XFLOW_FUNCTION __device__ __forceinline__\n"
    "#else\n"
    "#include <math.h>\n"
    "#define XFLOW_FUNCTION static inline\n"
    "#endif\n"
    R"(typedef long long xflow_integer;
typedef unsigned long long xflow_unsigned;
template <typename T>
XFLOW_FUNCTION T xflow_floor_div(T a, T b) {
  const T q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
template <typename T>
XFLOW_FUNCTION T xflow_larger(T a, T b) { return a > b ? a : b; }
template <typename T>
XFLOW_FUNCTION T xflow_smaller(T a, T b) { return a < b ? a : b; }
// Of numbers: what is not one is handed on.
template <typename T>
XFLOW_FUNCTION T xflow_maximum(T a, T b) { return a > b || a != a ? a : b; }
template <typename T>
XFLOW_FUNCTION T xflow_minimum(T a, T b) { return a < b || a != a ? a : b; }
template <typename T>
XFLOW_FUNCTION T xflow_sign(T a) { return a != a ? a : T((a > T(0)) - (a < T(0))); }
template <typename T>
XFLOW_FUNCTION T xflow_floored(T rest, T b) { return rest != T(0) && (rest < T(0)) != (b < T(0)) ? rest + b : rest; }
XFLOW_FUNCTION float xflow_float(unsigned bits) {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
  return __uint_as_float(bits);
#else
  union { unsigned u; float f; } value;
  value.u = bits;
  return value.f;
#endif
}
XFLOW_FUNCTION unsigned xflow_bits(float number) {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
  return __float_as_uint(number);
#else
  union { unsigned u; float f; } value;
  value.f = number;
  return value.u;
#endif
}
XFLOW_FUNCTION float xflow_infinity() { return xflow_float(0x7f800000u); }
// Truncates; what does not fit is the smallest integer.
XFLOW_FUNCTION xflow_integer xflow_truncate(double a) {
  return a >= -9223372036854775808.0 && a < 9223372036854775808.0 ? (xflow_integer)a : (xflow_integer)(1ull << 63);
}
XFLOW_FUNCTION xflow_integer xflow_truncate_unsigned(double a) {
  return a >= 9223372036854775808.0 && a < 18446744073709551616.0 ? (xflow_integer)(xflow_unsigned)a : xflow_truncate(a);
}
XFLOW_FUNCTION float xflow_from_bfloat16(unsigned short a) { return xflow_float((unsigned)a << 16); }
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
XFLOW_FUNCTION unsigned short xflow_to_bfloat16(float a) {
  unsigned short half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(a));
  return half;
}
XFLOW_FUNCTION float xflow_from_half(unsigned short a) {
  float number;
  asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(a));
  return number;
}
XFLOW_FUNCTION unsigned short xflow_to_half(float a) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(a));
  return half;
}
#else
XFLOW_FUNCTION unsigned short xflow_to_bfloat16(float a) {
  const unsigned bits = xflow_bits(a);
  if (a != a) return (unsigned short)(bits >> 16 | 0x40u);
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
XFLOW_FUNCTION float xflow_from_half(unsigned short a) {
  const unsigned sign = (a & 0x8000u) << 16;
  const unsigned exponent = a >> 10 & 0x1fu;
  const unsigned fraction = a & 0x3ffu;
  if (exponent == 31) return xflow_float(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return xflow_float(sign | (exponent + 112u) << 23 | fraction << 13);
  const float small = (float)fraction * xflow_float(0x33800000u);
  return sign != 0 ? -small : small;
}
XFLOW_FUNCTION unsigned short xflow_to_half(float a) {
  const unsigned bits = xflow_bits(a);
  const unsigned sign = bits >> 16 & 0x8000u;
  const unsigned size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
  if (size >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (size < 0x33000000u) return (unsigned short)sign;
  const unsigned exponent = size >> 23;
  const unsigned shift = exponent < 113 ? 126u - exponent : 13u;
  const unsigned whole = exponent < 113 ? (size & 0x7fffffu) | 0x800000u : size - 0x38000000u;
  const unsigned kept = whole >> shift;
  const unsigned rest = whole & ((1u << shift) - 1u);
  const unsigned half = 1u << (shift - 1u);
  return (unsigned short)(sign | (kept + (rest > half || (rest == half && (kept & 1u) != 0u) ? 1u : 0u)));
}
#endif
XFLOW_FUNCTION xflow_integer xflow_divide(xflow_integer a, xflow_integer b) {
  return b == 0 ? 0 : b == -1 ? (xflow_integer)(0ull - (xflow_unsigned)a) : a / b;
}
XFLOW_FUNCTION xflow_integer xflow_rest(xflow_integer a, xflow_integer b) { return b == 0 || b == -1 ? 0 : a % b; }
XFLOW_FUNCTION xflow_integer xflow_divide_unsigned(xflow_integer a, xflow_integer b) {
  return b == 0 ? 0 : (xflow_integer)((xflow_unsigned)a / (xflow_unsigned)b);
}
XFLOW_FUNCTION xflow_integer xflow_rest_unsigned(xflow_integer a, xflow_integer b) {
  return b == 0 ? 0 : (xflow_integer)((xflow_unsigned)a % (xflow_unsigned)b);
}
XFLOW_FUNCTION xflow_integer xflow_power(xflow_integer a, xflow_integer b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  xflow_unsigned result = 1;
  for (xflow_unsigned factor = (xflow_unsigned)a; b != 0; b /= 2, factor *= factor)
    if (b % 2 != 0) result *= factor;
  return (xflow_integer)result;
}
)";

}  // namespace

std::string_view source_prelude() { return kPrelude; }

}  // namespace xflow::eval
