// The numbers of fingerprints: residues modulo two primes, and exact integers.
//
// p = 2 q + 1 with p = -1 modulo 840. The squares modulo p form a group of order q. Hence exp, a power of a
// square with an exponent modulo q, is a function from the second field to the first with exp(a + b) =
// exp(a) exp(b). Modulo p, -1 is not a square, and 2, 3, 5 and 7 are squares: with respect to products,
// squares act as the positive numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "src/ir/rational.h"
#include "src/ops/expr.h"

namespace xflow::generator {

inline constexpr std::uint32_t kFirstPrime = 2147471759;   // p
inline constexpr std::uint32_t kSecondPrime = 1073735879;  // q

// p = 2^31 - kFold, so 2^31 = kFold modulo p.
inline constexpr std::uint64_t kFold = (std::uint64_t{1} << 31) - kFirstPrime;

// Reduces any number to below 2^47 without changing it modulo p.
constexpr std::uint64_t fold(std::uint64_t x) { return (x & 0x7FFFFFFF) + (x >> 31) * kFold; }
// Reduces a number below 2^62 modulo p.
constexpr std::uint32_t reduce(std::uint64_t x) {
  const std::uint64_t twice = fold(fold(x));  // below 2^31 + 2^29
  return static_cast<std::uint32_t>(twice >= kFirstPrime ? twice - kFirstPrime : twice);
}
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) { return reduce(static_cast<std::uint64_t>(a) * b); }

// exp(1): a square, and hence a generator of the group of squares, whose order is prime. exp of a half or of
// a small integer is not a quotient of small numbers; otherwise exp(x + 1) would be a small multiple of
// exp(x).
inline constexpr std::uint32_t kExpBase = multiply(1234567890, 1234567890);

// base^exponent modulo `prime`.
std::uint32_t power(std::uint32_t base, std::uint64_t exponent, std::uint32_t prime);

// The undefined value: 1/0, the root of a number that is not a square, exp of a number known only modulo p.
inline constexpr std::uint32_t kUndefined = 0xFFFFFFFF;

// A number in both fields. An unknown part is kUndefined: the result of exp is known only modulo p.
struct Pair {
  std::uint32_t first = 0;   // modulo p, or kUndefined
  std::uint32_t second = 0;  // modulo q, or kUndefined
  friend auto operator<=>(const Pair&, const Pair&) = default;
};

// Arithmetic modulo the primes and on integers.
//
// In a field, a number is the greater of two if their difference is a square, as with relu: the number if it
// is a square, else 0. That agrees with sums and with products of squares, such as 2 to 7, but is no order.
// Function::exp is defined only on pairs. Functions without laws (tanh, erf, ...) are fixed functions of the
// number. Integers are exact and ordered; integers that would overflow 63 bits, and quotients with a
// remainder, have no value.
namespace field {
Pair from_rational(const ir::Rational& value);
Pair apply(ops::Function function, Pair a);
Pair apply(ops::Function function, Pair a, Pair b);
std::uint32_t from_rational(const ir::Rational& value, std::uint32_t prime);
bool is_square(std::uint32_t a, std::uint32_t prime);  // 0 is a square
}  // namespace field

namespace integer {
inline constexpr std::int64_t kNone = INT64_MIN;
std::int64_t add(std::int64_t a, std::int64_t b);
std::int64_t multiply(std::int64_t a, std::int64_t b);
std::int64_t scale(std::int64_t a, const ir::Rational& by);
std::int64_t apply(ops::Function function, std::int64_t a);
std::int64_t apply(ops::Function function, std::int64_t a, std::int64_t b);
}  // namespace integer

// A mixing function of 64 bits (the finaliser of SplitMix64).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace xflow::generator
