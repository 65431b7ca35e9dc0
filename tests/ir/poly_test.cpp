#include "src/ir/poly.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace xflow::ir {
namespace {

class PolyTest : public ::testing::Test {
 protected:
  Symbols s;
  Poly n{s.named(SymbolKind::dimension, "N")};
  Poly c{s.named(SymbolKind::dimension, "C")};
  Poly g{s.named(SymbolKind::dimension, "g")};
  Poly p{s.named(SymbolKind::parameter, "p")};
  Poly i{s.named(SymbolKind::index, "i")};
};

TEST_F(PolyTest, EqualFormsAreEqual) {
  EXPECT_EQ((n + c) * (n - c), n * n - c * c);
  EXPECT_EQ(n - n, Poly(0));
  EXPECT_EQ(s.to_string((n + Poly(1)) * Poly(2)), "2*N + 2");
  EXPECT_EQ(s.to_string(-n * n + c), "-N^2 + C");
}

// Powers that wrapped around would make n^(2^32) equal to 1.
TEST_F(PolyTest, ProductsBeyondAnySizePoison) {
  Poly power = n;
  for (int k = 0; k < 16; ++k) power *= Poly(power);
  EXPECT_FALSE(power.is_poisoned());
  for (int k = 0; k < 16; ++k) power *= Poly(power);
  EXPECT_TRUE(power.is_poisoned());
  Poly sum(1);
  for (int k = 0; k < 10; ++k) sum += Poly(s.named(SymbolKind::dimension, "d" + std::to_string(k)));
  Poly product = sum;
  for (int k = 0; k < 20; ++k) product *= sum;
  EXPECT_TRUE(product.is_poisoned()) << "it has millions of terms";
}

TEST_F(PolyTest, OverflowPoisonsAndPoisonEqualsNothing) {
  const Poly big(std::numeric_limits<std::int64_t>::max());
  const Poly bad = big + Poly(1);
  EXPECT_TRUE(bad.is_poisoned());
  EXPECT_FALSE(bad == bad);
  EXPECT_TRUE((bad * Poly(0)).is_poisoned());
  EXPECT_TRUE((n * big * Poly(2)).is_poisoned());
}

TEST_F(PolyTest, ExactDivisionDividesOnlyWithoutRemainder) {
  EXPECT_EQ(exact_divide(n * c * Poly(6), n * Poly(3)), Poly(2) * c);
  EXPECT_EQ(exact_divide((n + c) * (n + Poly(2)), n + Poly(2)), n + c);
  EXPECT_EQ(exact_divide(n + Poly(1), n), std::nullopt);
  EXPECT_EQ(exact_divide(Poly(7), Poly(2)), std::nullopt);
  EXPECT_EQ(exact_divide(Poly(7), Poly(0)), std::nullopt);
  EXPECT_EQ(exact_divide(Poly(0), n), Poly(0));
  // The quotient does not fit 64 bits, and the processor stops a program that asks for it.
  const Poly smallest(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(exact_divide(smallest, Poly(-1)), std::nullopt);
  EXPECT_EQ(exact_divide(smallest * n, -n), std::nullopt);
  EXPECT_EQ(exact_divide(smallest * n * n + smallest * n, -n - Poly(1)), std::nullopt);
  EXPECT_EQ(exact_divide(Poly(6) * n, Poly(-1)), Poly(-6) * n);
  EXPECT_TRUE(s.floor_div(smallest, Poly(-1)).is_poisoned());
  EXPECT_EQ(s.floor_div(Poly(3) - n, Poly(-1)), n - Poly(3));
}

TEST_F(PolyTest, ExactDivisionUndoesMultiplication) {
  std::mt19937 random(1);
  const std::vector<Poly> symbols{n, c, g, p};
  const auto make = [&] {
    Poly result(static_cast<std::int64_t>(random() % 5) - 2);
    for (int k = 0; k < 3; ++k) {
      Poly term(static_cast<std::int64_t>(random() % 7) - 3);
      for (unsigned f = random() % 3; f > 0; --f) term *= symbols[random() % symbols.size()];
      result += term;
    }
    return result;
  };
  for (int k = 0; k < 500; ++k) {
    const Poly a = make();
    const Poly b = make();
    if (b.is_zero()) continue;
    EXPECT_EQ(exact_divide(a * b, b), a) << s.to_string(a) << " and " << s.to_string(b);
  }
}

TEST_F(PolyTest, ExactDivisionByOneTermKeepsTheOrderOfTerms) {
  const Poly product = n * c + n * n + n;
  EXPECT_EQ(exact_divide(product, n), c + n + Poly(1));
  EXPECT_EQ(exact_divide(product * Poly(-4), n * Poly(2)), (c + n + Poly(1)) * Poly(-2));
  EXPECT_EQ(exact_divide(product * Poly(3), n * Poly(2)), std::nullopt);
  EXPECT_EQ(exact_divide(product, n * n), std::nullopt);
  EXPECT_EQ(exact_divide(product * Poly(6) + Poly(4), Poly(2)), product * Poly(3) + Poly(2));
  EXPECT_EQ(exact_divide(product + Poly(1), Poly(2)), std::nullopt);
}

TEST_F(PolyTest, OccursInsideDefinedSymbols) {
  const Poly inner = s.floor_div(n + p, c);
  const Poly outer = s.floor_div(inner * g, p * p + Poly(1));
  for (const Poly& x : {n, c, g, p}) EXPECT_TRUE(s.occurs(outer * i, *x.as_symbol()));
  EXPECT_TRUE(s.occurs(outer, *inner.as_symbol()));
  EXPECT_FALSE(s.occurs(outer, *i.as_symbol()));
  EXPECT_FALSE(s.occurs(inner, *g.as_symbol()));
  std::vector<SymbolId> expected = {*n.as_symbol(), *c.as_symbol(), *g.as_symbol(), *p.as_symbol(), *inner.as_symbol(), *outer.as_symbol()};
  EXPECT_EQ(s.all_symbols(outer), expected);
}

TEST_F(PolyTest, LinearInSplitsCoefficientAndRest) {
  const auto parts = (n * c + c + Poly(3)).linear_in(*n.as_symbol());
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->first, c);
  EXPECT_EQ(parts->second, c + Poly(3));
  EXPECT_FALSE((n * n).linear_in(*n.as_symbol()));
}

TEST_F(PolyTest, EqualDivisionsShareTheirSymbol) {
  EXPECT_EQ(s.floor_div(n + c, Poly(2)), s.floor_div(c + n, Poly(2)));
  EXPECT_EQ(s.floor_div(n + Poly(3), Poly(2)), s.floor_div(n + Poly(1), Poly(2)) + Poly(1));
  EXPECT_EQ(s.floor_div(n * g, g), n);
  EXPECT_EQ(s.floor_div(n * g + i, g), n + s.floor_div(i, g));
  EXPECT_EQ(s.floor_div(Poly(-7), Poly(2)), Poly(-4));
  EXPECT_EQ(s.floor_div(s.floor_div(n, Poly(2)), Poly(3)), s.floor_div(n, Poly(6)));
  EXPECT_EQ(s.floor_div(n * c, g * c), s.floor_div(n, g));
  EXPECT_EQ(s.to_string(s.floor_div(n - Poly(1), Poly(2)) + Poly(1)), "floor((N + 1)/2)");
  EXPECT_EQ(s.floor_div(Poly(4) * n + Poly(3), Poly(8)), s.floor_div(n, Poly(2)));
  EXPECT_EQ(s.floor_div(Poly(2) * n - Poly(1), Poly(2) * g), s.floor_div(n - Poly(1), g));
  EXPECT_TRUE(s.floor_div(n, Poly(0)).is_poisoned());
}

TEST_F(PolyTest, ParametersAreNotCancelledSinceTheyMayBeZero) { EXPECT_NE(s.floor_div(n * p, g * p), s.floor_div(n, g)); }

TEST_F(PolyTest, ModIsZeroOnMultiples) {
  EXPECT_EQ(s.mod(n * Poly(4), Poly(4)), Poly(0));
  EXPECT_EQ(s.mod(n * g, g), Poly(0));
}

TEST_F(PolyTest, MaxKnowsBoundsAndIsSymmetric) {
  EXPECT_EQ(s.max(n, Poly(1)), n);
  EXPECT_EQ(s.max(n, c), s.max(c, n));
  EXPECT_EQ(s.max(n + Poly(2), c + Poly(2)), s.max(n, c) + Poly(2));
  EXPECT_EQ(s.max(s.max(n, c), c), s.max(n, c));
  EXPECT_EQ(s.max(n + c, n), n + c);
}

TEST_F(PolyTest, AnAssumedSizeIsAtLeastOne) {
  const Poly size = s.floor_div(n, Poly(5)) - Poly(1);
  EXPECT_EQ(s.lower_bound(size), -1);
  s.assume_positive(size);
  EXPECT_EQ(s.lower_bound(size), 1);
  EXPECT_EQ(s.max(size, Poly(1)), size);
}

TEST_F(PolyTest, BroadcastFollowsOnnx) {
  EXPECT_EQ(s.broadcast(n, Poly(1)), n);
  EXPECT_EQ(s.broadcast(Poly(1), n), n);
  EXPECT_EQ(s.broadcast(n, Poly(5)), Poly(5));
  EXPECT_EQ(s.broadcast(n, c), s.max(n, c));
  EXPECT_EQ(s.broadcast_index(i, n, n), i);
  EXPECT_EQ(s.broadcast_index(i, Poly(1), n), Poly(0));
}

TEST_F(PolyTest, SubstitutionReachesInsideDefinedSymbols) {
  const Poly half = s.floor_div(n, Poly(2));
  EXPECT_EQ(s.substitute(half + c, {{*n.as_symbol(), Poly(4) * c}}), Poly(3) * c);
  EXPECT_EQ(s.substitute(s.max(n, c), {{*n.as_symbol(), c + Poly(1)}}), c + Poly(1));
  const Poly e = s.element(2, {i});
  EXPECT_EQ(s.substitute(e, {{*i.as_symbol(), Poly(3)}}), s.element(2, {Poly(3)}));
}

TEST_F(PolyTest, SubstitutionIsSimultaneous) {
  const auto a = *n.as_symbol();
  const auto b = *c.as_symbol();
  EXPECT_EQ(s.substitute(n - Poly(2) * c, {{a, c}, {b, n}}), c - Poly(2) * n);
}

TEST_F(PolyTest, EqualCanonicalFormsHaveEqualValues) {
  // Everything floor_div, max and substitute simplify must keep the value on small integers.
  std::mt19937 random(7);
  const std::vector<Poly> atoms{n, c, g, Poly(1), Poly(2), Poly(3)};
  for (int round = 0; round < 2000; ++round) {
    const auto pick = [&] { return atoms[random() % atoms.size()]; };
    const Poly a = pick() * pick() * Poly(static_cast<std::int64_t>(random() % 7) - 3) + pick() -
                   pick() * Poly(static_cast<std::int64_t>(random() % 3));
    const Poly b = random() % 2 == 0 ? pick() : pick() * pick();
    const Poly inner = s.floor_div(a, b);
    const Poly outer = s.floor_div(inner + pick(), pick());
    const Poly larger = s.max(inner, a - pick());
    std::unordered_map<SymbolId, std::int64_t> values;
    for (const Poly& x : {n, c, g}) values[*x.as_symbol()] = 1 + static_cast<std::int64_t>(random() % 6);
    const auto value = [&](SymbolId id) -> std::optional<std::int64_t> { return values.at(id); };
    const auto va = *s.evaluate(a, value);
    const auto vb = *s.evaluate(b, value);
    const auto floor = [](std::int64_t x, std::int64_t y) { return (x >= 0 ? x : x - y + 1) / y; };
    EXPECT_EQ(*s.evaluate(inner, value), floor(va, vb)) << s.to_string(a) << " / " << s.to_string(b) << " = " << s.to_string(inner);
    EXPECT_TRUE(s.evaluate(outer, value).has_value());
    EXPECT_GE(*s.evaluate(larger, value), *s.evaluate(inner, value));
    if (const auto low = s.lower_bound(inner)) {
      EXPECT_GE(*s.evaluate(inner, value), *low);
    }
    if (const auto low = s.lower_bound(larger)) {
      EXPECT_GE(*s.evaluate(larger, value), *low);
    }
  }
}

TEST_F(PolyTest, NestedDivisionKeepsItsValue) {
  for (std::int64_t x = 1; x < 40; ++x) {
    const auto value = [&](SymbolId) -> std::optional<std::int64_t> { return x; };
    for (std::int64_t b = 1; b < 5; ++b)
      for (std::int64_t d = 1; d < 5; ++d)
        for (std::int64_t shift = -3; shift < 4; ++shift) {
          const Poly nested = s.floor_div(s.floor_div(n, Poly(b)) + Poly(shift), Poly(d));
          const std::int64_t inner = x / b + shift;
          const std::int64_t expected = (inner >= 0 ? inner : inner - d + 1) / d;
          EXPECT_EQ(*s.evaluate(nested, value), expected);
        }
  }
}

}  // namespace
}  // namespace xflow::ir
