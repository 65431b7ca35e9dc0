#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using ConvolutionsOverSums = Coverage;

TEST_F(ConvolutionsOverSums, OfInputsAreOne) {
  const ValueId x = input("x", {dim("N", 1), 8, 8, 8});
  const ValueId z = input("z", {dim("N", 1), 8, 8, 8});
  const ValueId w = weight({8, 4, 3, 3});
  const ValueId y = add(conv(x, w, 1, 2), conv(z, w, 1, 2));
  EXPECT_EQ(search({y}).form, "v1 = add(x, z); v2 = conv(v1, [8, 4, 3, 3], groups: 2); v2");
  EXPECT_EQ(count(search({y}, {.without = {"sum-of-convolutions-sharing-kernel", "merge-convolutions-of-batches"}}).graph, "conv"), 2U);
}

TEST_F(ConvolutionsOverSums, OfWeightsAreOne) {
  const ValueId x = input("x", {dim("N", 1), 8, 8, 8});
  const ValueId y = add(conv(x, weight({8, 4, 3, 3}), 1, 2), conv(x, weight({8, 4, 3, 3}), 1, 2));
  EXPECT_EQ(search({y}).form, "v1 = conv(x, [8, 4, 3, 3], groups: 2); v1");
  EXPECT_EQ(count(search({y}, {.without = {"sum-of-convolutions", "sum-of-convolutions-of-two-sizes"}}).graph, "conv"), 2U);
}

TEST_F(ConvolutionsOverSums, OfInputsAndWeightsAreOneOverConcatenatedChannels) {
  const ValueId x = input("x", {1, 2, 16, 16});
  const ValueId z = input("z", {1, 3, 16, 16});
  const ValueId y = add(conv(x, weight({16, 2, 3, 3}), 1), conv(z, weight({16, 3, 3, 3}), 1));
  EXPECT_EQ(search({y}).form, "v1 = concat(x, z); v2 = conv(v1, [16, 5, 3, 3]); v2");
  EXPECT_EQ(count(search({y}, {.without = {"sum-of-convolutions-over-channels"}}).graph, "conv"), 2U);
}

}  // namespace
}  // namespace xflow::coverage
