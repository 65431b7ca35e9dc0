#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

// A concatenation stands before or behind another operator, whichever is cheaper.
class Concatenations : public Coverage {
 protected:
  const ValueId x = input("x", {dim("N", 1), 4, 8, 8});
  const ValueId z = input("z", {dim("N", 1), 6, 8, 8});
  // What can take up what follows.
  const ValueId cx = conv(x, weight({4, 4, 1, 1}));
  const ValueId cz = conv(z, weight({6, 6, 1, 1}));
  const Roofline slow_launches{.launch = 1e5};
  const Roofline quick_launches{.launch = 1};
};

TEST_F(Concatenations, OfReluAreRelusOfAConcatenation) {
  const ValueId y = concat({relu(x), relu(z)}, 1);
  EXPECT_EQ(search({y}, {.device = slow_launches}).form, "v1 = concat(x, z); v2 = relu(v1); v2");
  EXPECT_EQ(count(search({y}, {.device = slow_launches, .without = {"concat-of-relus"}}).graph, "relu"), 2U);
}

TEST_F(Concatenations, BehindConvolutionsTakeTheReluBefore) {
  const ValueId y = relu(concat({cx, cz}, 1));
  EXPECT_EQ(search({y}).form,
            "v1 = conv(x, [4, 4, 1, 1]); v2 = relu(v1); v3 = conv(z, [6, 6, 1, 1]); v4 = relu(v3); v5 = concat(v2, v4); v5");
  EXPECT_EQ(count(search({y}, {.without = {"relu-of-concat"}}).graph, "relu"), 1U);
}

TEST_F(Concatenations, OfScalesAreOneScale) {
  const ValueId y = concat({mul(x, weight({4, 1, 1})), mul(z, weight({6, 1, 1}))}, 1);
  EXPECT_EQ(search({y}, {.device = slow_launches}).form, "v1 = concat(x, z); v2 = mul(v1, [10, 1, 1]); v2");
  EXPECT_EQ(count(search({y}, {.device = slow_launches, .without = {"concat-of-scales"}}).graph, "mul"), 2U);
}

TEST_F(Concatenations, BehindConvolutionsTakeTheScaleBefore) {
  const ValueId y = mul(concat({cx, cz}, 1), weight({1, 10, 1, 1}));
  EXPECT_EQ(search({y}).form, "v1 = conv(x, [4, 4, 1, 1]); v2 = conv(z, [6, 6, 1, 1]); v3 = concat(v1, v2); v3");
  EXPECT_EQ(count(search({y}, {.without = {"scale-of-concat"}}).graph, "mul"), 1U);
}

TEST_F(Concatenations, OfShiftsAreOneShift) {
  const ValueId y = concat({add(x, weight({1, 4, 1, 1})), add(z, weight({1, 6, 1, 1}))}, 1);
  EXPECT_EQ(search({y}, {.device = slow_launches}).form, "v1 = concat(x, z); v2 = add(v1, [1, 10, 1, 1]); v2");
  EXPECT_EQ(count(search({y}, {.device = slow_launches, .without = {"concat-of-shifts"}}).graph, "add"), 2U);
}

TEST_F(Concatenations, BehindConvolutionsTakeTheShiftBefore) {
  const ValueId y = add(concat({cx, cz}, 1), weight({10, 1, 1}));
  EXPECT_EQ(
      search({y}).form,
      "v1 = conv(x, [4, 4, 1, 1]); v2 = add(v1, [4, 1, 1]); v3 = conv(z, [6, 6, 1, 1]); v4 = add(v3, [6, 1, 1]); v5 = concat(v2, v4); v5");
  EXPECT_EQ(count(search({y}, {.without = {"shift-of-concat"}}).graph, "add"), 1U);
}

TEST_F(Concatenations, OfPoolsArePoolsOfAConcatenation) {
  const ValueId largest = concat({max_pool(x, 2, 2), max_pool(z, 2, 2)}, 1);
  EXPECT_EQ(search({largest}, {.device = slow_launches}).form, "v1 = concat(x, z); v2 = max_pool(v1); v2");
  EXPECT_EQ(count(search({largest}, {.device = slow_launches, .without = {"concat-of-max-pools"}}).graph, "max_pool"), 2U);
  const ValueId mean = concat({average_pool(x, 3, 1), average_pool(z, 3, 1)}, 1);
  EXPECT_EQ(search({mean}, {.device = slow_launches}).form, "v1 = concat(x, z); v2 = average_pool(v1); v2");
  EXPECT_EQ(count(search({mean}, {.device = slow_launches, .without = {"concat-of-average-pools"}}).graph, "average_pool"), 2U);
}

TEST_F(Concatenations, OfWhatPoolsMadeSmallerAreCheaper) {
  const ValueId largest = max_pool(concat({x, z}, 1), 2, 2);
  EXPECT_EQ(search({largest}, {.device = quick_launches}).form, "v1 = max_pool(x); v2 = max_pool(z); v3 = concat(v1, v2); v3");
  EXPECT_EQ(count(search({largest}, {.device = quick_launches, .without = {"max-pool-of-concat"}}).graph, "max_pool"), 1U);
  const std::vector<Poly> two{2, 2};
  const ValueId mean = op("average_pool", {concat({x, z}, 1)}, {{"kernel", two}, {"strides", two}});
  EXPECT_EQ(search({mean}, {.device = quick_launches}).form, "v1 = average_pool(x); v2 = average_pool(z); v3 = concat(v1, v2); v3");
  EXPECT_EQ(count(search({mean}, {.device = quick_launches, .without = {"average-pool-of-concat"}}).graph, "average_pool"), 1U);
}

}  // namespace
}  // namespace xflow::coverage
