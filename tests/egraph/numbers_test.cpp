#include "src/egraph/numbers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace xflow::generator {
namespace {

using ops::Function;

Pair random_pair(std::uint64_t k) {
  return {static_cast<std::uint32_t>(mix(k) % kFirstPrime), static_cast<std::uint32_t>(mix(k + 9999) % kSecondPrime)};
}
Pair relu(Pair x) { return field::apply(Function::maximum, x, Pair{}); }

TEST(Fields, AreMadeForEachOther) {
  EXPECT_EQ(kFirstPrime, 2 * kSecondPrime + 1);
  EXPECT_EQ((kFirstPrime + 1) % 840, 0U);
  // By Fermat, for a few bases.
  for (const std::uint32_t base : {2U, 3U, 5U, 7U, 11U}) {
    EXPECT_EQ(power(base, kFirstPrime - 1, kFirstPrime), 1U);
    EXPECT_EQ(power(base, kSecondPrime - 1, kSecondPrime), 1U);
  }
  for (const std::uint32_t prime : {2U, 3U, 5U, 7U}) EXPECT_TRUE(field::is_square(prime, kFirstPrime)) << prime;
  EXPECT_FALSE(field::is_square(kFirstPrime - 1, kFirstPrime));
  EXPECT_FALSE(field::is_square(kSecondPrime - 1, kSecondPrime));
}

TEST(Fields, ReduceWhatFitsSixtyTwoBits) {
  for (const std::uint64_t x : {std::uint64_t{0}, std::uint64_t{kFirstPrime}, std::uint64_t{kFirstPrime} - 1, (std::uint64_t{1} << 62) - 1,
                                std::uint64_t{kFirstPrime} * kFirstPrime, std::uint64_t{1} << 31}) {
    EXPECT_EQ(reduce(x), x % kFirstPrime) << x;
    EXPECT_EQ(fold(x) % kFirstPrime, x % kFirstPrime) << x;
  }
}

TEST(Fields, KeepTheLawsOfRelu) {
  for (std::uint64_t k = 0; k < 200; ++k) {
    const Pair x = random_pair(k);
    const Pair y = random_pair(k + 1000);
    EXPECT_EQ(relu(relu(x)), relu(x));
    const Pair square = field::apply(Function::multiply, x, x);
    EXPECT_EQ(relu(square), square);
    // relu(x relu(y)) = relu(x) relu(y)
    EXPECT_EQ(relu(field::apply(Function::multiply, x, relu(y))), field::apply(Function::multiply, relu(x), relu(y)));
    // x = relu(x) - relu(-x)
    EXPECT_EQ(field::apply(Function::subtract, relu(x), relu(field::apply(Function::negate, x))), x);
  }
}

// Both operands may be any numbers: max(x, y) + min(x, y) = x + y, in either order, and both move with sums and
// with products of squares.
TEST(Fields, HaveMaximaOfAnyTwoNumbers) {
  const Pair six = field::from_rational(ir::Rational(6));
  for (std::uint64_t k = 0; k < 100; ++k) {
    const Pair x = random_pair(k);
    const Pair y = random_pair(k + 1000);
    const Pair z = random_pair(k + 2000);
    for (const Function f : {Function::maximum, Function::minimum}) {
      const auto larger = [&](Pair a, Pair b) { return field::apply(f, a, b); };
      EXPECT_EQ(larger(x, y), larger(y, x));
      for (const auto& [by, g] : {std::pair(z, Function::add), std::pair(six, Function::multiply)})
        EXPECT_EQ(larger(field::apply(g, x, by), field::apply(g, y, by)), field::apply(g, larger(x, y), by));
    }
    EXPECT_EQ(field::apply(Function::add, field::apply(Function::maximum, x, y), field::apply(Function::minimum, x, y)),
              field::apply(Function::add, x, y));
  }
}

TEST(Fields, TellSumsFromMaxima) {
  int different = 0;
  for (std::uint64_t k = 0; k < 100; ++k) {
    const Pair x = random_pair(k);
    const Pair y = random_pair(k + 1000);
    different += relu(field::apply(Function::add, x, y)) == field::apply(Function::add, relu(x), relu(y)) ? 0 : 1;
  }
  EXPECT_GT(different, 20);
}

TEST(Fields, KeepTheLawsOfExp) {
  for (std::uint64_t k = 0; k < 50; ++k) {
    const Pair x = random_pair(k);
    const Pair y = random_pair(k + 1000);
    const Pair product = field::apply(Function::multiply, field::apply(Function::exp, x), field::apply(Function::exp, y));
    EXPECT_EQ(field::apply(Function::exp, field::apply(Function::add, x, y)), product);
    EXPECT_EQ(relu(field::apply(Function::exp, x)).first, field::apply(Function::exp, x).first);
    // exp is not known modulo the second prime, and so has no exp itself.
    EXPECT_EQ(field::apply(Function::exp, field::apply(Function::exp, x)).first, kUndefined);
  }
  EXPECT_EQ(field::apply(Function::exp, Pair{}).first, 1U);
}

TEST(Fields, KnowNoMultipleOfExpByAccident) {
  EXPECT_TRUE(field::is_square(kExpBase, kFirstPrime));
  EXPECT_NE(kExpBase, 1U);
  for (std::int64_t twice = -16; twice <= 16; ++twice) {
    if (twice == 0) continue;
    const std::uint32_t value = field::apply(Function::exp, field::from_rational(*ir::Rational::make(twice, 2))).first;
    // value = a / b with small a and b, or the negative of one.
    for (std::uint32_t b = 1; b <= 1000; ++b) {
      const std::uint32_t a = multiply(value, b);
      EXPECT_GT(std::min(a, kFirstPrime - a), 1000U) << "exp(" << twice << "/2) = " << a << "/" << b;
    }
  }
}

TEST(Fields, HaveRootsOfSquaresAndQuotientsOfAllButZero) {
  for (std::uint64_t k = 1; k < 50; ++k) {
    const Pair x = relu(random_pair(k));
    if (x.first == 0) continue;
    const std::uint32_t root = field::apply(Function::sqrt, x).first;
    EXPECT_EQ(multiply(root, root), x.first);
    EXPECT_TRUE(field::is_square(root, kFirstPrime));
  }
  EXPECT_EQ(field::apply(Function::sqrt, Pair{kFirstPrime - 4, 0}).first, kUndefined);
  EXPECT_EQ(field::apply(Function::reciprocal, Pair{0, 1}).first, kUndefined);
  EXPECT_EQ(multiply(field::from_rational(*ir::Rational::make(1, 9), kFirstPrime), 9), 1U);
}

TEST(Fields, KnowNoFunctionWithoutLawsByAccident) {
  const Pair x = random_pair(3);
  EXPECT_NE(field::apply(Function::tanh, x), field::apply(Function::erf, x));
  EXPECT_EQ(field::apply(Function::tanh, field::apply(Function::negate, x)),
            field::apply(Function::negate, field::apply(Function::tanh, x)));
}

TEST(Integers, AreExactOrNothing) {
  EXPECT_EQ(integer::add(INT64_MAX, 1), integer::kNone);
  EXPECT_EQ(integer::multiply(INT64_MAX / 2, 3), integer::kNone);
  EXPECT_EQ(integer::add(integer::kNone, 1), integer::kNone);
  EXPECT_EQ(integer::scale(18, *ir::Rational::make(1, 9)), 2);
  EXPECT_EQ(integer::scale(17, *ir::Rational::make(1, 9)), integer::kNone);
  EXPECT_EQ(integer::apply(Function::divide, 6, 0), integer::kNone);
  EXPECT_EQ(integer::apply(Function::maximum, -3, -5), -3);
}

}  // namespace
}  // namespace xflow::generator
