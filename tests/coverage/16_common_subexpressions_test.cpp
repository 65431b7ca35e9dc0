#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using CommonSubexpressions = Coverage;

TEST_F(CommonSubexpressions, AreComputedOnce) {
  const ValueId x = input("x", {dim("N", 2), 8});
  // Two calls for one value.
  const ValueId y = add(matmul(op("tanh", {x}), weight({8, 4})), matmul(op("tanh", {x}), weight({8, 4})));
  EXPECT_EQ(count(Graph{{y}}, "tanh"), 1U);
}

TEST_F(CommonSubexpressions, ThatRulesMakeEqualAreComputedOnce) {
  const ValueId x = input("x", {dim("N", 2), 8});
  const ValueId turned = transpose(transpose(x, {1, 0}), {1, 0});
  const ValueId y = op("sub", {op("exp", {op("tanh", {turned})}), op("tanh", {x})});
  EXPECT_EQ(count(Graph{{y}}, "tanh"), 2U);
  EXPECT_EQ(search({y}).form, "v1 = tanh(x); v2 = exp(v1); v3 = sub(v2, v1); v3");
}

}  // namespace
}  // namespace xflow::coverage
