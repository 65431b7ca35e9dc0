#include "src/rules/instantiate.h"

#include <algorithm>

#include "tests/rules/rules_for_tests.h"

namespace xflow::rules {
namespace {

std::vector<RuleInstance> instances(std::string_view text) {
  auto result = instantiate(parsed(text).at(0));
  EXPECT_TRUE(result) << (result ? "" : result.error().text());
  return result ? *std::move(result) : std::vector<RuleInstance>();
}
std::string error(std::string_view text) {
  const auto result = instantiate(parsed(text).at(0));
  return result ? "no error" : result.error().text();
}
std::string text_of(const RuleInstance& instance, const Fact& fact) {
  const char* relation = fact.atom.relation == ops::Relation::zero       ? " = 0"
                         : fact.atom.relation == ops::Relation::not_zero ? " != 0"
                                                                         : " >= 0";
  return instance.arena->symbols().to_string(fact.atom.poly) + relation + " (" + fact.reason + ")";
}
std::string type_of(const RuleInstance& instance, std::string_view name) {
  for (std::size_t k = 0; k < instance.variables.size(); ++k) {
    if (instance.variable_names[k] == name) return ir::to_string(instance.arena->symbols(), instance.arena->type(instance.variables[k]));
  }
  return "no such variable";
}
bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}
std::vector<std::string> choices(const std::vector<RuleInstance>& list) {
  std::vector<std::string> result;
  for (const RuleInstance& instance : list) result.push_back(instance.choice);
  return result;
}

TEST(Instantiate, PointwiseRulesHaveOneInstanceOnScalars) {
  const auto list = instances("rule r\n  source y = (x + b) * s\n  target y = x * s + b * s\n");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].choice, "");
  EXPECT_EQ(type_of(list[0], "x"), "float32[]");
  EXPECT_TRUE(list[0].facts.empty());
  EXPECT_TRUE(list[0].obligations.empty());
}

TEST(Instantiate, EachLengthOfASequence) {
  const auto list =
      instances("rule r\n  with\n    x: [B.., M, K], a: [K, N]\n  source\n    y = matmul(x, a)\n  target\n    y = matmul(x, a)\n");
  EXPECT_EQ(list.size(), 7U);
  EXPECT_EQ(list[0].choice, "B: 0 dimensions");
  EXPECT_EQ(list[6].choice, "B: 6 dimensions");
  EXPECT_EQ(type_of(list[1], "x"), "float32[B0, M, K]");
}

TEST(Instantiate, RanksPermutationsAndAxesAreEnumerated) {
  EXPECT_EQ(instances("rule r\n  source y = relu(transpose(x, perm: p))\n  target y = transpose(relu(x), perm: p)\n  where rank(x) <= 3\n")
                .size(),
            1U + 1U + 2U + 6U);
  EXPECT_EQ(instances("rule r\n  source y = relu(concat(x, axis: a))\n  target y = relu(x)\n  where rank(x) <= 4\n").size(),
            1U + 2U + 3U + 4U);
  // Operands of a list: 1 to 4 of them.
  EXPECT_EQ(instances("rule r\n  source y = relu(concat(xs.., axis: 0))\n  target y = relu(concat(xs.., axis: 0))\n").size(),
            4U * kMaxRank);
}

TEST(Instantiate, OptionalDimensionsAreTheDimensionOrOne) {
  const auto list =
      instances("rule r\n  with\n    x: [N, M], s: [M?]\n  source\n    y = transpose(x * s, perm: [0, 1])\n  target\n    y = x * s\n");
  EXPECT_EQ(choices(list), (std::vector<std::string>{"M? of s is M", "M? of s is 1"}));
  EXPECT_EQ(type_of(list[1], "s"), "float32[1]");
}

TEST(Instantiate, EachWayInWhichDimensionsBroadcastIsACase) {
  const auto list =
      instances("rule r\n  with\n    x: [A], z: [B]\n  source\n    y = transpose(x + z, perm: [0])\n  target\n    y = x + z\n");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(type_of(list[0], "x"), type_of(list[0], "z"));
  EXPECT_EQ(type_of(list[1], "x"), "float32[1]");
  EXPECT_EQ(type_of(list[1], "z"), "float32[B]");
  EXPECT_EQ(type_of(list[2], "z"), "float32[1]");
}

TEST(Instantiate, TypingOfTheSourceGivesFactsAndEqualNames) {
  const auto list = instances(
      "rule r\n  with\n    x: [N, C, S]\n    w: [O, I, K]\n  source\n    y = conv(x, w, strides: s, pads: p, dilations: 1, groups: g)\n"
      "  target\n    y = conv(x, w, strides: s, pads: p, groups: g)\n");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(type_of(list[0], "x"), "float32[N, I*g, S]");
  std::vector<std::string> facts;
  for (const Fact& fact : list[0].facts) facts.push_back(text_of(list[0], fact));
  EXPECT_TRUE(contains(facts, "s[0] - 1 >= 0 (typing of 6:9 conv: 'strides' to be at least 1)"));
  EXPECT_TRUE(contains(facts, "p[0] >= 0 (typing of 6:9 conv: 'pads' to be at least 0)"));
  EXPECT_TRUE(contains(facts, "g - 1 >= 0 (typing of 6:9 conv: groups to be at least 1)"));
  // What the target needs follows from the source word by word.
  EXPECT_TRUE(list[0].obligations.empty());
}

TEST(Instantiate, TypingOfTheTargetGivesObligations) {
  const auto list = instances(
      "rule r\n  with\n    x: [N, M]\n  source\n    y = reshape(x, shape: [A, B])\n  target\n    y = reshape(x, shape: [B, A])\n");
  ASSERT_EQ(list.size(), 1U);
  std::vector<std::string> obligations;
  for (const Fact& fact : list[0].obligations) obligations.push_back(text_of(list[0], fact));
  EXPECT_TRUE(contains(obligations, "A - B = 0 (dimension 0 of output y is A in the source, B in the target)"));
}

TEST(Instantiate, GuardsAreFactsOrRejectAChoice) {
  const auto list = instances(
      "rule r\n  with\n    x: [S..]\n  source\n    y = relu(reshape(x, shape: dims(x)))\n  target\n    y = relu(x)\n  where rank(x) = 2 "
      "and dim(x, 0) >= dim(x, 1)\n");
  ASSERT_EQ(list.size(), 1U);
  ASSERT_EQ(list[0].facts.size(), 1U);
  EXPECT_EQ(text_of(list[0], list[0].facts[0]), "S0 - S1 >= 0 (guard dim(x, 0) >= dim(x, 1))");
  const auto positive = instances("rule r\n  source y = x * s\n  target y = x * s\n  where positive(s)\n");
  ASSERT_EQ(positive.at(0).value_facts.size(), 1U);
  EXPECT_EQ(positive[0].value_facts[0].kind, ValueFact::Kind::positive);
}

TEST(Instantiate, ARuleThatCannotBeTyped) {
  EXPECT_EQ(
      error("rule r\n  with x: [N]\n  source y = relu(transpose(x, perm: [1, 0]))\n  target y = relu(x)\n"),
      "test.rules:1:6: rule r: no shapes type its source: transpose: expected perm to be a permutation of 1 dimensions, found [1, 0]");
  EXPECT_EQ(error("rule r\n  with x: [N, M]\n  source y = relu(reshape(x, shape: [N * M]))\n  target y = relu(x)\n"),
            "test.rules:1:6: rule r: output y: source float32[M*N], target float32[N, M]");
  EXPECT_EQ(error("rule r\n  with x: [N]\n  source y = relu(identity(x))\n  target y = relu(concat(x, x, axis: 1))\n"),
            "test.rules:1:6: rule r: target: concat: expected attribute 'axis' to be an axis of 1 dimension, found 1");
}

TEST(Instantiate, StopsAtMoreInstancesThanAreWanted) {
  const Rule rule =
      parsed("rule r\n  with\n    x: [A.., B]\n  source\n    y = reduce_sum(x, axes: [-1])\n  target\n    y = reduce_sum(x, axes: [-1])\n")
          .at(0);
  const std::size_t all = instantiate(rule)->size();
  EXPECT_GT(all, 3U);
  EXPECT_EQ(instantiate(rule, all)->size(), all);
  const auto fewer = instantiate(rule, all - 1);
  ASSERT_FALSE(fewer);
  EXPECT_EQ(fewer.error().code, ErrorCode::limit);
  EXPECT_EQ(fewer.error().message, "rule r: more than " + std::to_string(all - 1) + " choices are open");
}

TEST(Instantiate, TooManyChoices) {
  EXPECT_EQ(error("rule r\n  source y = transpose(relu(x), perm: p)\n  target y = relu(transpose(x, perm: p))\n"),
            "test.rules:1:6: rule r: more than 20000 choices are open; bound ranks by a guard such as rank(x) <= 4");
}

}  // namespace
}  // namespace xflow::rules
