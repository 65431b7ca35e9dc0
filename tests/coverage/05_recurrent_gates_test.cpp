#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using RecurrentGates = Coverage;

// A cell of an LSTM, with the products of each gate written out.
TEST_F(RecurrentGates, AreOneProduct) {
  const ValueId x = input("x", {dim("B", 1), 16});
  const ValueId h = input("h", {dim("B", 1), 16});
  const ValueId c = input("c", {dim("B", 1), 16});
  const auto gate = [&](std::string_view activation) {
    const ValueId sum = add(matmul(x, weight({16, 16})), matmul(h, weight({16, 16})));
    return op(activation, {add(sum, weight({16}))});
  };
  const ValueId cell = add(mul(gate("sigmoid"), c), mul(gate("sigmoid"), gate("tanh")));
  const ValueId hidden = mul(gate("sigmoid"), op("tanh", {cell}));
  // Small products do not fill the device: one takes as long as the next.
  const SearchOptions wide{.device = {.least_product = 20000}};
  const Found found = search({hidden, cell}, wide);
  EXPECT_EQ(found.form,
            "v1 = concat(x, h); v2 = matmul(v1, [32, 64]); v3 = add(v2, [64]); v4 = split(v3); v5 = sigmoid(v4.0); v6 = split(v5); "
            "v7 = sigmoid(v4.1); v8 = mul(v7, c); v9 = tanh(v4.2); v10 = mul(v6.1, v9); v11 = add(v8, v10); v12 = tanh(v11); "
            "v13 = mul(v6.0, v12); v13, v11");
  SearchOptions without = wide;
  without.without = {"sum-of-matmuls"};
  EXPECT_GT(count(search({hidden, cell}, without).graph, "matmul"), 1U);
}

TEST_F(RecurrentGates, WithEqualFunctionsAreOneLaunchEach) {
  const ValueId x = input("x", {1, 16});
  std::vector<ValueId> gates;
  for (int k = 0; k < 4; ++k) gates.push_back(op("sigmoid", {matmul(x, weight({16, 16}))}));
  const Graph sums{{add(gates[0], gates[1]), add(gates[2], gates[3])}};
  EXPECT_EQ(form(apply("merge-4-matmuls-sharing-lhs", sums)),
            "v1 = matmul(x, [16, 64]); v2 = split(v1); v3 = sigmoid(v2.0); v4 = sigmoid(v2.1); v5 = add(v3, v4); v6 = sigmoid(v2.2); "
            "v7 = sigmoid(v2.3); v8 = add(v6, v7); v5, v8");
  EXPECT_EQ(count(apply("sigmoid-of-4-values", sums), "sigmoid"), 1U);
  EXPECT_EQ(count(apply("sum-of-2-values", sums), "add"), 1U);
}

}  // namespace
}  // namespace xflow::coverage
