// Wrong rules beside the true ones from which they differ in one place.
#include <gtest/gtest.h>

#include <set>

#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"

namespace xflow::verifier {
namespace {

TEST(WrongRules, StandBesideTheTrueRuleFromWhichTheyDiffer) {
  std::set<std::string> proved;
  const auto relatives = read_rules(places::repository() + "/tests/verifier/proved");
  ASSERT_TRUE(relatives.has_value());
  for (const rules::Rule& r : *relatives) proved.insert(r.name);
  std::size_t count = 0;
  const auto wrong = read_rules(places::repository() + "/tests/verifier/refuted");
  ASSERT_TRUE(wrong.has_value());
  for (const rules::Rule& r : *wrong) {
    if (!r.file.ends_with("relatives.rules")) continue;
    ++count;
    ASSERT_FALSE(r.comment.empty()) << r.name;
    std::string first = r.comment[0];
    first.erase(0, first.find_first_not_of(' '));
    EXPECT_TRUE(proved.contains(first.substr(0, first.find(':')))) << r.name << " names no true rule: " << first;
  }
  EXPECT_GE(count, 60U);
}

}  // namespace
}  // namespace xflow::verifier
