// What holds for every graph is done and reported like a rule, also where no rule applies.
#include <gtest/gtest.h>
#include <xflow/optimize.h>

#include <algorithm>

#include "src/onnx/document/document.h"

namespace xflow::api {
namespace {

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7U) bytes += static_cast<char>(value | 128U);
  return bytes + static_cast<char>(value);
}
// Fields of a protobuf message: a number, and anything that has a length.
std::string field(std::uint32_t number, std::uint64_t value) { return varint(number * 8) + varint(value); }
std::string field(std::uint32_t number, const std::string& payload) { return varint(number * 8 + 2) + varint(payload.size()) + payload; }

std::string node(const std::string& op_type, const std::vector<std::string>& inputs, const std::string& output) {
  std::string bytes;
  for (const std::string& input : inputs) bytes += field(1, input);
  return bytes + field(2, output) + field(3, "make_" + output) + field(4, op_type);
}

// float32[64, 64]
std::string info(const std::string& name) {
  const std::string dim = field(1, field(1, std::uint64_t{64}));
  return field(1, name) + field(2, field(1, field(1, std::uint64_t{1}) + field(2, dim + dim)));
}

// A model with input x and output y.
std::string model_of(const std::vector<std::string>& nodes) {
  std::string graph;
  for (const std::string& n : nodes) graph += field(1, n);
  graph += field(2, std::string("g")) + field(11, info("x")) + field(12, info("y"));
  return field(1, std::uint64_t{8}) + field(7, graph) + field(8, field(1, std::string()) + field(2, std::uint64_t{17}));
}

OptimizeOptions few_states() {
  OptimizeOptions options;
  options.search.max_states = 100;
  options.validation.gate = false;
  return options;
}

std::size_t applied(const OptimizeReport& report, const std::string& rule) {
  const auto found =
      std::find_if(report.search.rules.begin(), report.search.rules.end(), [&](const auto& count) { return count.rule == rule; });
  const auto steps =
      std::count_if(report.search.steps.begin(), report.search.steps.end(), [&](const auto& step) { return step.rule == rule; });
  EXPECT_EQ(found == report.search.rules.end() ? 0U : found->applied, static_cast<std::size_t>(steps));
  return static_cast<std::size_t>(steps);
}

TEST(Simplifications, EqualAndUnusedNodesAreReportedLikeRules) {
  const std::string model = model_of({
      node("Erf", {"x"}, "a"),
      node("Erf", {"x"}, "b"),
      node("Tanh", {"a"}, "c"),
      node("Tanh", {"b"}, "d"),
      node("Exp", {"x"}, "e"),
      node("Sin", {"e"}, "f"),
      node("MatMul", {"c", "d"}, "y"),
  });
  const auto result = optimize(model, few_states());
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->report.improved) << result->report.to_text();
  EXPECT_EQ(applied(result->report, "merge-equal-nodes"), 2U);
  EXPECT_EQ(applied(result->report, "drop-unused"), 2U);
  EXPECT_EQ(result->report.search.steps[0].where, "node 'make_b' (Erf)");
  EXPECT_LT(result->report.predicted.after, result->report.predicted.before);
  const auto written = onnx_io::Document::parse(result->model);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->nodes(onnx_io::GraphId{0}).size(), 3U);
}

TEST(Simplifications, AreNoGainThatTheGateMeasures) {
  const std::string model = model_of({node("Erf", {"x"}, "a"), node("Erf", {"x"}, "b"), node("MatMul", {"a", "b"}, "y")});
  OptimizeOptions options = few_states();
  options.validation.gate = true;
  const auto result = optimize(model, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->report.improved);
  EXPECT_EQ(result->model, model);
  EXPECT_EQ(result->report.reason, result->report.gate.reason);
  EXPECT_EQ(result->report.reason.rfind(
                "only equal nodes (1), unused nodes (0), copies of constants (0) and computations of known shapes (0) can be removed", 0),
            0U)
      << result->report.reason;
}

TEST(Simplifications, AModelWithoutThemStaysAsItIs) {
  const std::string model = model_of({node("Erf", {"x"}, "a"), node("Tanh", {"a"}, "y")});
  const auto result = optimize(model, few_states());
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->report.improved);
  EXPECT_EQ(result->model, model);
  EXPECT_TRUE(result->report.search.steps.empty());
}

}  // namespace
}  // namespace xflow::api
