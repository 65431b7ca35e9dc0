#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using Distributivity = Coverage;

TEST_F(Distributivity, OfProductsTakesTheSumOfRightOperands) {
  const ValueId x = input("x", {dim("M", 64), 16});
  const ValueId a = input("a", {16, 16});
  const ValueId b = input("b", {16, 16});
  const ValueId y = add(matmul(x, a), matmul(x, b));
  EXPECT_EQ(search({y}).form, "v1 = add(a, b); v2 = matmul(x, v1); v2");
  EXPECT_EQ(count(search({y}, {.without = {"sum-of-matmuls-sharing-lhs", "merge-matmuls-sharing-lhs"}}).graph, "matmul"), 2U);
}

TEST_F(Distributivity, OfProductsTakesTheSumOfLeftOperands) {
  const ValueId x = input("x", {dim("M", 16), 16});
  const ValueId z = input("z", {dim("M", 16), 16});
  const ValueId a = input("a", {16, 64});
  const ValueId y = add(matmul(x, a), matmul(z, a));
  EXPECT_EQ(search({y}).form, "v1 = add(x, z); v2 = matmul(v1, a); v2");
  EXPECT_EQ(count(search({y}, {.without = {"sum-of-matmuls-sharing-rhs", "merge-matmuls-sharing-rhs"}}).graph, "matmul"), 2U);
}

TEST_F(Distributivity, TakesASumOfRightOperandsApartForFewRows) {
  const ValueId x = input("x", {1, 64});
  const ValueId a = input("a", {64, 64});
  const ValueId b = input("b", {64, 64});
  const ValueId y = matmul(x, add(a, b));
  EXPECT_EQ(search({y}).form, "v1 = matmul(x, a); v2 = matmul(x, b); v3 = add(v1, v2); v3");
  EXPECT_EQ(search({y}, {.without = {"matmul-of-sum-of-weights"}}).form, "v1 = add(a, b); v2 = matmul(x, v1); v2");
}

TEST_F(Distributivity, TakesASumOfLeftOperandsApartForFewColumns) {
  const ValueId x = input("x", {dim("M", 64), 64});
  const ValueId z = input("z", {dim("M", 64), 64});
  const ValueId y = matmul(add(x, z), input("a", {64, 2}));
  EXPECT_EQ(search({y}).form, "v1 = matmul(x, a); v2 = matmul(z, a); v3 = add(v1, v2); v3");
  EXPECT_EQ(search({y}, {.without = {"matmul-of-sum"}}).form, "v1 = add(x, z); v2 = matmul(v1, a); v2");
}

}  // namespace
}  // namespace xflow::coverage
