#include "src/generator/rules/derived_rules.h"

#include <gtest/gtest.h>

namespace xflow::generator {
namespace {

std::vector<rules::Rule> rule_list(const std::string& text) {
  auto parsed = rules::parse_rules(text, "test.rules");
  EXPECT_TRUE(parsed.has_value()) << parsed.error().text();
  return parsed.value_or(std::vector<rules::Rule>());
}

const char* kActivations = R"(rule relu-of-relu-of-sum
  source
    y = relu(relu(x + z))
  target
    y = relu(x + z)

rule relu-twice
  source
    y = relu(relu(x))
  target
    y = relu(x)

rule abs-of-relu
  source
    y = abs(relu(x))
  target
    y = relu(x)

rule relu-of-abs
  source
    y = relu(abs(x))
  target
    y = abs(x)
)";

TEST(DerivedRules, AreDerivedByOthersThatAreEnabled) {
  const std::vector<rules::Rule> rules = rule_list(kActivations);
  RuleSetDeriver deriver(rules);
  ASSERT_EQ(deriver.size(), 4U);
  for (std::size_t k = 0; k < deriver.size(); ++k) EXPECT_EQ(deriver.not_a_goal(k), nullptr);
  // relu(relu(x)) = relu(|relu(x)|) = |relu(x)| = relu(x)
  EXPECT_EQ(deriver.derive(1, {}).rules, (std::vector<std::size_t>{2, 3}));
  EXPECT_FALSE(deriver.derive(2, {}).derived);  // not by itself
  deriver.enable(3, false);
  EXPECT_FALSE(deriver.derive(1, {}).derived);
  EXPECT_EQ(deriver.derive(0, {}).rules, (std::vector<std::size_t>{1}));
  deriver.enable(3, true);
  EXPECT_TRUE(deriver.derive(1, {}).derived);
}

TEST(DerivedRules, AreRemovedAsLongAsWhatIsKeptDerivesThem) {
  const std::vector<rules::Rule> rules = rule_list(kActivations);
  RuleSetDeriver deriver(rules);
  const MinimalRules minimal = minimize(deriver, rules, {});
  EXPECT_EQ(minimal.kept, (std::vector<std::size_t>{2, 3}));
  ASSERT_EQ(minimal.removed.size(), 2U);
  // What was derived by the second rule is derived without it.
  EXPECT_EQ(minimal.removed[0].rule, 0U);
  EXPECT_EQ(minimal.removed[0].by, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(minimal.removed[1].rule, 1U);
  EXPECT_EQ(minimal.removed[1].by, (std::vector<std::size_t>{2, 3}));
  EXPECT_TRUE(minimal.no_goals.empty());
}

TEST(DerivedRules, StayWhereTheLimitsDoNotReach) {
  const std::vector<rules::Rule> rules = rule_list(kActivations);
  RuleSetDeriver deriver(rules);
  const MinimalRules minimal = minimize(deriver, rules, {.rounds = 5, .terms = 5});
  EXPECT_EQ(minimal.kept.size() + minimal.removed.size(), rules.size());
  for (std::size_t k = 0; k < rules.size(); ++k) deriver.enable(k, false);
  for (const std::size_t k : minimal.kept) deriver.enable(k, true);
  for (const MinimalRules::Removed& r : minimal.removed) EXPECT_TRUE(deriver.derive(r.rule, {.rounds = 5, .terms = 5}).derived);
}

// x z / z = x holds for some z alone, so it does not derive what should hold for all.
TEST(DerivedRules, HoldForAllValues) {
  const std::string sides = "  source\n    y = x * z / z\n  target\n    y = x\n";
  const std::vector<rules::Rule> rules =
      rule_list("rule some\n" + sides + "  where nonzero(z)\n\nrule all\n" + sides + "\nrule again\n" + sides);
  ASSERT_EQ(rules.size(), 3U);
  RuleSetDeriver deriver(rules);
  EXPECT_EQ(deriver.derive(1, {}).rules, (std::vector<std::size_t>{2}));
  EXPECT_EQ(deriver.derive(0, {}).rules.size(), 1U);
  deriver.enable(2, false);
  EXPECT_FALSE(deriver.derive(1, {}).derived);
}

TEST(DerivedRules, CountsOperationsThatAreNoConstants) {
  const std::vector<rules::Rule> rules = rule_list(R"(rule r
  with
    x: [N, N]
  source
    y = x + x
  target
    z = matmul(x, identity_matrix(size: N))
    y = z * 2
)");
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(operations(rules[0].source), 1U);
  EXPECT_EQ(operations(rules[0].target), 2U);
}

}  // namespace
}  // namespace xflow::generator
