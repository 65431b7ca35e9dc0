#include "src/rules/families.h"

#include <gtest/gtest.h>

#include "src/rules/rule.h"

namespace xflow::rules {
namespace {

constexpr const char* kSplits = R"(# Splits of the first part.
rule split-in-{n} for n in 2..4
  source
    y1, y2 = split(x, axis: 0, sizes: [s, t])
    z{1..n} = split(y1, axis: 0, sizes: [u{1..n}])
  target
    z{1..n}, y2 = split(x, axis: 0, sizes: [u{1..n}, t])
  where rank(x) <= 5

# Sums.
rule sums-in-{n} for n in 3..3
  source
    y{1..n} = split(x, axis: a, sizes: [s{1..n}])
    z{i} = add(y{i}, w{i})
  target
    y{1..n} = split(x, axis: a, sizes: [s{1..n}])
    z{i} = add(w{i}, y{i})
  where const(w{i}) and rank(x) <= 5

rule plain
  source
    y = add(x, 0)
  target
    y = x
)";

TEST(Families, StandForTheirMembers) {
  const auto expanded = expand_families(kSplits, "f");
  ASSERT_TRUE(expanded) << expanded.error().text();
  EXPECT_NE(expanded->text.find("rule split-in-3\n"
                                "  source\n"
                                "    y1, y2 = split(x, axis: 0, sizes: [s, t])\n"
                                "    z1, z2, z3 = split(y1, axis: 0, sizes: [u1, u2, u3])\n"
                                "  target\n"
                                "    z1, z2, z3, y2 = split(x, axis: 0, sizes: [u1, u2, u3, t])\n"
                                "  where rank(x) <= 5\n"),
            std::string::npos)
      << expanded->text;
  EXPECT_NE(expanded->text.find("    z1 = add(y1, w1)\n    z2 = add(y2, w2)\n    z3 = add(y3, w3)\n"), std::string::npos);
  EXPECT_NE(expanded->text.find("  where const(w1) and const(w2) and const(w3) and rank(x) <= 5\n"), std::string::npos);
}

TEST(Families, AreParsedAsRulesAtTheirPlaces) {
  const auto rules = parse_rules(kSplits, "f");
  ASSERT_TRUE(rules) << rules.error().text();
  ASSERT_EQ(rules->size(), 5U);
  EXPECT_EQ((*rules)[0].name, "split-in-2");
  EXPECT_EQ((*rules)[2].name, "split-in-4");
  EXPECT_EQ((*rules)[2].place.line, 2U);
  EXPECT_EQ((*rules)[3].name, "sums-in-3");
  EXPECT_EQ((*rules)[3].guards.size(), 4U);
  EXPECT_EQ((*rules)[4].place.line, 20U);
  for (const std::size_t k : {0, 1, 2}) EXPECT_EQ((*rules)[k].comment, std::vector<std::string>{" Splits of the first part."});
}

TEST(Families, OfWordsStandForARuleForEach) {
  const auto rules = parse_rules(
      "# f(x^p) = f(x)^p\nrule transpose-of-{f} for f in relu, tanh\n  source\n    y = {f}(transpose(x, perm: p))\n"
      "  target\n    y = transpose({f}(x), perm: p)\n  where rank(x) <= 4\n",
      "f");
  ASSERT_TRUE(rules) << rules.error().text();
  ASSERT_EQ(rules->size(), 2U);
  EXPECT_EQ((*rules)[0].name, "transpose-of-relu");
  EXPECT_EQ((*rules)[1].name, "transpose-of-tanh");
  EXPECT_EQ((*rules)[1].place.line, 2U);
  EXPECT_EQ((*rules)[1].source[0].term.name, "tanh");
  EXPECT_EQ((*rules)[1].target[0].term.operands[0].name, "tanh");
  for (const std::size_t k : {0, 1}) EXPECT_EQ((*rules)[k].comment, std::vector<std::string>{" f(x^p) = f(x)^p"});
}

std::string message(const char* text) {
  const auto rules = parse_rules(text, "f");
  return rules ? "" : rules.error().text();
}

TEST(Families, SayWhatIsWrongWithThem) {
  EXPECT_EQ(message("rule a-{n}\n  source\n"), "f:1:8: expected the numbers of a family, as in 'rule split-in-{n} for n in 3..8'");
  EXPECT_EQ(message("\nrule a-{n} for n in 4..3\n"), "f:2:21: expected two numbers from 1 to 64, the smaller one first, as in '3..8'");
  EXPECT_EQ(message("rule a-{n} for n in 1..65\n"), "f:1:21: expected two numbers from 1 to 64, the smaller one first, as in '3..8'");
  EXPECT_EQ(message("rule a-{n} for n in some\n"), "f:1:21: expected two numbers from 1 to 64, the smaller one first, as in '3..8'");
  EXPECT_EQ(message("rule a for n in 1..2\n"), "f:1:7: the name of a family must contain {n}");
  EXPECT_EQ(message("rule a-{n} for n in 2..3\n  source\n    y = add(x, 0)\n  target\n    y = q\n"),
            message("rule a-2\n  source\n    y = add(x, 0)\n  target\n    y = q\n"))
      << "the place is that of the family";
  EXPECT_EQ(message("rule a-{f}\n  source\n"), "f:1:8: expected the words of a family, as in 'rule slice-of-{f} for f in relu, tanh'");
  EXPECT_EQ(message("rule a-{f} for f in relu,\n"), "f:1:21: expected different names of operators, as in 'relu, tanh'");
  EXPECT_EQ(message("rule a-{f} for f in relu, relu\n"), "f:1:21: expected different names of operators, as in 'relu, tanh'");
  EXPECT_EQ(message("rule a for f in relu\n"), "f:1:7: the name of a family of words must contain {f}");
}

}  // namespace
}  // namespace xflow::rules
