#include "src/verifier/algebra/ranges.h"

#include <gtest/gtest.h>

namespace xflow::verifier {
namespace {

using ir::SymbolKind;

class RangesTest : public ::testing::Test {
 protected:
  ir::Symbols s;
  Poly n{s.named(SymbolKind::dimension, "N")};
  Poly m{s.named(SymbolKind::dimension, "M")};
  Poly p{s.named(SymbolKind::parameter, "p")};
  Poly i{s.named(SymbolKind::index, "i")};
  Poly j{s.named(SymbolKind::index, "j")};
};

TEST_F(RangesTest, BoundsOfIndicesAreUsed) {
  const Condition known = {ops::at_least(i, Poly(0)), ops::less_than(i, n), ops::at_least(j, Poly(0)), ops::less_than(j, m)};
  const Ranges ranges(s, {known});
  EXPECT_TRUE(ranges.at_least_zero(n * m - Poly(1) - i * m - j));
  EXPECT_TRUE(ranges.in_range(i * m + j, n * m));
  EXPECT_FALSE(ranges.at_least_zero(n * m - Poly(2) - i * m - j));
  EXPECT_FALSE(ranges.at_least_zero(n - m));
  EXPECT_FALSE(ranges.at_least_zero(p));
}

TEST_F(RangesTest, ProductsOfSizesOutweighTheirParts) {
  const Condition known = {ops::at_least(p, Poly(2))};
  const Ranges ranges(s, {known});
  EXPECT_TRUE(ranges.at_least_zero(n * m - n));
  EXPECT_TRUE(ranges.at_least_zero(n * p - n - Poly(1)));
  EXPECT_FALSE(ranges.at_least_zero(n * p - n * Poly(3)));
  EXPECT_FALSE(ranges.at_least_zero(n * p - m));
}

TEST_F(RangesTest, AnAtomThatIsLeftOutIsNotKnown) {
  const Condition known = {ops::at_least(i, Poly(0)), ops::less_than(i, n), ops::at_least(p, Poly(1))};
  Ranges ranges(s, {known});
  const Poly last = n - i - Poly(1);
  EXPECT_TRUE(ranges.at_least_zero(last));
  EXPECT_TRUE(ranges.at_least_zero(p - Poly(1)));
  ranges.leave_out(&known[1]);
  EXPECT_FALSE(ranges.at_least_zero(last));
  EXPECT_TRUE(ranges.at_least_zero(i));
  ranges.leave_out(&known[2]);
  EXPECT_TRUE(ranges.at_least_zero(last));
  EXPECT_FALSE(ranges.at_least_zero(p - Poly(1)));
  EXPECT_FALSE(ranges.at_least_zero(p));
}

}  // namespace
}  // namespace xflow::verifier
