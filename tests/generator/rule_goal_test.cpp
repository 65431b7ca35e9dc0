#include "src/generator/rules/rule_goal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/verifier/proof/assumptions.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/generator/small_graphs.h"
#include "tests/places.h"

namespace xflow::generator {
namespace {

rules::Rule goal_rule(const std::string& text) { return rule(text, "test.rules"); }

std::vector<RuleGoal> goals(Vocabulary& vocabulary, const std::string& text) {
  auto made = goals_of(vocabulary, goal_rule(text));
  EXPECT_TRUE(made.has_value()) << made.error().text();
  return made.value_or(std::vector<RuleGoal>());
}

std::string unsupported(const std::string& text) {
  Vocabulary vocabulary;
  const auto made = goals_of(vocabulary, goal_rule(text));
  EXPECT_FALSE(made.has_value());
  if (made) return {};
  EXPECT_EQ(made.error().code, ErrorCode::unsupported);
  return made.error().text();
}

const char* kMerge = R"(rule merge
  with
    x: [B.., M, K]
    a: [K, N]
    b: [K, P]
  source
    y1 = matmul(x, a)
    y2 = matmul(x, b)
  target
    y1, y2 = split(matmul(x, concat(a, b, axis: -1)), axis: -1, sizes: [N, P])
)";

TEST(RuleGoal, GivesDifferentDimensionsDifferentSizes) {
  Vocabulary vocabulary;
  const std::vector<RuleGoal> made = goals(vocabulary, kMerge);
  ASSERT_EQ(made.size(), 7U);  // x has 2 to 8 dimensions
  EXPECT_EQ(made[0].names, (std::vector<std::string>{"x", "a", "b"}));
  EXPECT_EQ(made[0].choice, "B: 0 dimensions");
  EXPECT_EQ(made[0].equation.source.outputs.size(), 2U);
  for (const RuleGoal& g : made) {
    const auto& x = vocabulary.dims(g.equation.inputs[0]);
    const auto& a = vocabulary.dims(g.equation.inputs[1]);
    const auto& b = vocabulary.dims(g.equation.inputs[2]);
    EXPECT_EQ(x.back(), a[0]);
    EXPECT_EQ(x.back(), b[0]);
    std::set<std::int64_t> sizes(x.begin(), x.end());
    sizes.insert({a[1], b[1], a[1] + b[1]});
    EXPECT_EQ(sizes.size(), x.size() + 3) << g.inputs_text(vocabulary);
    EXPECT_GT(*sizes.begin(), 1) << g.inputs_text(vocabulary);
  }
}

TEST(RuleGoal, SatisfiesGuardsAndTyping) {
  Vocabulary vocabulary;
  const std::vector<RuleGoal> part = goals(vocabulary, R"(rule part
  with
    x: [A], z: [B]
  source
    y = slice(concat(x, z, axis: 0), starts: [s], sizes: [n], steps: 1)
  target
    y = slice(x, starts: [s], sizes: [n], steps: 1)
  where s + n <= A
)");
  ASSERT_EQ(part.size(), 1U);
  const ir::Attributes& slice = vocabulary.attributes(part[0].equation.target.nodes[0].op);
  const std::int64_t start = slice.known_integers("starts")->at(0);
  const std::int64_t size = slice.known_integers("sizes")->at(0);
  EXPECT_GT(start, 0);
  EXPECT_GT(size, 1);
  EXPECT_LE(start + size, vocabulary.dims(part[0].equation.inputs[0])[0]);
  // Windows that fit, channels that the groups divide.
  const std::vector<RuleGoal> convolution = goals(vocabulary, R"(rule convolution
  with
    x: [N, g * I, H, W]
    w: [g * O, I, R, S]
  source
    y = conv(x, w, strides: [sh, sw], pads: p, dilations: d, groups: g) * 2
  target
    y = conv(x, w * 2, strides: [sh, sw], pads: p, dilations: d, groups: g)
)");
  ASSERT_EQ(convolution.size(), 1U);
  const auto& x = vocabulary.dims(convolution[0].equation.inputs[0]);
  const auto& w = vocabulary.dims(convolution[0].equation.inputs[1]);
  const auto groups = *vocabulary.attributes(convolution[0].equation.source.nodes[0].op).known_integer("groups");
  EXPECT_GT(groups, 1);
  EXPECT_EQ(x[1], groups * w[1]);
  EXPECT_EQ(w[0] % groups, 0);
}

TEST(RuleGoal, BroadcastsVariablesOfPointwiseRules) {
  Vocabulary vocabulary;
  std::vector<std::string> shapes;
  for (const RuleGoal& g : goals(vocabulary, "rule r\n  source\n    y = (x + z) * 2\n  target\n    y = x * 2 + z * 2\n"))
    shapes.push_back(g.inputs_text(vocabulary));
  EXPECT_EQ(shapes, (std::vector<std::string>{"x: [5, 7], z: [5, 7]", "x: [7], z: [5, 7]", "x: [5, 7], z: [7]"}));
  // A target that would have another type is no goal, and scalars stay scalars.
  shapes.clear();
  for (const RuleGoal& g : goals(vocabulary, "rule r\n  source\n    y = x - x + z * s\n  target\n    y = s * z\n  where scalar(s)\n"))
    shapes.push_back(g.inputs_text(vocabulary));
  EXPECT_EQ(shapes, (std::vector<std::string>{"x: [5, 7], z: [5, 7], s: []", "x: [7], z: [5, 7], s: []"}));
}

TEST(RuleGoal, IsBoundedAndSpreadOverInstances) {
  Vocabulary vocabulary;
  const char* text = "rule r\n  source\n    y = relu(concat(x, z, axis: a))\n  target\n    y = concat(relu(x), relu(z), axis: a)\n";
  const std::vector<RuleGoal> made = goals(vocabulary, text);
  EXPECT_EQ(made.size(), kMostGoals);
  EXPECT_EQ(made[0].equation.source.nodes.size(), 2U);
  EXPECT_EQ(vocabulary.dims(made[0].equation.inputs[0]).size(), 2U);
  std::set<std::size_t> ranks;
  for (const RuleGoal& g : made) ranks.insert(vocabulary.dims(g.equation.inputs[0]).size());
  EXPECT_GE(ranks.size(), 5U);
  EXPECT_TRUE(ranks.contains(8));
  const auto three = goals_of(vocabulary, goal_rule(text), 3);
  ASSERT_TRUE(three.has_value());
  EXPECT_EQ(three->size(), 3U);
}

TEST(RuleGoal, SaysWhatIsNotSupported) {
  EXPECT_EQ(unsupported("rule r\n  source\n    y = relu(concat(xs.., axis: 0))\n  target\n    y = relu(concat(xs.., axis: 0))\n"),
            "test.rules:1:6: rule r: xs.. is a list of operands, which derivations do not support");
  EXPECT_EQ(unsupported("rule r\n  with\n    x: int64[N]\n  source\n    y = x + x\n  target\n    y = x + x\n"),
            "test.rules:1:6: rule r: x is a tensor of int64, but derivations support float32 only");
  EXPECT_EQ(unsupported("rule r\n  with\n    x: [N]\n  source\n    y = concat(x, x, x, x, x, axis: 0)\n  target\n"
                        "    y = concat(x, x, x, x, x, axis: 0)\n"),
            "test.rules:1:6: rule r: concat has 5 operands, but derivations support 4 at most");
  EXPECT_EQ(unsupported("rule r\n  with\n    x: [N]\n  source\n    y = relu(x)\n  target\n    y = relu(x)\n  where N * N = 2\n"),
            "test.rules:1:6: rule r: no sizes were found that satisfy its guards and the typing of its source");
}

TEST(RuleGoal, IsDerivedByWhatIsAsGeneral) {
  const char* leading = "  with\n    x: [B.., M, K], a: [K, N], b: [N, P]\n";
  const std::string left =
      "rule left\n" + std::string(leading) + "  source\n    y = matmul(matmul(x, a), b)\n  target\n    y = matmul(x, matmul(a, b))\n";
  const std::string right =
      "rule right\n" + std::string(leading) + "  source\n    y = matmul(x, matmul(a, b))\n  target\n    y = matmul(matmul(x, a), b)\n";
  const std::string matrices =
      "rule matrices\n  with\n    x: [M, K], a: [K, N], b: [N, P]\n  source\n    y = matmul(matmul(x, a), b)\n"
      "  target\n    y = matmul(x, matmul(a, b))\n";
  const auto derived = [&](const std::string& goal, const std::string& by) {
    Deriver deriver;
    EXPECT_TRUE(deriver.add(goal_rule(by)).has_value());
    const RuleDerivation d = derive(deriver, goals(deriver.vocabulary(), goal), {}, Goal::equal, true);
    EXPECT_EQ(d.rules, d.derived ? std::vector<std::size_t>{0} : std::vector<std::size_t>());
    return d.derived;
  };
  EXPECT_TRUE(derived(right, left));
  EXPECT_TRUE(derived(matrices, left));
  EXPECT_FALSE(derived(left, matrices));  // which says nothing of batches
  // Nor does a rule for parts of equal sizes derive the one for all.
  const std::string concat = "  source\n    y = relu(concat(x, z, axis: 0))\n  target\n    y = concat(relu(x), relu(z), axis: 0)\n";
  EXPECT_TRUE(derived("rule equal\n" + concat + "  where rank(x) = 1 and dim(x, 0) = dim(z, 0)\n", "rule all\n" + concat));
  EXPECT_FALSE(derived("rule all\n" + concat + "  where rank(x) = 1\n", "rule equal\n" + concat + "  where dim(x, 0) = dim(z, 0)\n"));
}

bool speaks_of_other_types(const rules::Rule& rule) {
  return std::ranges::any_of(rule.declarations, [](const rules::Declaration& declaration) {
    return declaration.data_type && declaration.data_type != ir::DataType::float32;
  });
}

TEST(RuleGoal, OfShippedRulesIsDerivedByTheRuleItself) {
  const auto rules = verifier::read_rules(places::repository() + "/substitutions");
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  for (const rules::Rule& r : *rules) {
    Deriver deriver;
    const auto made = goals_of(deriver.vocabulary(), r);
    if (!made.has_value() && speaks_of_other_types(r)) {
      EXPECT_THAT(made.error().message, testing::AnyOf(testing::EndsWith("but derivations support float32 only"),
                                                       testing::EndsWith("a tensor that is not of float32 and known size")))
          << made.error().text();
      continue;
    }
    ASSERT_TRUE(made.has_value()) << made.error().text();
    EXPECT_TRUE(deriver.add(r).has_value() && derive(deriver, *made, {}).derived) << rules::print(r);
  }
}

}  // namespace
}  // namespace xflow::generator
