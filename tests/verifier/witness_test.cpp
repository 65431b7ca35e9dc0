#include "src/verifier/proof/witness.h"

#include <gtest/gtest.h>

#include <random>

namespace xflow::verifier {
namespace {

using ir::Poly;
using ir::SymbolKind;

class WitnessTest : public ::testing::Test {
 protected:
  // Two equations of products, which moving one symbol at a time satisfies by chance alone.
  ops::Condition random_condition() {
    const auto number = [&](int most) { return Poly(static_cast<std::int64_t>(random() % static_cast<unsigned>(most))); };
    return {ops::equal(n * p, m * i + number(9)), ops::equal(n + m, i + number(7)), ops::at_least(p, number(4))};
  }

  std::mt19937 random{3};
  ir::Symbols symbols;
  Poly n{symbols.named(SymbolKind::dimension, "N")};
  Poly m{symbols.named(SymbolKind::dimension, "M")};
  Poly p{symbols.named(SymbolKind::parameter, "p")};
  Poly i{symbols.named(SymbolKind::index, "i")};
};

TEST_F(WitnessTest, WhatIsFoundSatisfiesFactsAndCondition) {
  Witness witness(symbols);
  int found = 0;
  for (int k = 0; k < 100; ++k) {
    const ops::Condition facts = {ops::at_least(n + p, Poly(k % 8))};
    const ops::Condition condition = random_condition();
    if (!witness.exists(facts, condition, 6)) continue;
    ++found;
    EXPECT_EQ(witness.holds(facts), true);
    EXPECT_EQ(witness.holds(condition), true);
  }
  EXPECT_GT(found, 20);
}

TEST_F(WitnessTest, BeginningAgainFindsMore) {
  int once = 0;
  int often = 0;
  for (int k = 0; k < 100; ++k) {
    const ops::Condition condition = random_condition();
    Witness first(symbols);
    Witness second(symbols);
    const bool at_once = first.exists({}, condition);
    const bool at_last = second.exists({}, condition, 12);
    EXPECT_TRUE(at_last || !at_once);
    once += at_once ? 1 : 0;
    often += at_last ? 1 : 0;
  }
  EXPECT_GT(often, once + 10);
}

TEST_F(WitnessTest, OfWhatIsContradictoryThereIsNone) {
  Witness witness(symbols);
  const ops::Condition condition = {ops::equal(n * n, m * m * Poly(2))};
  EXPECT_FALSE(witness.exists({}, condition, 12));
}

}  // namespace
}  // namespace xflow::verifier
