// Rules that the caller gives as text.
#include <gtest/gtest.h>
#include <xflow/context.h>
#include <xflow/optimize.h>
#include <xflow/simplify.h>

#include <string>

#include "tests/onnx/model_builder.h"

namespace xflow {
namespace {

using onnx_io::testing::float_info;
using onnx_io::testing::node;

// A shipped rule (relu-twice) leaves one of them.
std::string two_relus() {
  onnx_io::testing::GraphParts parts;
  parts.inputs = {float_info("x", {2, 3})};
  parts.nodes = {node("Relu", "first", {"x"}, {"a"}), node("Relu", "second", {"a"}, {"y"})};
  parts.outputs = {float_info("y", {2, 3})};
  return onnx_io::testing::model_of(parts);
}

constexpr const char* kOther = "rule once\n  with\n    x: [A]\n  source\n    y = sigmoid(-(-x))\n  target\n    y = sigmoid(x)\n";

TEST(RuleText, ReplacesTheShippedRulesOfCleanUps) {
  const auto shipped = simplify(two_relus());
  ASSERT_TRUE(shipped) << shipped.error().text();
  ASSERT_EQ(shipped->report.nodes_after, 1U) << shipped->report.to_text();
  SimplifyOptions options;
  options.rule_text = kOther;
  const auto given = simplify(two_relus(), options);
  ASSERT_TRUE(given) << given.error().text();
  EXPECT_EQ(given->report.nodes_after, 2U) << given->report.to_text();
  EXPECT_EQ(given->model, two_relus());
}

TEST(RuleText, ReplacesTheShippedRulesWhereSmallerIsAccepted) {
  OptimizeOptions options;
  options.search.max_states = 20;
  options.validation.gate = false;
  options.output.accept = Accept::smaller;
  options.search.rule_text = kOther;
  const auto result = optimize(two_relus(), options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->model, two_relus()) << result->report.to_text();
}

TEST(Context, SimplifiesByTheRulesOfEachCall) {
  Context context;
  SimplifyOptions options;
  options.rule_text = kOther;
  for (int call = 0; call < 2; ++call) {
    const auto given = simplify(context, two_relus(), options);
    ASSERT_TRUE(given) << given.error().text();
    EXPECT_EQ(given->report.nodes_after, 2U);
    const auto shipped = simplify(context, two_relus());
    ASSERT_TRUE(shipped) << shipped.error().text();
    EXPECT_EQ(shipped->report.nodes_after, 1U);
  }
}

TEST(RuleText, IsProvedForCleanUpsToo) {
  SimplifyOptions options;
  options.rule_text = "rule wrong\n  with\n    x: [A]\n  source\n    y = relu(relu(x))\n  target\n    y = x\n";
  const auto result = simplify(two_relus(), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::not_proved);
  EXPECT_TRUE(result.error().text().starts_with("rule_text:1:6: rule wrong is not proved, so it cannot be applied: "))
      << result.error().text();
}

}  // namespace
}  // namespace xflow
