// All node cases of ONNX's backend data, through document, lift and evaluate.
//
// not_covered.txt lists the cases with an operator that is opaque to us. A case that is neither in it nor agrees is a failure, and so is a
// line that is no longer true. XFLOW_RENEW=1 build/release/tests/test_backend writes the list again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "tests/backend/cases.h"
#include "tests/places.h"

namespace xflow::backend {
namespace {

const std::string kCases = places::backend_data() + "/node";
const std::string kGolden = places::repository() + "/tests/backend/not_covered.txt";

// "test_argmax_default_axis_example" is of the family "argmax".
std::string family_of(const std::string& name) {
  const std::string rest = name.starts_with("test_") ? name.substr(5) : name;
  return rest.substr(0, rest.find('_'));
}

std::map<std::string, std::string> read_golden() {
  std::map<std::string, std::string> result;
  std::ifstream file(kGolden);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(": ");
    if (at != std::string::npos) result[line.substr(0, at)] = line.substr(at + 2);
  }
  return result;
}

std::vector<std::string> families() {
  std::set<std::string> result;
  for (const std::string& name : case_names(kCases)) result.insert(family_of(name));
  return {result.begin(), result.end()};
}

// Cases whose results hang on the scale that is rounded to float32: without that an element is halfway between two integers.
const std::set<std::string>& cases_of_float32() {
  static const std::set<std::string> cases = {"test_dynamicquantizelinear", "test_dynamicquantizelinear_expanded"};
  return cases;
}

class Backend : public testing::TestWithParam<std::string> {};

TEST_P(Backend, CasesAgree) {
  const std::map<std::string, std::string> golden = read_golden();
  for (const std::string& name : case_names(kCases)) {
    if (family_of(name) != GetParam()) continue;
    const auto listed = golden.find(name);
    for (const eval::Number number : {eval::Number::float64, eval::Number::float32}) {
      const Outcome outcome = run_case(std::string(kCases) + "/" + name, number);
      if (number == eval::Number::float64 && cases_of_float32().contains(name)) {
        EXPECT_EQ(outcome.text, "output 0: element 3 is 25 instead of 26") << name;
        continue;
      }
      EXPECT_NE(outcome.kind, Outcome::Kind::differs) << name << ": " << outcome.text;
      if (outcome.kind == Outcome::Kind::not_covered) {
        EXPECT_NE(listed, golden.end()) << name << " is not covered and not listed: " << outcome.text;
        if (listed != golden.end()) {
          EXPECT_EQ(listed->second, outcome.text) << name;
        }
        break;
      }
      EXPECT_EQ(listed, golden.end()) << name << " is listed as not covered, but it is";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Onnx, Backend, testing::ValuesIn(families()), [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Backend);

TEST(BackendList, NamesCasesThatExist) {
  const std::vector<std::string> names = case_names(kCases);
  const std::set<std::string> known(names.begin(), names.end());
  ASSERT_FALSE(known.empty()) << "no cases in " << kCases << ": run scripts/deps tests";
  if (std::getenv("XFLOW_RENEW") != nullptr) {
    std::ofstream file(kGolden);
    for (const std::string& name : names) {
      const Outcome outcome = run_case(std::string(kCases) + "/" + name, eval::Number::float64);
      if (outcome.kind == Outcome::Kind::not_covered) file << name << ": " << outcome.text << "\n";
    }
  }
  for (const auto& [name, text] : read_golden()) EXPECT_TRUE(known.contains(name)) << name;
}

}  // namespace
}  // namespace xflow::backend
