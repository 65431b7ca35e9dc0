// Whole rule files: what is shipped and what must be provable is proved, what is wrong is refuted.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"

namespace xflow::verifier {
namespace {

std::vector<rules::Rule> rules_of(const std::string& folder) {
  auto rules = read_rules(places::repository() + "/" + folder);
  EXPECT_TRUE(rules.has_value()) << rules.error().text();
  return rules ? *std::move(rules) : std::vector<rules::Rule>{};
}

TEST(ShippedRules, AreAllProved) {
  const std::vector<rules::Rule> rules = rules_of("substitutions");
  EXPECT_GE(rules.size(), 40U);
  std::set<std::string> names;
  for (const RuleDecision& d : decide(rules, {}, 2)) {
    EXPECT_EQ(d.verdict, Verdict::proved) << d.rule << ": " << d.explanation();
    EXPECT_TRUE(names.insert(d.rule).second) << d.rule << " stands there twice";
  }
}

TEST(RulesThatMustBeProvable, AreAllProved) {
  const std::vector<rules::Rule> rules = rules_of("tests/verifier/proved");
  EXPECT_GE(rules.size(), 190U);
  for (const RuleDecision& d : decide(rules, {}, 2)) EXPECT_EQ(d.verdict, Verdict::proved) << d.rule << ": " << d.explanation();
}

TEST(WrongRules, AreAllRefutedWithACounterexample) {
  const std::vector<rules::Rule> rules = rules_of("tests/verifier/refuted");
  EXPECT_GE(rules.size(), 40U);
  for (const RuleDecision& d : decide(rules, {}, 2)) {
    EXPECT_EQ(d.verdict, Verdict::refuted) << d.rule << ": " << d.explanation();
    EXPECT_TRUE(d.decision.counterexample.has_value()) << d.rule;
  }
}

TEST(WrongRules, AreRefutedBeforeAProofIsTried) {
  const std::vector<rules::Rule> rules = rules_of("tests/verifier/refuted");
  Options first;
  first.refute_first = true;
  const std::vector<RuleDecision> both = decide(rules, {}, 2);
  const std::vector<RuleDecision> alone = decide(rules, first, 2);
  std::size_t without_proof = 0;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    EXPECT_EQ(alone[k].verdict, Verdict::refuted);
    EXPECT_TRUE(alone[k].decision.counterexample.has_value()) << rules[k].name;
    without_proof += alone[k].decision.steps < both[k].decision.steps ? 1 : 0;
  }
  EXPECT_GT(without_proof, rules.size() / 2);
}

TEST(Decisions, AreTheSameInEveryRunAndWithAnyNumberOfJobs) {
  std::vector<rules::Rule> rules = rules_of("tests/verifier/refuted");
  for (rules::Rule& r : rules_of("tests/verifier/proved")) rules.push_back(std::move(r));
  rules.resize(std::min<std::size_t>(rules.size(), 40));
  Options options;
  options.normal_forms = true;
  const std::vector<RuleDecision> one = decide(rules, options, 1);
  const std::vector<RuleDecision> three = decide(rules, options, 3);
  for (std::size_t k = 0; k < rules.size(); ++k) {
    EXPECT_EQ(one[k].verdict, three[k].verdict) << one[k].rule;
    EXPECT_EQ(one[k].explanation(), three[k].explanation()) << one[k].rule;
    EXPECT_EQ(one[k].decision.normal_source, three[k].decision.normal_source) << one[k].rule;
    EXPECT_EQ(one[k].decision.steps, three[k].decision.steps) << one[k].rule;
  }
}

}  // namespace
}  // namespace xflow::verifier
