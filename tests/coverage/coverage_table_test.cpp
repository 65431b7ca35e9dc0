// docs/coverage.md names rules that are shipped, and tests that exist.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "src/optimizer/shipped_rules.h"
#include "tests/places.h"

namespace xflow::coverage {
namespace {

// The cells of a row of a Markdown table.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result;
  for (std::size_t at = 1; at < line.size();) {
    const std::size_t end = std::min(line.find('|', at), line.size());
    result.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

std::vector<std::string> quoted(const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t at = text.find('`'); at != std::string::npos;) {
    const std::size_t end = text.find('`', at + 1);
    result.push_back(text.substr(at + 1, end - at - 1));
    at = text.find('`', end + 1);
  }
  return result;
}

TEST(Table, NamesShippedRulesAndTests) {
  std::set<std::string> shipped;
  const auto rules = api::shipped_rules();
  ASSERT_TRUE(rules);
  for (const rules::Rule& rule : *rules) shipped.insert(rule.name);
  const std::string source = places::repository();
  std::ifstream file(source + "/docs/coverage.md");
  std::set<std::string> tests;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("| ") || line.find(".cpp") == std::string::npos) continue;
    const std::vector<std::string> row = cells(line);
    ASSERT_EQ(row.size(), 5U) << line;
    for (const std::string& rule : quoted(row[2])) EXPECT_TRUE(shipped.contains(rule)) << rule;
    ASSERT_EQ(quoted(row[3]).size(), 1U) << line;
    tests.insert(quoted(row[3])[0]);
  }
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(source + "/tests/coverage")) {
    const std::string name = entry.path().filename().string();
    if (name.find("_test.cpp") != std::string::npos && name[0] >= '0' && name[0] <= '9') files.insert(name);
  }
  EXPECT_EQ(tests, files);
  EXPECT_EQ(tests.size(), 31U);
}

}  // namespace
}  // namespace xflow::coverage
