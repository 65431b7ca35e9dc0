#include "src/egraph/numbers.h"

namespace xflow::generator {

using ops::Function;

std::uint32_t power(std::uint32_t base, std::uint64_t exponent, std::uint32_t prime) {
  std::uint64_t result = 1;
  for (std::uint64_t b = base; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = result * b % prime;
    b = b * b % prime;
  }
  return static_cast<std::uint32_t>(result);
}

namespace field {
namespace {

std::uint32_t inverse(std::uint32_t a, std::uint32_t prime) { return a == 0 ? kUndefined : power(a, prime - 2, prime); }

// A function without laws: a fixed residue for each number. The caller makes odd functions odd and even
// functions even.
std::uint32_t lawless(Function function, std::uint32_t a, std::uint32_t prime) {
  return static_cast<std::uint32_t>(
      mix((static_cast<std::uint64_t>(function) << 40) ^ (static_cast<std::uint64_t>(prime & 1023) << 48) ^ a) % prime);
}

bool is_odd(Function function) { return function == Function::tanh || function == Function::erf || function == Function::sin; }
bool is_even(Function function) { return function == Function::cos; }

std::uint32_t one(Function function, std::uint32_t a, std::uint32_t prime) {
  if (a == kUndefined) return kUndefined;
  switch (function) {
    case Function::negate:
      return a == 0 ? 0 : prime - a;
    case Function::reciprocal:
      return inverse(a, prime);
    case Function::sqrt:
      // Of the two roots, the one that is itself a square.
      return is_square(a, prime) ? power(a, (static_cast<std::uint64_t>(prime) + 1) / 4, prime) : kUndefined;
    case Function::abs:
      return is_square(a, prime) ? a : prime - a;
    case Function::sign:
      return a == 0 ? 0 : is_square(a, prime) ? 1 : prime - 1;
    default:
      break;
  }
  if (is_odd(function) || is_even(function)) {
    if (a == 0) return is_odd(function) ? 0 : 1;
    const bool negative = !is_square(a, prime);
    const std::uint32_t value = lawless(function, negative ? prime - a : a, prime);
    return negative && is_odd(function) && value != 0 ? prime - value : value;
  }
  return lawless(function, a, prime);
}

std::uint32_t two(Function function, std::uint32_t a, std::uint32_t b, std::uint32_t prime) {
  if (a == kUndefined || b == kUndefined) return kUndefined;
  switch (function) {
    case Function::add:
      return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) + b) % prime);
    case Function::subtract:
      return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) + prime - b) % prime);
    case Function::multiply:
      return static_cast<std::uint32_t>(static_cast<std::uint64_t>(a) * b % prime);
    case Function::divide:
      return b == 0 ? kUndefined : static_cast<std::uint32_t>(static_cast<std::uint64_t>(a) * inverse(b, prime) % prime);
    case Function::maximum:
    case Function::minimum: {
      const std::uint32_t difference = two(Function::subtract, a, b, prime);
      return is_square(difference, prime) == (function == Function::maximum) ? a : b;
    }
    default:
      return kUndefined;
  }
}

}  // namespace

bool is_square(std::uint32_t a, std::uint32_t prime) { return a == 0 || power(a, (prime - 1) / 2, prime) == 1; }

std::uint32_t from_rational(const ir::Rational& value, std::uint32_t prime) {
  const auto residue = [&](std::int64_t n) {
    const std::int64_t rest = n % static_cast<std::int64_t>(prime);
    return static_cast<std::uint32_t>(rest < 0 ? rest + prime : rest);
  };
  if (value.denominator() == 1) return residue(value.numerator());
  return two(Function::divide, residue(value.numerator()), residue(value.denominator()), prime);
}

Pair from_rational(const ir::Rational& value) { return {from_rational(value, kFirstPrime), from_rational(value, kSecondPrime)}; }

Pair apply(Function function, Pair a) {
  if (function == Function::exp) {
    return {a.second == kUndefined ? kUndefined : power(kExpBase, a.second, kFirstPrime), kUndefined};
  }
  return {one(function, a.first, kFirstPrime), one(function, a.second, kSecondPrime)};
}

Pair apply(Function function, Pair a, Pair b) {
  return {two(function, a.first, b.first, kFirstPrime), two(function, a.second, b.second, kSecondPrime)};
}

}  // namespace field

namespace integer {

std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return a == kNone || b == kNone || __builtin_add_overflow(a, b, &sum) ? kNone : sum;
}
std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return a == kNone || b == kNone || __builtin_mul_overflow(a, b, &product) ? kNone : product;
}
std::int64_t scale(std::int64_t a, const ir::Rational& by) {
  const std::int64_t product = multiply(a, by.numerator());
  return product == kNone || product % by.denominator() != 0 ? kNone : product / by.denominator();
}

std::int64_t apply(Function function, std::int64_t a) {
  if (a == kNone) return kNone;
  switch (function) {
    case Function::negate:
      return -a;
    case Function::abs:
      return a < 0 ? -a : a;
    case Function::sign:
      return (a > 0) - (a < 0);
    default:
      return kNone;
  }
}

std::int64_t apply(Function function, std::int64_t a, std::int64_t b) {
  if (a == kNone || b == kNone) return kNone;
  switch (function) {
    case Function::add:
      return add(a, b);
    case Function::subtract:
      return add(a, -b);
    case Function::multiply:
      return multiply(a, b);
    case Function::divide:
      return b == 0 || a % b != 0 ? kNone : a / b;
    case Function::maximum:
      return a > b ? a : b;
    case Function::minimum:
      return a < b ? a : b;
    default:
      return kNone;
  }
}

}  // namespace integer
}  // namespace xflow::generator
