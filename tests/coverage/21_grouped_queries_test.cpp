#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

// Attention with fewer heads of keys and values than of queries.
class GroupedQueries : public Coverage {
 protected:
  const Poly b = dim("B", 1);
  const Poly s = dim("S", 3);
  const Poly t = dim("T", 5);
  const ValueId q = input("q", {b, 8, s, 8});
  const ValueId k = input("k", {b, 2, t, 8});
  const ValueId v = input("v", {b, 2, t, 8});
  ValueId softmax(ValueId scores) { return op("softmax", {scores}, {{"axis", Poly(3)}}); }
  ValueId repeated(ValueId v) { return reshape(expand(reshape(v, {b, 2, 1, t, 8}), {b, 2, 4, t, 8}), {b, 8, t, 8}); }
};

TEST_F(GroupedQueries, DoNotCopyKeysAndValues) {
  const ValueId y = matmul(softmax(matmul(q, transpose(repeated(k), {0, 1, 3, 2}))), repeated(v));
  EXPECT_EQ(search({y}).form,
            "v1 = reshape(q); v2 = transpose(k); v3 = matmul(v1, v2); v4 = reshape(v3); v5 = softmax(v4); v6 = reshape(v5); "
            "v7 = matmul(v6, v); v8 = reshape(v7); v8");
  EXPECT_EQ(count(search({y}, {.without = {"matmul-of-repeated-keys"}}).graph, "expand"), 1U);
  EXPECT_EQ(count(search({y}, {.without = {"matmul-of-repeated-values"}}).graph, "expand"), 1U);
}

TEST_F(GroupedQueries, DoNotCopyKeysWhereScoresAreMasked) {
  const ValueId mask = input("mask", {b, 1, s, t});
  const ValueId scores = matmul(q, transpose(repeated(k), {0, 1, 3, 2}));
  EXPECT_EQ(search({softmax(add(scores, mask))}).form,
            "v1 = reshape(q); v2 = transpose(k); v3 = reshape(v2); v4 = matmul(v1, v3); v5 = reshape(mask); v6 = add(v4, v5); "
            "v7 = reshape(v6); v8 = softmax(v7); v8");
  const ValueId scaled = softmax(add(mul(scores, number(0.5)), mask));
  const std::string rule = "scaled-and-masked-scores-of-repeated-keys";
  const Found found = search({scaled});
  EXPECT_TRUE(found.rules.contains(rule));
  EXPECT_EQ(found.form,
            "v1 = reshape(q); v2 = transpose(k); v3 = reshape(v2); v4 = matmul(v1, v3); v5 = mul(v4, []); v6 = reshape(mask); "
            "v7 = add(v5, v6); v8 = reshape(v7); v9 = softmax(v8); v9");
}

}  // namespace
}  // namespace xflow::coverage
