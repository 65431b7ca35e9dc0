// Members of families without a last number, whose proof is that of the member of three parts: the verifier decides members of more
// parts by themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/rules/open_family.h"
#include "src/rules/verified_rules.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"

namespace xflow::verifier {
namespace {

TEST(OpenFamilies, AreProvedForMorePartsToo) {
  const auto files = rules::rule_files(places::repository() + "/substitutions");
  ASSERT_TRUE(files);
  std::set<const rules::OpenFamily*> seen;
  std::size_t families = 0;
  for (const std::string& file : *files) {
    const auto text = rules::read_rule_file(file);
    ASSERT_TRUE(text);
    const auto parsed = rules::parse_rules(*text, file);
    ASSERT_TRUE(parsed);
    for (const rules::Rule& rule : *parsed) {
      if (rule.family == nullptr || !seen.insert(rule.family.get()).second) continue;
      ++families;
      for (const int parts : {4, 5}) {
        const auto member = rule.family->member(parts);
        ASSERT_NE(member, nullptr) << rule.name;
        const RuleDecision decision = decide(member->rule());
        EXPECT_EQ(decision.verdict, Verdict::proved) << member->rule().name << ": " << decision.explanation();
        rules::Rule checked = member->rule();
        ASSERT_TRUE(rules::check(checked));
        EXPECT_EQ(checked.float_class, rule.float_class) << member->rule().name;
        EXPECT_EQ(checked.hash, member->rule().hash);
      }
    }
  }
  EXPECT_GT(families, 20U);
}

}  // namespace
}  // namespace xflow::verifier
