#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using ConvolutionsOfBatches = Coverage;

TEST_F(ConvolutionsOfBatches, WithOneKernelAreOne) {
  const ValueId x = input("x", {dim("N", 1), 16, 4, 4});
  const ValueId z = input("z", {dim("M", 2), 16, 4, 4});
  const ValueId w = weight({64, 8, 3, 3});
  const std::vector<ValueId> both{conv(x, w, 0, 2), conv(z, w, 0, 2)};
  const SearchOptions slow_memory{.device = {.launch = 10}};
  EXPECT_EQ(search(both, slow_memory).form, "v1 = concat(x, z); v2 = conv(v1, [64, 8, 3, 3], groups: 2); v3 = split(v2); v3.0, v3.1");
  EXPECT_EQ(count(search(both, {.device = {.launch = 10}, .without = {"merge-convolutions-of-batches"}}).graph, "conv"), 2U);
}

TEST_F(ConvolutionsOfBatches, AreOneWhereTheResultsAreConcatenated) {
  const ValueId x = input("x", {1, 16, 4, 4});
  const ValueId z = input("z", {2, 16, 4, 4});
  const ValueId w = weight({16, 16, 3, 3});
  EXPECT_EQ(search({concat({conv(x, w), conv(z, w)}, 0)}).form, "v1 = concat(x, z); v2 = conv(v1, [16, 16, 3, 3]); v2");
  EXPECT_EQ(count(search({concat({conv(x, w), conv(z, w)}, 0)}, {.without = {"merge-convolutions-of-batches"}}).graph, "conv"), 2U);
}

}  // namespace
}  // namespace xflow::coverage
