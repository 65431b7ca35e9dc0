#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

using SiblingConvolutions = Coverage;

TEST_F(SiblingConvolutions, AreOneWithASplitBehind) {
  const ValueId x = input("x", {dim("N", 1), 16, 8, 8});
  const std::vector<ValueId> siblings{conv(x, weight({2, 16, 3, 3})), conv(x, weight({3, 16, 3, 3}))};
  const Found found = search(siblings);
  EXPECT_EQ(found.form, "v1 = conv(x, [5, 16, 3, 3]); v2 = split(v1); v2.0, v2.1");
  EXPECT_EQ(count(search(siblings, {.without = {"merge-convolutions"}}).graph, "conv"), 2U);
}

TEST_F(SiblingConvolutions, OfAnyNumberAreOne) {
  const ValueId x = input("x", {1, 16, 64});
  std::vector<ValueId> siblings;
  for (std::int64_t k = 0; k < 4; ++k) siblings.push_back(conv(x, weight({2, 16, 3}), 1));
  EXPECT_EQ(search(siblings).form, "v1 = conv(x, [8, 16, 3]); v2 = split(v1); v2.0, v2.1, v2.2, v2.3");
  EXPECT_TRUE(search(siblings).rules.contains("merge-4-convolutions"));
  const std::string merged = "v1 = conv(x, [8, 16, 3]); v2 = split(v1); v2.0, v2.1, v2.2, v2.3";
  EXPECT_EQ(form(apply("merge-4-convolutions", Graph{siblings})), merged);
  EXPECT_EQ(search(siblings, {.without = {"merge-3-convolutions"}}).form, merged) << "pairs of pairs give the same";
  EXPECT_GT(
      count(search(siblings, {.without = {"merge-3-convolutions", "split-of-first-part", "split-of-second-part", "split-of-both-parts"}})
                .graph,
            "split"),
      1U);
}

TEST_F(SiblingConvolutions, WithBiasesAndActivationsAreOneWhereTheyAreConcatenated) {
  const ValueId x = input("x", {1, 16, 8, 8});
  const auto branch = [&](std::int64_t channels) { return relu(add(conv(x, weight({channels, 16, 3, 3})), weight({1, channels, 1, 1}))); };
  const ValueId y = concat({branch(2), branch(3)}, 1);
  const Found found = search({y});
  EXPECT_EQ(found.form, "v1 = conv(x, [5, 16, 3, 3]); v2 = add(v1, [1, 5, 1, 1]); v3 = relu(v2); v3");
}

}  // namespace
}  // namespace xflow::coverage
