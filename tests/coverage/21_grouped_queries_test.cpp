#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

// Attention with fewer heads of keys and values than of queries.
class GroupedQueries : public Coverage {
 protected:
  const Poly b = dim("B", 1);
  const Poly s = dim("S", 3);
  const Poly t = dim("T", 5);
  ValueId repeated(ValueId v) { return reshape(expand(reshape(v, {b, 2, 1, t, 8}), {b, 2, 4, t, 8}), {b, 8, t, 8}); }
};

TEST_F(GroupedQueries, DoNotCopyKeysAndValues) {
  const ValueId q = input("q", {b, 8, s, 8});
  const ValueId k = input("k", {b, 2, t, 8});
  const ValueId v = input("v", {b, 2, t, 8});
  const ValueId scores = op("softmax", {matmul(q, transpose(repeated(k), {0, 1, 3, 2}))}, {{"axis", Poly(3)}});
  const ValueId y = matmul(scores, repeated(v));
  EXPECT_EQ(search({y}).form,
            "v1 = reshape(q); v2 = transpose(k); v3 = matmul(v1, v2); v4 = reshape(v3); v5 = softmax(v4); v6 = reshape(v5); "
            "v7 = matmul(v6, v); v8 = reshape(v7); v8");
  EXPECT_EQ(count(search({y}, {.without = {"matmul-of-repeated-keys"}}).graph, "expand"), 1U);
  EXPECT_EQ(count(search({y}, {.without = {"matmul-of-repeated-values"}}).graph, "expand"), 1U);
}

}  // namespace
}  // namespace xflow::coverage
