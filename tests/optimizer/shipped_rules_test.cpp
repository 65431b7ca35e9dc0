#include "src/optimizer/shipped_rules.h"

#include <gtest/gtest.h>

#include "src/optimizer/load_rules.h"

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

}  // namespace
}  // namespace xflow::api
