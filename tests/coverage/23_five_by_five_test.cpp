#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using FiveByFive = Coverage;

// On a device that needs less than half of the operations for windows of 3x3, as by Winograd's method.
TEST_F(FiveByFive, ConvolutionsAreSumsOfThreeByThree) {
  const ValueId y = conv(input("x", {dim("N", 1), 8, 8, 8}), weight({8, 8, 5, 5}), 2);
  const SearchOptions quick{.device = {.launch = 10, .bandwidth = 1e11, .peak = 1e9, .small_window = 0.4}, .max_growth = 1};
  const Found found = search({y}, quick);
  EXPECT_EQ(found.form,
            "v1 = conv(x, [8, 8, 3, 3]); v2 = conv(x, [8, 8, 3, 3]); v3 = add(v1, v2); v4 = conv(x, [8, 8, 3, 3]); v5 = add(v3, v4); "
            "v6 = conv(x, [8, 8, 3, 3]); v7 = add(v5, v6); v7");
  SearchOptions even = quick;
  even.device.small_window = 1;
  EXPECT_EQ(search({y}, even).form, "v1 = conv(x, [8, 8, 5, 5]); v1");
}

TEST_F(FiveByFive, ConvolutionsWithStridesAndMorePaddingAreSumsToo) {
  const Graph graph{{conv(input("x", {1, 2, 9, 10}), weight({3, 2, 5, 5}), 3, 1, 2)}};
  EXPECT_EQ(count(apply("convolution-of-five-by-five", graph), "conv"), 4U);
}

}  // namespace
}  // namespace xflow::coverage
