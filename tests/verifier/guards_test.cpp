// The guards that a rule is proved under are enough by themselves.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/rules/instantiate.h"
#include "src/verifier/guards/assumed_guards.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"
#include "tests/verifier/raw_check.h"

namespace xflow::verifier {
namespace {

constexpr std::size_t kShapes = 8;
constexpr std::size_t kAtLeast = 8;    // in all instances
constexpr std::size_t kInstances = 6;  // of a rule, from the smallest ranks to the largest
constexpr std::uint64_t kDraws = 8;    // of elements: a divisor may be drawn as 0, which compares nothing

// What was found over some instances of a rule.
struct Found {
  std::size_t compared = 0;
  bool complete = true;  // no instance has more shapes
  std::string failure;
};

Found check_rule(const rules::Rule& rule, std::uint64_t seed) {
  Found found;
  auto instances = rules::instantiate(rule);
  EXPECT_TRUE(instances.has_value()) << rule.name;
  if (!instances) return found;
  const std::size_t step = std::max<std::size_t>(1, instances->size() / kInstances);
  for (std::size_t k = 0; k < instances->size(); k += step) {
    RawCheck check = check_raw((*instances)[k], kShapes, seed + k);
    for (std::uint64_t draw = 1; draw < kDraws && check.compared == 0 && !check.failure; ++draw)
      check = check_raw((*instances)[k], kShapes, seed + k + 1'000'000 * draw);
    found.compared += check.compared;
    found.complete = found.complete && check.complete;
    if (check.failure) found.failure = (*instances)[k].choice + ": " + *check.failure;
  }
  return found;
}

TEST(ShippedRules, HoldOnRawShapesThatSatisfyTheirGuards) {
  const auto rules = read_rules(places::repository() + "/substitutions");
  ASSERT_TRUE(rules.has_value());
  std::uint64_t seed = 1;
  for (const rules::Rule& rule : *rules) {
    const Found found = check_rule(rule, seed += 1000);
    EXPECT_EQ(found.failure, "") << rule.name;
    EXPECT_TRUE(found.compared >= kAtLeast || (found.complete && found.compared > 0))
        << rule.name << " was compared on " << found.compared << " shapes only";
  }
}

// What a record says - the guards of the rule and what the typing of its source assumes - is enough, as the text that it is.
TEST(ShippedRules, HoldWhereverTheTextOfTheirRecordsSays) {
  const auto rules = read_rules(places::repository() + "/substitutions");
  ASSERT_TRUE(rules.has_value());
  std::uint64_t seed = 1;
  std::size_t lines = 0;
  std::size_t compared = 0;
  for (const rules::Rule& rule : *rules) {
    auto instances = rules::instantiate(rule);
    ASSERT_TRUE(instances.has_value()) << rule.name;
    const RuleRecord record = describe(rule, *instances);
    const std::size_t step = std::max<std::size_t>(1, instances->size() / kInstances);
    for (std::size_t k = 0; k < instances->size(); k += step) {
      std::vector<std::string> text = record.guards;
      for (std::string& line : assumed_guards(rule, (*instances)[k])) {
        EXPECT_NE(std::find(record.assumes.begin(), record.assumes.end(), line), record.assumes.end()) << rule.name << ": " << line;
        text.push_back(std::move(line));
      }
      lines += text.size() - record.guards.size();
      const RawCheck check = check_raw_by_text(rule, (*instances)[k], text, kShapes, seed += 1000);
      EXPECT_EQ(check.failure.value_or(""), "") << rule.name << " for " << (*instances)[k].choice;
      compared += check.compared;
    }
  }
  EXPECT_GE(lines, 100U);
  EXPECT_GE(compared, 500U);
}

// The same comparison sees a line that is missing.
TEST(RawShapes, ShowThatAnAssumptionIsMissing) {
  const auto rules = rules::parse_rules(
      "rule r\n  source\n    y = matmul(matmul(x, a), b)\n  target\n    y = matmul(x, matmul(a, b))\n"
      "  where rank(x) = 2 and rank(a) = 2 and rank(b) = 2\n",
      "test");
  ASSERT_TRUE(rules.has_value());
  auto instances = rules::instantiate(rules->front());
  ASSERT_TRUE(instances && instances->size() == 1);
  std::vector<std::string> text = assumed_guards(rules->front(), instances->front());
  EXPECT_EQ(text, (std::vector<std::string>{"dim(x, 1) = dim(a, 0)", "dim(a, 1) = dim(b, 0)"}));
  EXPECT_EQ(check_raw_by_text(rules->front(), instances->front(), text, kShapes, 1).failure.value_or(""), "");
  text.pop_back();
  EXPECT_NE(check_raw_by_text(rules->front(), instances->front(), text, kShapes, 1).failure.value_or(""), "");
}

// The same comparison sees what a guard keeps out.
TEST(RawShapes, ShowThatAGuardIsMissing) {
  const std::string rule =
      "rule r\n  with\n    x: [N, C, S], w: [C, C, 3]\n  source\n    y = conv(x, w, pads: [b, e]) + x\n  target\n"
      "    y = conv(x, w + identity_kernel(channels: C, kernel: [3]), pads: [b, e])\n  where b + e = 2";
  const auto with = rules::parse_rules(rule + " and b = 1\n", "with");
  const auto without = rules::parse_rules(rule + "\n", "without");
  ASSERT_TRUE(with && without);
  EXPECT_EQ(check_rule(with->front(), 1).failure, "");
  EXPECT_NE(check_rule(without->front(), 1).failure, "");
}

}  // namespace
}  // namespace xflow::verifier
