#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using SiblingProducts = Coverage;

TEST_F(SiblingProducts, OfQueryKeyAndValueAreOne) {
  const ValueId x = input("x", {dim("B", 1), dim("S", 4), 64});
  const std::vector<ValueId> siblings{matmul(x, weight({64, 8})), matmul(x, weight({64, 8})), matmul(x, weight({64, 4}))};
  EXPECT_EQ(search(siblings).form, "v1 = matmul(x, [64, 20]); v2 = split(v1); v2.0, v2.1, v2.2");
  const Found found = search(siblings, {.without = {"merge-3-matmuls-sharing-lhs", "merge-matmuls-sharing-lhs"}});
  EXPECT_EQ(count(found.graph, "matmul"), 3U);
  EXPECT_EQ(form(apply("merge-3-matmuls-sharing-lhs", Graph{siblings})), "v1 = matmul(x, [64, 20]); v2 = split(v1); v2.0, v2.1, v2.2");
}

TEST_F(SiblingProducts, WithBiasesAreOne) {
  const ValueId x = input("x", {4, 64});
  const auto projection = [&] { return add(matmul(x, weight({64, 8})), weight({8})); };
  const std::vector<ValueId> siblings{projection(), projection(), projection()};
  const std::string merged = "v1 = matmul(x, [64, 24]); v2 = add(v1, [24]); v3 = split(v2); v3.0, v3.1, v3.2";
  EXPECT_EQ(search(siblings).form, merged);
  EXPECT_EQ(form(apply("merge-3-biased-matmuls-sharing-lhs", Graph{siblings})), merged);
}

}  // namespace
}  // namespace xflow::coverage
