// Which rules are clean-ups.
#include "src/search/simplify.h"

#include <gtest/gtest.h>

namespace xflow::search {
namespace {

bool cleans_up(const std::string& text) {
  const auto rules = rules::parse_rules(text, "test.rules");
  EXPECT_TRUE(rules) << rules.error().text();
  return rules && is_clean_up((*rules)[0]);
}

TEST(CleanUp, IsAnExactRuleWithFewerOperations) {
  EXPECT_TRUE(cleans_up("rule undone\n  source\n    y = neg(neg(x))\n  target\n    y = x\n"));
  EXPECT_FALSE(cleans_up("rule moved\n  source\n    y = relu(transpose(x, perm: p))\n  target\n    y = transpose(relu(x), perm: p)\n"));
}

TEST(CleanUp, CountsNoOperationsOnConstants) {
  EXPECT_TRUE(cleans_up("rule scales\n  source\n    y = x * s * t\n  target\n    y = x * (s * t)\n  where const(s) and const(t)\n"));
  EXPECT_FALSE(cleans_up("rule scales\n  source\n    y = x * s * t\n  target\n    y = x * (s * t)\n"));
}

TEST(CleanUp, RoundsOnlyWhereSingleElementsAreComputed) {
  const std::string with = "rule sum\n  with\n    a: [K, N], b: [K, N]\n";
  EXPECT_FALSE(cleans_up(
      with + "  source\n    y = matmul(x, a) + matmul(x, b)\n  target\n    y = matmul(x, a + b)\n  where const(a) and const(b)\n"));
  EXPECT_TRUE(
      cleans_up("rule scale\n  with\n    a: [K, N]\n  source\n    y = matmul(x, a) * s\n  target\n    y = matmul(x, a * s)\n  where "
                "scalar(s) and const(a) and const(s)\n"));
}

TEST(CleanUp, ComputesWithNoOtherOperator) {
  EXPECT_FALSE(cleans_up(
      "rule other\n  source\n    y = clip(x + 3, min: 0, max: 6) / 6\n  target\n    y = hard_sigmoid(x, alpha: 1/6, beta: 1/2)\n"));
}

TEST(CleanUp, JoinsNoFunctionsOfParts) {
  EXPECT_FALSE(
      cleans_up("rule relus\n  source\n    y = concat(relu(x), relu(z), axis: a)\n  target\n    y = relu(concat(x, z, axis: a))\n  where "
                "rank(x) = 2\n"));
  EXPECT_FALSE(cleans_up(
      "rule relus\n  source\n    u = relu(x)\n    v = relu(z)\n    y = concat(u, v, axis: a)\n  target\n    y = relu(concat(x, z, axis: "
      "a))\n  where rank(x) = 2\n"));
  EXPECT_TRUE(
      cleans_up("rule moves\n  source\n    y = concat(transpose(x, perm: [1, 0]), transpose(z, perm: [1, 0]), axis: 0)\n  target\n    y = "
                "transpose(concat(x, z, axis: 1), perm: [1, 0])\n"));
}

TEST(CleanUp, MakesNoConstants) {
  EXPECT_FALSE(
      cleans_up("rule made\n  with\n    x: [A..]\n  source\n    y = neg(neg(neg(x)))\n  target\n    y = neg(x) + zeros(shape: A..)\n"));
}

}  // namespace
}  // namespace xflow::search
