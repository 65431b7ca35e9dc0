// What a proof assumes is said with the place where it comes from.
#include "src/verifier/proof/assumptions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/rules/instantiate.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"
#include "tests/verifier/hand_made.h"

namespace xflow::verifier {
namespace {

std::vector<std::string> printed_guards(const std::vector<rules::Guard>& guards) {
  std::vector<std::string> list;
  for (const rules::Guard& g : guards) list.push_back(rules::print(g));
  return list;
}

TEST(Assumptions, OfShippedRulesSayWhereTheyComeFrom) {
  const auto rules = read_rules(places::repository() + "/substitutions");
  ASSERT_TRUE(rules) << rules.error().text();
  std::size_t facts = 0;
  for (const rules::Rule& rule : *rules) {
    auto instances = rules::instantiate(rule);
    ASSERT_TRUE(instances) << instances.error().text();
    const rules::RuleInstance& instance = (*instances)[typical_instance(*instances)];
    EXPECT_EQ(variable_types(instance).size(), instance.variables.size());
    for (const rules::Fact& f : instance.facts) {
      ++facts;
      const bool known = std::any_of(rule.guards.begin(), rule.guards.end(),
                                     [&](const rules::Guard& g) { return f.reason == "guard " + rules::print(g); }) ||
                         f.reason.starts_with("typing of ") || f.reason.starts_with("choice of broadcasting in ") ||
                         f.reason.starts_with("dimension ");
      EXPECT_TRUE(known) << rule.name << ": " << f.reason;
    }
  }
  EXPECT_GE(facts, 100U);
}

TEST(Assumptions, AreReadable) {
  const rules::Rule rule = rule_of(
      "rule r\n  with\n    x: [A, B], w: [B, C]\n  source\n    y = slice(matmul(x, w), starts: [0, s], sizes: [A, n], steps: 1)\n"
      "  target\n    y = matmul(x, slice(w, starts: [0, s], sizes: [B, n], steps: 1))\n  where nonzero(x) and A > 1\n");
  auto instances = rules::instantiate(rule);
  ASSERT_TRUE(instances) << instances.error().text();
  EXPECT_EQ(variable_types(instances->front()), (std::vector<std::string>{"x: float32[A, B]", "w: float32[B, C]"}));
  EXPECT_EQ(assumptions(instances->front()),
            (std::vector<std::string>{"n >= 0 (typing of 5:9 slice: sizes of at least 0)",
                                      "s >= 0 (typing of 5:9 slice: the first index in dimension 1 to be at least 0)",
                                      "s + n <= C (typing of 5:9 slice: at least 0 elements after the slice of dimension 1)",
                                      "A >= 2 (guard A > 1)", "x: no element is 0"}));
}

TEST(NeededGuards, AreThoseWithoutWhichARuleIsNotProved) {
  const rules::Rule rule = rule_of(
      "rule r\n  with\n    x: [A, B], z: [C, B]\n  source\n    y1, y2 = split(concat(x, z, axis: 0), axis: 0, sizes: [C, A])\n"
      "  target\n    y1 = x\n    y2 = z\n  where B >= 2 and A = C and const(x) and A <= C\n");
  EXPECT_EQ(printed_guards(needed_guards(rule)), std::vector<std::string>{"A = C"});
}

}  // namespace
}  // namespace xflow::verifier
