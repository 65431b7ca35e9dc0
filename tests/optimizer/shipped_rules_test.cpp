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
  EXPECT_EQ(shipped_rule_records().size(), all->size());
}

}  // namespace
}  // namespace xflow::api
