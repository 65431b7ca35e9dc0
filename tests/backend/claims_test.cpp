// Every ONNX operator and version that the importer claims has a case: one of ONNX's backend data, or one that make_cases.py writes by
// reexport such a case for an older version and asking ONNX Runtime for the outputs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "src/onnx/lift/composition.h"
#include "src/ops/operator.h"
#include "tests/backend/cases.h"
#include "tests/places.h"

namespace xflow::backend {
namespace {

// A line "DOMAIN TYPE SINCE UNTIL" for each row that can be lifted; "-" is ONNX's own domain.
std::string claims() {
  std::ostringstream out;
  const auto line = [&](std::string_view domain, std::string_view type, int since, int until) {
    out << (domain.empty() ? "-" : std::string(domain)) << ' ' << type << ' ' << since << ' ' << until << '\n';
  };
  for (const ops::Operator& op : ops::all_operators()) {
    for (const ops::OnnxMapping& row : op.onnx_mappings()) {
      if (row.lift != nullptr) line(row.domain, row.type, row.since, row.until);
    }
  }
  for (const onnx_io::Composition& row : onnx_io::compositions()) line(row.domain, row.type, row.since, row.until);
  return out.str();
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("xflow_claims_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

TEST(Claims, EveryOperatorAndVersionHasACaseThatAgrees) {
  const Folder folder;
  std::ofstream(folder / "claims.txt") << claims();
  const std::string command = places::testenv_python() + " " + places::repository() + "/tests/backend/make_cases.py " +
                              places::backend_data() + " " + (folder / "claims.txt") + " " + (folder / "cases");
  ASSERT_EQ(std::system(command.c_str()), 0) << command;

  // pairs.txt: "DOMAIN TYPE VERSION" and the folders of its cases, separated by tabs.
  std::map<std::string, std::string> last_outcome;
  std::set<std::string> agreed;
  std::ifstream pairs(folder / "cases/pairs.txt");
  for (std::string line; std::getline(pairs, line);) {
    std::istringstream fields(line);
    std::string pair;
    std::getline(fields, pair, '\t');
    last_outcome.emplace(pair, "no case");
    for (std::string path; std::getline(fields, path, '\t');) {
      // A scale that is not rounded to float32 makes halves of which it makes none.
      const bool rounds = pair.find("DynamicQuantizeLinear") != std::string::npos;
      const Outcome outcome = run_case(path, rounds ? eval::Number::float32 : eval::Number::float64);
      EXPECT_NE(outcome.kind, Outcome::Kind::differs) << pair << ", " << path << ": " << outcome.text;
      if (outcome.kind == Outcome::Kind::agrees) agreed.insert(pair);
      if (outcome.kind == Outcome::Kind::not_covered) last_outcome[pair] = path + " is opaque: " + outcome.text;
    }
  }
  EXPECT_GT(agreed.size(), 200U);
  for (const auto& [pair, text] : last_outcome) EXPECT_TRUE(agreed.contains(pair)) << pair << ": " << text;
}

}  // namespace
}  // namespace xflow::backend
