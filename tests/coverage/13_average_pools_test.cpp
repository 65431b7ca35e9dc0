#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using AveragePools = Coverage;

TEST_F(AveragePools, OfTwoSizesAndTheirSumAreADepthwiseConvolution) {
  const ValueId x = input("x", {dim("N", 1), 4, 8, 8});
  const ValueId y = conv(add(average_pool(x, 3, 1), average_pool(x, 5, 2)), weight({4, 4, 1, 1}));
  EXPECT_EQ(search({y}, {.max_growth = 7}).form, "v1 = conv(x, [4, 1, 5, 5], groups: 4); v2 = conv(v1, [4, 4, 1, 1]); v2");
  const Found found = search({y}, {.without = {"sum-of-average-pools-of-two-sizes"}, .max_growth = 7});
  EXPECT_EQ(count(found.graph, "average_pool"), 2U);
}

TEST_F(AveragePools, OfOneSizeAndTheirSumAreOnePool) {
  const ValueId x = input("x", {dim("N", 1), 4, 8, 8});
  const ValueId y = conv(add(average_pool(x, 3, 1), average_pool(x, 3, 1)), weight({4, 4, 1, 1}));
  EXPECT_EQ(search({y}, {.max_growth = 3}).form, "v1 = average_pool(x); v2 = conv(v1, [4, 4, 1, 1]); v2")
      << "its factor of 2 is in the weight";
}

TEST_F(AveragePools, OfTwoInputsAndTheirSumAreOnePool) {
  const ValueId x = input("x", {dim("N", 1), 4, 8, 8});
  const ValueId z = input("z", {dim("N", 1), 4, 8, 8});
  const ValueId y = add(average_pool(x, 3, 1), average_pool(z, 3, 1));
  EXPECT_EQ(search({y}).form, "v1 = add(x, z); v2 = average_pool(v1); v2");
  EXPECT_EQ(count(search({y}, {.without = {"sum-of-average-pools"}}).graph, "average_pool"), 2U);
}

}  // namespace
}  // namespace xflow::coverage
