#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using GateAndUpProjections = Coverage;

TEST_F(GateAndUpProjections, AreOneProduct) {
  const ValueId x = input("x", {dim("B", 1), dim("S", 16), 64});
  const ValueId gate = matmul(x, weight({64, 4}));
  const ValueId up = matmul(x, weight({64, 4}));
  const ValueId y = mul(mul(gate, op("sigmoid", {gate})), up);
  EXPECT_EQ(search({y}).form, "v1 = matmul(x, [64, 8]); v2 = split(v1); v3 = sigmoid(v2.0); v4 = mul(v2.0, v3); v5 = mul(v4, v2.1); v5");
  EXPECT_EQ(count(search({y}, {.without = {"merge-matmuls-sharing-lhs"}}).graph, "matmul"), 2U);
}

}  // namespace
}  // namespace xflow::coverage
