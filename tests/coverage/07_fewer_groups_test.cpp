#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using FewerGroups = Coverage;

TEST_F(FewerGroups, HaveKernelsAsBlocksOnTheDiagonal) {
  const ValueId y = conv(input("x", {dim("N", 1), 16, 6, 6}), weight({24, 2, 3, 3}), 1, 8);
  const SearchOptions in_turn{.device = {.per_group = 20000}, .max_growth = 8};
  EXPECT_EQ(search({y}, in_turn).form, "v1 = conv(x, [24, 16, 3, 3]); v1");
  // More arithmetic does not pay where groups run side by side.
  EXPECT_EQ(search({y}, {.max_growth = 8}).form, "v1 = conv(x, [24, 2, 3, 3], groups: 8); v1");
}

TEST_F(FewerGroups, StandBetweenWhereTheArithmeticIsMoreExpensive) {
  const ValueId y = conv(input("x", {1, 16, 6, 6}), weight({16, 2, 3, 3}), 1, 8);
  const SearchOptions in_turn{.device = {.bandwidth = 1e12, .peak = 5e9, .per_group = 2000}, .max_growth = 8};
  EXPECT_EQ(search({y}, in_turn).form, "v1 = conv(x, [16, 4, 3, 3], groups: 4); v1");
  SearchOptions without = in_turn;
  without.without = {"convolution-with-half-the-groups"};
  EXPECT_EQ(search({y}, without).form, "v1 = conv(x, [16, 2, 3, 3], groups: 8); v1");
}

}  // namespace
}  // namespace xflow::coverage
