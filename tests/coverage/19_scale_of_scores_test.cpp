#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

class ScaleOfScores : public Coverage {
 protected:
  const Poly b = dim("B", 1);
  const Poly s = dim("S", 4);
  const ValueId x = input("x", {b, s, 8});
  const ValueId k = input("k", {b, 2, 4, dim("T", 6)});
  ValueId heads(ValueId q) { return transpose(reshape(q, {b, s, 2, 4}), {0, 2, 1, 3}); }
  ValueId softmax(ValueId scores) { return op("softmax", {scores}, {{"axis", Poly(3)}}); }
};

TEST_F(ScaleOfScores, IsPartOfTheWeightOfTheQuery) {
  const ValueId y = softmax(mul(matmul(heads(matmul(x, weight({8, 8}))), k), number(0.5)));
  EXPECT_EQ(search({y}).form, "v1 = matmul(x, [8, 8]); v2 = reshape(v1); v3 = transpose(v2); v4 = matmul(v3, k); v5 = softmax(v4); v5");
  EXPECT_EQ(count(search({y}, {.without = {"scale-of-scores-into-query"}}).graph, "mul"), 1U);
}

TEST_F(ScaleOfScores, WrittenAsADivisionIsPartOfAQueryWithBias) {
  const ValueId q = add(matmul(x, weight({8, 8})), weight({8}));
  const ValueId y = softmax(op("div", {matmul(heads(q), k), number(2)}));
  EXPECT_EQ(search({y}).form,
            "v1 = matmul(x, [8, 8]); v2 = add(v1, [8]); v3 = reshape(v2); v4 = transpose(v3); v5 = matmul(v4, k); v6 = softmax(v5); v6");
}

TEST_F(ScaleOfScores, TakenOfTheQueryIsPartOfItsWeight) {
  const ValueId q = mul(heads(add(matmul(x, weight({8, 8})), weight({8}))), number(0.5));
  const ValueId y = softmax(matmul(q, k));
  EXPECT_EQ(search({y}).form,
            "v1 = matmul(x, [8, 8]); v2 = add(v1, [8]); v3 = reshape(v2); v4 = transpose(v3); v5 = matmul(v4, k); v6 = softmax(v5); v6");
}

}  // namespace
}  // namespace xflow::coverage
