#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using TransposedProducts = Coverage;

TEST_F(TransposedProducts, TakeAnOperandAsItLies) {
  const ValueId x = input("x", {16, dim("M", 64)});
  const ValueId y = transpose(matmul(transpose(x, {1, 0}), weight({16, 24})), {1, 0});
  EXPECT_EQ(search({y}).form, "v1 = matmul([24, 16], x); v1");
  EXPECT_EQ(count(search({y}, {.without = {"transpose-of-matmul*", "matmul-of-transpose"}}).graph, "transpose"), 2U);
}

TEST_F(TransposedProducts, TransposeTheSmallerOfOperandAndResult) {
  const ValueId x = input("x", {64, dim("M", 64)});
  const ValueId y = matmul(transpose(x, {1, 0}), weight({64, 2}));
  EXPECT_EQ(search({y}).form, "v1 = matmul([2, 64], x); v2 = transpose(v1); v2");
  EXPECT_EQ(search({y}, {.without = {"matmul-of-transpose", "transpose-of-matmul-and-transpose*"}}).form,
            "v1 = transpose(x); v2 = matmul(v1, [64, 2]); v2");
}

TEST_F(TransposedProducts, TransposeOnceInsteadOfTwice) {
  const ValueId x = input("x", {32, dim("M", 8)});
  const ValueId a = input("a", {dim("N", 8), 32});
  const ValueId y = matmul(transpose(x, {1, 0}), transpose(a, {1, 0}));
  EXPECT_EQ(search({y}).form, "v1 = matmul(a, x); v2 = transpose(v1); v2");
}

}  // namespace
}  // namespace xflow::coverage
