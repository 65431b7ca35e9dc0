#include <fstream>

#include "tests/coverage/coverage.h"
#include "xflow/graph.h"

namespace xflow::coverage {
namespace {

using CommonSubexpressions = Coverage;

// Equal nodes are one in every graph that is lifted or built, and the report says so.
TEST_F(CommonSubexpressions, AreComputedOnce) {
  const std::string profile = testing::TempDir() + "common_subexpressions.xprof";
  std::ofstream(profile) << "xflow profile 1\ndevice roofline\nmodel none\nlibrary none\nthreads 1\nclock none\n"
                            "roofline launch 1000\nroofline bandwidth 1e9\nroofline peak float32 1e10\n";
  GraphBuilder builder;
  const Value x = builder.input("x", DataType::float32, {8, 8});
  const Value one = builder.apply("relu", {builder.apply("tanh", {x})});
  const Value other = builder.apply("exp", {builder.apply("tanh", {x})});
  builder.output("y", builder.apply("matmul", {one, other}));
  OptimizeOptions options;
  options.device.name = "profile:" + profile;
  options.search.max_states = 100;
  const auto result = optimize(builder.build().value(), options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->graph.nodes().size(), 4U);
  ASSERT_EQ(result->report.search.steps.size(), 1U) << result->report.to_text();
  EXPECT_EQ(result->report.search.steps[0].rule, "merge-equal-nodes");
}

TEST_F(CommonSubexpressions, ThatRulesMakeEqualAreComputedOnce) {
  const ValueId x = input("x", {dim("N", 2), 8});
  const ValueId turned = transpose(transpose(x, {1, 0}), {1, 0});
  const ValueId y = op("sub", {op("exp", {op("tanh", {turned})}), op("tanh", {x})});
  EXPECT_EQ(count(Graph{{y}}, "tanh"), 2U);
  EXPECT_EQ(search({y}).form, "v1 = tanh(x); v2 = exp(v1); v3 = sub(v2, v1); v3");
}

}  // namespace
}  // namespace xflow::coverage
