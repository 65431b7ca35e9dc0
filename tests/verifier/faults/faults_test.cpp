// Every step of the verifier can be broken by a switch, and every switch is noticed by a check that passes where nothing is broken.
// caught.txt says which check to try first; the first that notices counts. XFLOW_RENEW_GOLDENS=1 writes it again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string_view>

#include "tests/places.h"
#include "tests/verifier/faults/checks.h"

namespace xflow::verifier {
namespace {

const std::string kFirst = places::repository() + "/tests/verifier/faults/caught.txt";

struct Switch {
  Fault fault;
  std::string_view name;
  std::string_view what;
};
constexpr Switch kSwitches[] = {
#define XFLOW_FAULT(name, what) {Fault::name, #name, what},
#include "src/verifier/faults.def"
#undef XFLOW_FAULT
};

// Lines "switch: check".
std::map<std::string, std::string> read_first() {
  std::map<std::string, std::string> result;
  std::ifstream in(kFirst);
  for (std::string line; std::getline(in, line);)
    if (const std::size_t colon = line.find(": "); colon != std::string::npos) result[line.substr(0, colon)] = line.substr(colon + 2);
  return result;
}

bool renewing() { return std::getenv("XFLOW_RENEW_GOLDENS") != nullptr; }

// What is wrong with the step broken; empty if nothing is, or if something is wrong without that already.
std::string noticed(const Check& check, Fault fault) {
  break_step(fault);
  std::string wrong = check.run();
  break_step(std::nullopt);
  return wrong.empty() || !check.run().empty() ? std::string() : wrong;
}

class Faults : public testing::TestWithParam<std::string> {
 public:
  static void SetUpTestSuite() {
    for (auto* list : {&claims, &demand_claims, &forms, &searches, &units, &rule_checks})
      for (Check& c : (*list)()) checks().push_back(std::move(c));
  }
  static std::vector<Check>& checks() {
    static std::vector<Check> list;
    return list;
  }
};

TEST(Checks, PassWhereNothingIsBroken) {
  for (auto* list : {&claims, &demand_claims, &forms, &searches, &units})
    for (const Check& c : (*list)()) EXPECT_EQ(c.run(), "") << c.name;
}

TEST_P(Faults, AreCaught) {
  std::map<std::string, std::string> first = read_first();
  for (const Switch& s : kSwitches) {
    if (s.name.substr(0, s.name.find('_')) != GetParam()) continue;
    const std::string known = renewing() ? std::string() : first[std::string(s.name)];
    const Check* by = nullptr;
    std::string wrong;
    const auto attempt = [&](const Check& c) {
      wrong = noticed(c, s.fault);
      if (!wrong.empty()) by = &c;
    };
    for (const Check& c : checks())
      if (c.name == known && by == nullptr) attempt(c);
    const bool at_once = by != nullptr;
    for (const Check& c : checks())
      if (by == nullptr) attempt(c);
    EXPECT_NE(by, nullptr) << s.name << " (" << s.what << ") is not noticed";
    if (by == nullptr) continue;
    std::printf("%s: %s\n    %s: %s%s\n", s.name.data(), s.what.data(), by->name.c_str(), wrong.substr(0, 120).c_str(),
                at_once || renewing() ? "" : "\n    (caught.txt names another check, or none)");
    std::fflush(stdout);
    first[std::string(s.name)] = by->name;
  }
  if (!renewing()) return;
  std::ofstream out(kFirst);
  for (const Switch& s : kSwitches)
    if (const auto at = first.find(std::string(s.name)); at != first.end()) out << at->first << ": " << at->second << "\n";
}

std::vector<std::string> first_words() {
  std::set<std::string> words;
  for (const Switch& s : kSwitches) words.emplace(s.name.substr(0, s.name.find('_')));
  return {words.begin(), words.end()};
}

INSTANTIATE_TEST_SUITE_P(, Faults, testing::ValuesIn(first_words()), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace xflow::verifier
