#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

// Scales and shifts by constants, as of batch normalisation, are part of the weights beside them.
class FoldedNormalisation : public Coverage {
 protected:
  ValueId normalised(ValueId x, std::int64_t channels) {
    return add(mul(add(x, weight({channels, 1, 1})), weight({channels, 1, 1})), weight({channels, 1, 1}));
  }
};

TEST_F(FoldedNormalisation, BehindAConvolution) {
  const ValueId y = normalised(conv(input("x", {dim("N", 1), 8, 8, 8}), weight({6, 4, 3, 3}), 1, 2), 6);
  EXPECT_EQ(search({y}).form, "v1 = conv(x, [6, 4, 3, 3], groups: 2); v2 = add(v1, [6, 1, 1]); v2");
}

TEST_F(FoldedNormalisation, BeforeAConvolution) {
  const ValueId y = conv(normalised(input("x", {dim("N", 1), 8, 8, 8}), 8), weight({6, 8, 3, 3}));
  EXPECT_EQ(search({y}).form, "v1 = conv(x, [6, 8, 3, 3]); v2 = add(v1, [1, 6, 1, 1]); v2");
  EXPECT_EQ(count(search({y}, {.without = {"convolution-of-shift", "convolution-of-scale"}}).graph, "mul"), 1U);
}

TEST_F(FoldedNormalisation, AroundAProduct) {
  const ValueId x = input("x", {dim("B", 1), dim("S", 8), 16});
  const ValueId before = add(mul(x, weight({16})), weight({16}));
  const ValueId y = mul(add(matmul(before, weight({16, 12})), weight({12})), number(0.25));
  EXPECT_EQ(search({y}).form, "v1 = matmul(x, [16, 12]); v2 = add(v1, [1, 12]); v2");
}

TEST_F(FoldedNormalisation, OfBlocksThatAreConcatenated) {
  const ValueId x = input("x", {1, 8, 8, 8});
  const ValueId z = input("z", {1, 8, 8, 8});
  const ValueId y = normalised(concat({conv(x, weight({4, 8, 3, 3})), conv(z, weight({6, 8, 3, 3}))}, 1), 10);
  EXPECT_EQ(
      search({y}).form,
      "v1 = conv(x, [4, 8, 3, 3]); v2 = add(v1, [4, 1, 1]); v3 = conv(z, [6, 8, 3, 3]); v4 = add(v3, [6, 1, 1]); v5 = concat(v2, v4); v5");
}

}  // namespace
}  // namespace xflow::coverage
