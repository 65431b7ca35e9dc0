#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using EnlargedKernels = Coverage;

// A fire module: windows of 1x1 and of 3x3 side by side. What comes before is expensive, so that the relu may first move out of the
// branches.
TEST_F(EnlargedKernels, OfOneByOneAreMergedWithThoseOfThreeByThree) {
  const ValueId x = conv(input("x", {dim("N", 1), 64, 8, 8}), weight({16, 64, 3, 3}), 1);
  const ValueId small = relu(add(conv(x, weight({2, 16, 1, 1})), weight({1, 2, 1, 1})));
  const ValueId large = relu(add(conv(x, weight({4, 16, 3, 3}), 1), weight({1, 4, 1, 1})));
  const ValueId y = concat({small, large}, 1);
  const Found found = search({y}, {.max_growth = 1});
  EXPECT_EQ(found.form, "v1 = conv(x, [16, 64, 3, 3]); v2 = conv(v1, [6, 16, 3, 3]); v3 = add(v2, [1, 6, 1, 1]); v4 = relu(v3); v4");
  const std::string rule = "concat-of-biased-convolutions-of-two-sizes";
  EXPECT_TRUE(found.rules.contains(rule));
  const std::vector<std::string> all{rule, "merge-biased-convolutions-of-two-sizes", "concat-of-convolutions-of-two-sizes",
                                     "merge-convolutions-of-two-sizes"};
  EXPECT_EQ(count(search({y}, {.without = all, .max_growth = 1}).graph, "conv"), 3U);
}

TEST_F(EnlargedKernels, AreMergedWithASplitBehind) {
  const ValueId x = input("x", {dim("N", 1), 16, 8, 8});
  const std::vector<ValueId> siblings{conv(x, weight({2, 16, 1, 1})), conv(x, weight({2, 16, 3, 3}), 1)};
  const Found found = search(siblings, {.max_growth = 1});
  EXPECT_EQ(found.form, "v1 = conv(x, [4, 16, 3, 3]); v2 = split(v1); v2.1, v2.0");
  EXPECT_EQ(count(search(siblings, {.without = {"merge-convolutions-of-two-sizes"}, .max_growth = 1}).graph, "conv"), 2U);
}

TEST_F(EnlargedKernels, WithBiasesAreMergedWithASplitBehind) {
  const ValueId x = input("x", {1, 16, 8, 8});
  const std::vector<ValueId> siblings{add(conv(x, weight({2, 16, 1, 1})), weight({1, 2, 1, 1})),
                                      add(conv(x, weight({2, 16, 3, 3}), 1), weight({1, 2, 1, 1}))};
  const Found found = search(siblings, {.max_growth = 1});
  EXPECT_EQ(found.form, "v1 = conv(x, [4, 16, 3, 3]); v2 = add(v1, [1, 4, 1, 1]); v3 = split(v2); v3.1, v3.0");
}

TEST_F(EnlargedKernels, OfOneByThreeAndThreeByOneAreBothEnlarged) {
  const ValueId x = input("x", {1, 16, 8, 8});
  const auto pads = [](std::int64_t rows, std::int64_t columns) { return std::vector<Poly>{rows, columns, rows, columns}; };
  const ValueId row = op("conv", {x, weight({2, 16, 1, 3})}, {{"pads", pads(0, 1)}});
  const ValueId column = op("conv", {x, weight({2, 16, 3, 1})}, {{"pads", pads(1, 0)}});
  const Found found = search({concat({row, column}, 1)}, {.max_growth = 3});
  EXPECT_EQ(found.form, "v1 = conv(x, [4, 16, 3, 3]); v1");
}

TEST_F(EnlargedKernels, AreAddedToLargerOnes) {
  const ValueId x = input("x", {1, 8, 8, 8});
  const ValueId y = add(conv(x, weight({8, 8, 1, 1})), conv(x, weight({8, 8, 3, 3}), 1));
  EXPECT_EQ(search({y}).form, "v1 = conv(x, [8, 8, 3, 3]); v1");
}

}  // namespace
}  // namespace xflow::coverage
