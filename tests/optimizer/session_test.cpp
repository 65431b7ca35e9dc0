// What a session knows of earlier calls.
#include "src/optimizer/session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace xflow::api {
namespace {

class SessionTest : public testing::Test {
 protected:
  ~SessionTest() override { std::filesystem::remove(path_); }

  OptimizeOptions options(const std::string& rule) {
    std::ofstream(path_) << rule;
    OptimizeOptions options;
    options.search.rules = {path_};
    return options;
  }

  const std::string path_ = testing::TempDir() + "/session_test.rules";
  Session session_;
};

constexpr const char* kTwice = "rule twice\n  with\n    x: [A]\n  source\n    y = relu(relu(x))\n  target\n    y = relu(x)\n";
constexpr const char* kThrice = "rule thrice\n  with\n    x: [A]\n  source\n    y = relu(relu(relu(x)))\n  target\n    y = relu(x)\n";

TEST_F(SessionTest, ProvesARuleOnce) {
  const OptimizeOptions twice = options(kTwice);
  EXPECT_EQ(session_.rules(twice, 0, {}).error().text(), "rule twice was not decided in time");
  ASSERT_TRUE(session_.rules(twice, 1000, {}));
  const auto repeated = session_.rules(twice, 0, {});
  ASSERT_TRUE(repeated) << repeated.error().text();
  EXPECT_EQ(repeated->size(), 1U);
}

TEST_F(SessionTest, ProvesARuleWhoseTextChanged) {
  ASSERT_TRUE(session_.rules(options(kTwice), 1000, {}));
  EXPECT_EQ(session_.rules(options(kThrice), 0, {}).error().text(), "rule thrice was not decided in time");
}

TEST_F(SessionTest, ReadsTheShippedRulesOnceAndSkipsForOneCall) {
  const std::size_t all = session_.rules({}, 1000, {})->size();
  OptimizeOptions without;
  without.search.skip_rules = {"merge-matmuls-sharing-lhs"};
  EXPECT_EQ(session_.rules(without, 1000, {})->size(), all - 1);
  EXPECT_EQ(session_.rules({}, 1000, {})->size(), all);
}

}  // namespace
}  // namespace xflow::api
