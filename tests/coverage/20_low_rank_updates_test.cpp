#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

class LowRankUpdates : public Coverage {
 protected:
  const ValueId x = input("x", {dim("B", 1), dim("S", 8), 32});
};

TEST_F(LowRankUpdates, OfConstantsArePartOfTheWeight) {
  const ValueId y = add(matmul(x, weight({32, 32})), matmul(matmul(x, weight({32, 2})), weight({2, 32})));
  const Found found = search({y});
  EXPECT_EQ(found.form, "v1 = matmul(x, [32, 32]); v1");
  EXPECT_TRUE(found.rules.contains("low-rank-beside-matmul"));
}

TEST_F(LowRankUpdates, AreAProductOfConcatenations) {
  const ValueId y = add(matmul(x, weight({32, 64})), matmul(matmul(x, input("a", {32, 2})), weight({2, 64})));
  EXPECT_EQ(search({y}).form, "v1 = matmul(x, a); v2 = concat(x, v1); v3 = matmul(v2, [34, 64]); v3");
  EXPECT_EQ(count(search({y}, {.without = {"sum-of-matmuls"}}).graph, "matmul"), 3U);
}

}  // namespace
}  // namespace xflow::coverage
