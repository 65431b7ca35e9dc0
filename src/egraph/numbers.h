// The numbers of fingerprints: residues modulo two primes, and exact integers.
//
// p = 2 q + 1 with p = -1 modulo 840. The squares modulo p are a group of order q, so that exp, a power of a square with an exponent modulo
// q, is a function from the second field to the first with exp(a + b) = exp(a) exp(b). -1 is no square modulo p and 2, 3, 5, 7 are squares:
// squares take the part of positive numbers, as far as products go.
#pragma once

#include <cstdint>
#include <optional>

#include "src/ir/rational.h"
#include "src/ops/expr.h"

namespace xflow::generator {

inline constexpr std::uint32_t kFirstPrime = 2147471759;   // p
inline constexpr std::uint32_t kSecondPrime = 1073735879;  // q

// p = 2^31 - kFold: 2^31 is kFold modulo p.
inline constexpr std::uint64_t kFold = (std::uint64_t{1} << 31) - kFirstPrime;

// Any number made smaller, below 2^47, without changing it modulo p.
constexpr std::uint64_t fold(std::uint64_t x) { return (x & 0x7FFFFFFF) + (x >> 31) * kFold; }
// A number below 2^62 modulo p.
constexpr std::uint32_t reduce(std::uint64_t x) {
  const std::uint64_t twice = fold(fold(x));  // below 2^31 + 2^29
  return static_cast<std::uint32_t>(twice >= kFirstPrime ? twice - kFirstPrime : twice);
}
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) { return reduce(static_cast<std::uint64_t>(a) * b); }

// exp(1): a square and so a generator of the squares, whose number is prime. exp of a half or of a small integer is no quotient of small
// numbers, or exp(x + 1) would be a multiple of exp(x).
inline constexpr std::uint32_t kExpBase = multiply(1234567890, 1234567890);

// base^exponent modulo `prime`.
std::uint32_t power(std::uint32_t base, std::uint64_t exponent, std::uint32_t prime);

// What has no value: 1/0, the root of what is no square, exp of what is known modulo p alone.
inline constexpr std::uint32_t kUndefined = 0xFFFFFFFF;

// A number in both fields. A part that is not known is kUndefined: exp gives a number modulo p alone.
struct Pair {
  std::uint32_t first = 0;   // modulo p, or kUndefined
  std::uint32_t second = 0;  // modulo q, or kUndefined
  friend auto operator<=>(const Pair&, const Pair&) = default;
};

// The arithmetic of one kind of number. Function::maximum in a field is known only against 0 (relu: the number if it is a square, else 0)
// and Function::exp only of pairs; functions without laws (tanh, erf, ...) are some fixed function of the number. Integers are exact with
// a true order; those that would overflow 63 bits, and quotients with a remainder, have no value.
namespace field {
Pair from_rational(const ir::Rational& value);
Pair apply(ops::Function function, Pair a);
Pair apply(ops::Function function, Pair a, Pair b);
std::uint32_t from_rational(const ir::Rational& value, std::uint32_t prime);
bool is_square(std::uint32_t a, std::uint32_t prime);  // 0 is one
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
