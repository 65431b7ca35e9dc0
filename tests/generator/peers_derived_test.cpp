// The substitutions that TASO publishes follow from rules that are found here. XFLOW_TEST_PEERS is the folder that holds its file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "src/generator/minimize.h"
#include "src/generator/rule_goal.h"
#include "tests/verifier/peers/translate.h"

namespace xflow::generator {
namespace {

// Graphs of up to so many operators are enumerated. With 3 all published rules but the false ones are derived; it takes longer.
constexpr std::size_t kOperators = 2;

// By their numbers. Concatenations of two convolutions with inputs of their own are false.
std::set<int> expected_open() {
  const std::set<int> refuted = {99, 100, 130, 131};
  if (kOperators > 2) return refuted;
  // Rules of three operators, of which the special cases alone that read an input twice have two: x z + u z = (x + u) z, for example.
  std::set<int> open = {2,   5,   6,   7,   15,  22,  31,  36,  37,  38,  39,  40,  45,  46,  47,  50,  57,  58,  59,
                        60,  61,  62,  67,  68,  69,  71,  72,  73,  74,  75,  76,  78,  80,  82,  83,  84,  85,  86,
                        87,  88,  89,  90,  91,  92,  93,  94,  96,  97,  98,  101, 102, 103, 104, 105, 106, 107, 108,
                        109, 110, 111, 112, 113, 114, 115, 117, 119, 121, 122, 123, 124, 125, 126, 127, 128, 129, 132};
  open.insert(refuted.begin(), refuted.end());
  return open;
}

void collect(RuleCollector& collector, World world, std::vector<std::string> words) {
  const auto universe = Universe::make({world, std::move(words), 4});
  ASSERT_TRUE(universe.has_value()) << universe.error().text();
  const EnumerationOptions options{.max_operators = kOperators};
  std::vector<Record> records;
  ASSERT_TRUE(enumerate(*universe, options, 0, 1, [&](const Record& r) { records.push_back(r); }).has_value());
  const auto candidates = Candidates(*universe, options).find(records);
  ASSERT_TRUE(candidates.has_value()) << candidates.error().text();
  collector.collect(*universe, *candidates);
}

std::vector<peers::Rule> published_rules(const std::string& folder) {
  std::ifstream in(folder + "/taso_graph_subst.pb", std::ios::binary);
  EXPECT_TRUE(in.good()) << "cannot read " << folder << "/taso_graph_subst.pb";
  std::ostringstream bytes;
  bytes << in.rdbuf();
  const auto rules = peers::read_taso(bytes.str());
  EXPECT_TRUE(rules.has_value()) << rules.error().text();
  return rules.value_or(std::vector<peers::Rule>());
}

TEST(PublishedRules, AreDerivedByFoundRules) {
  const char* folder = std::getenv("XFLOW_TEST_PEERS");
  if (folder == nullptr) GTEST_SKIP() << "XFLOW_TEST_PEERS is not set";
  const std::vector<peers::Rule> published = published_rules(folder);
  ASSERT_EQ(published.size(), 133U);
  RuleCollector collector({}, {});
  collect(collector, World::matrix, {"add", "concat", "matmul", "mul", "relu", "split", "transpose"});
  collect(collector, World::image, {"add", "concat", "conv", "enlarge", "mul", "relu", "split"});
  collector.eliminate();
  const std::set<int> expected = expected_open();
  std::size_t open = 0;
  for (const peers::Rule& p : published) {
    const auto rule = peers::translate(p, {});
    ASSERT_TRUE(rule.has_value()) << rule.error().text();
    const auto goals = goals_of(collector.deriver().vocabulary(), *rule);
    ASSERT_TRUE(goals.has_value()) << goals.error().text();
    const bool derived = derive(collector.deriver(), *goals, {}).derived;
    open += derived ? 0 : 1;
    EXPECT_EQ(derived, !expected.contains(std::stoi(p.name.substr(p.name.find('-') + 1)))) << rules::print(*rule);
  }
  EXPECT_EQ(open, expected.size());
}

}  // namespace
}  // namespace xflow::generator
