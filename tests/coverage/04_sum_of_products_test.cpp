#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using SumOfProducts = Coverage;

TEST_F(SumOfProducts, IsAProductOfConcatenations) {
  const ValueId x = input("x", {dim("M", 32), 8});
  const ValueId z = input("z", {dim("M", 32), 4});
  const ValueId y = add(matmul(x, weight({8, 64})), matmul(z, weight({4, 64})));
  EXPECT_EQ(search({y}).form, "v1 = concat(x, z); v2 = matmul(v1, [12, 64]); v2");
  EXPECT_EQ(count(search({y}, {.without = {"sum-of-matmuls"}}).graph, "matmul"), 2U);
}

}  // namespace
}  // namespace xflow::coverage
