#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using Associativity = Coverage;

TEST_F(Associativity, OfProductsIsUsedToTheRight) {
  const ValueId x = input("x", {dim("B", 2), dim("M", 64), 4});
  const ValueId a = input("a", {4, 32});
  const ValueId b = input("b", {32, 4});
  const ValueId y = matmul(matmul(x, a), b);
  EXPECT_EQ(search({y}).form, "v1 = matmul(a, b); v2 = matmul(x, v1); v2");
  EXPECT_EQ(search({y}, {.without = {"associate-matmul-right"}}).form, "v1 = matmul(x, a); v2 = matmul(v1, b); v2");
}

TEST_F(Associativity, OfProductsIsUsedToTheLeft) {
  const ValueId x = input("x", {1, 64});
  const ValueId a = input("a", {64, 4});
  const ValueId b = input("b", {4, 64});
  const ValueId y = matmul(x, matmul(a, b));
  EXPECT_EQ(search({y}).form, "v1 = matmul(x, a); v2 = matmul(v1, b); v2");
  EXPECT_EQ(search({y}, {.without = {"associate-matmul-left"}}).form, "v1 = matmul(a, b); v2 = matmul(x, v1); v2");
}

}  // namespace
}  // namespace xflow::coverage
