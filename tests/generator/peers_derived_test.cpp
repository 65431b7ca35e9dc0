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

constexpr std::size_t kOperators = 3;

// By their numbers: concatenations of two convolutions with inputs of their own are false.
const std::set<int> kRefuted = {99, 100, 130, 131};

void collect(RuleCollector& collector, World world, std::vector<std::string> words) {
  const auto universe = Universe::make({world, std::move(words), 4});
  ASSERT_TRUE(universe.has_value()) << universe.error().text();
  const EnumerationOptions options{.max_operators = kOperators};
  std::vector<Record> records;
  ASSERT_TRUE(enumerate(*universe, options, 0, 1, [&](const Record& r) { records.push_back(r); }).has_value());
  std::vector<Record> smaller;
  const auto codec = GraphCodec::make(*universe, kOperators);
  for (const Record& r : records)
    if (codec->operators(r.code) < kOperators) smaller.push_back(r);
  Candidates finder(*universe, options);
  finder.learn(smaller);
  collector.collect(*universe, 0, RuleCollector::in_order(*universe, finder.find(records)));
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
  std::size_t open = 0;
  for (const peers::Rule& p : published) {
    const auto rule = peers::translate(p, {});
    ASSERT_TRUE(rule.has_value()) << rule.error().text();
    const auto goals = goals_of(collector.deriver().vocabulary(), *rule);
    ASSERT_TRUE(goals.has_value()) << goals.error().text();
    const bool derived = derive(collector.deriver(), *goals, {}).derived;
    open += derived ? 0 : 1;
    EXPECT_EQ(derived, !kRefuted.contains(std::stoi(p.name.substr(p.name.find('-') + 1)))) << rules::print(*rule);
  }
  EXPECT_EQ(open, kRefuted.size());
}

}  // namespace
}  // namespace xflow::generator
