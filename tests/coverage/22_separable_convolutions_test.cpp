#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using SeparableConvolutions = Coverage;

TEST_F(SeparableConvolutions, AreMergedWhereThatIsCheaper) {
  const ValueId few = input("x", {dim("N", 1), 4, 12, 12});
  const ValueId y = conv(conv(few, weight({4, 1, 3, 3}), 1, 4), weight({4, 4, 1, 1}));
  EXPECT_EQ(search({y}, {.max_growth = 3}).form, "v1 = conv(x, [4, 4, 3, 3]); v1");
  EXPECT_EQ(count(search({y}, {.without = {"pointwise-convolution-of-depthwise-convolution"}, .max_growth = 3}).graph, "conv"), 2U);
}

TEST_F(SeparableConvolutions, StayWhereTheyAreCheaper) {
  const ValueId many = input("x", {1, 64, 6, 6});
  const ValueId y = conv(conv(many, weight({64, 1, 3, 3}), 1, 64), weight({64, 64, 1, 1}));
  EXPECT_EQ(search({y}, {.max_growth = 100}).form, "v1 = conv(x, [64, 1, 3, 3], groups: 64); v2 = conv(v1, [64, 64, 1, 1]); v2");
}

}  // namespace
}  // namespace xflow::coverage
