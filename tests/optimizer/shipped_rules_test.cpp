#include "src/optimizer/shipped_rules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "src/optimizer/load_rules.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::api {
namespace {

TEST(ShippedRules, AreAllProvedAndLoaded) {
  const auto all = shipped_rules();
  const auto loaded = load_rules({});
  ASSERT_TRUE(all && loaded);
  EXPECT_GT(all->size(), 100U);
  EXPECT_EQ(loaded->size(), all->size());
  EXPECT_EQ(proved_shipped_rules().size(), all->size());
}

// The float classes that the build has stored are not computed once more when the rules are read.
TEST(ShippedRules, HaveTheFloatClassesThatTheirTextsHave) {
  std::size_t compared = 0;
  for (const ShippedFile& file : shipped_rule_files()) {
    const auto stored = rules::parse_rules(file.text, file.name, proved_shipped_rules());
    const auto computed = rules::parse_rules(file.text, file.name);
    ASSERT_TRUE(stored && computed);
    ASSERT_EQ(stored->size(), computed->size());
    for (std::size_t k = 0; k < stored->size(); ++k) {
      EXPECT_EQ(rules::numbers_text((*stored)[k]), rules::numbers_text((*computed)[k])) << (*stored)[k].name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, proved_shipped_rules().size());
}

// A record of a user's own rule is replayed by the first call of a context alone: a model has many bodies.
TEST(LoadRules, RemembersRulesWhoseRecordsWereReplayed) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "load_rules_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "own.rules") << "# -(-x) = x\nrule own-double-negation\n  source\n    y = neg(neg(x))\n  target\n    y = x\n";
  ASSERT_TRUE(verifier::renew_records(folder.string(), {}, 1).has_value());
  ASSERT_TRUE(std::filesystem::exists(folder / "own.proofs"));
  OptimizeOptions options;
  options.search.rules = {folder.string()};
  std::set<rules::RuleHash> known;
  ASSERT_TRUE(load_rules(options, 10, {}, &known).has_value());
  EXPECT_EQ(known.size(), 1U);
  // Without a record, and without time to prove the rule, only what is known is loaded.
  std::filesystem::remove(folder / "own.proofs");
  EXPECT_FALSE(load_rules(options, 0).has_value());
  EXPECT_TRUE(load_rules(options, 0, {}, &known).has_value());
}

}  // namespace
}  // namespace xflow::api
