#include "xflow/graph.h"

#include <gtest/gtest.h>

#include <cstring>

namespace xflow {
namespace {

std::vector<std::byte> floats(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

OptimizeOptions quick() {
  OptimizeOptions options;
  options.search.max_states = 200;
  options.validation.gate = false;
  return options;
}

TEST(GraphBuilder, BuildsTheGivenNodes) {
  GraphBuilder builder;
  const Value x = builder.input("x", DataType::float32, {"N", 4});
  const Value w = builder.weight(DataType::float32, {4, 2}, floats(std::vector<float>(8, 1)));
  builder.output("y", builder.apply("relu", {builder.apply("matmul", {x, w})}));
  const auto graph = builder.build();
  ASSERT_TRUE(graph) << graph.error().text();
  ASSERT_EQ(graph->nodes().size(), 2U);
  EXPECT_EQ(graph->nodes()[0].op, "matmul");
  EXPECT_EQ(graph->nodes()[1].operands, graph->nodes()[0].results);
  EXPECT_EQ(graph->outputs()[0].value, graph->nodes()[1].results[0]);
}

TEST(GraphBuilder, TakesSizesOfAllIntegerTypesAndNames) {
  const int width = 64;
  const std::size_t height = 256;
  const std::vector<Dimension> dims = {"N", width, height};
  EXPECT_EQ(dims, (std::vector<Dimension>{Dimension("N"), Dimension(64), Dimension(256)}));
  EXPECT_EQ((std::vector<Dimension>{height, width}).size(), 2U);
  EXPECT_TRUE(dims[0].is_named());
  EXPECT_EQ(dims[2].size(), 256);
  EXPECT_NE(dims[0], Dimension("M"));
  const AttributeValue integers = {1, 0};
  EXPECT_EQ(*std::get_if<std::vector<std::int64_t>>(&integers), (std::vector<std::int64_t>{1, 0}));
  const AttributeValue sizes = {"N", height};
  EXPECT_EQ(*std::get_if<std::vector<Dimension>>(&sizes), (std::vector<Dimension>{"N", 256}));
  GraphBuilder builder;
  const Value x = builder.input("x", DataType::float32, {"N", width, height});
  const Value flat = builder.apply("reshape", {x}, {{"shape", {"N", width * 256}}});
  builder.output("y", builder.apply("transpose", {flat}, {{"perm", {1, 0}}}));
  const auto graph = builder.build();
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(graph->inputs()[0].dims, dims);
}

TEST(GraphBuilder, ReturnsTheFirstMistake) {
  GraphBuilder builder;
  const Value x = builder.input("x", DataType::float32, {2, 4});
  const Value y = builder.input("y", DataType::float32, {3, 4});
  builder.output("z", builder.apply("matmul", {x, y}));
  builder.apply("nonsense", {x});
  const auto graph = builder.build();
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::ill_typed);
  EXPECT_EQ(graph.error().text().rfind("matmul: expected", 0), 0U) << graph.error().text();
}

TEST(GraphBuilder, NamesUnknownOperatorsWrongWeightsAndOutputs) {
  {
    GraphBuilder builder;
    builder.apply("nonsense", {});
    EXPECT_EQ(builder.build().error().text(), "no operator 'nonsense'");
  }
  {
    GraphBuilder builder;
    builder.weight(DataType::float32, {2, 2}, floats({1, 2, 3}));
    EXPECT_EQ(builder.build().error().text(), "weight float32[2, 2]: expected 16 bytes, found 12");
  }
  {
    GraphBuilder builder;
    builder.input("x", DataType::float32, {0});
    EXPECT_EQ(builder.build().error().text(), "input 'x': size 0 is not positive");
  }
  {
    GraphBuilder builder;
    builder.input("x", DataType::float32, {2});
    EXPECT_EQ(builder.build().error().text(), "the graph has no outputs");
  }
  {
    GraphBuilder builder;
    const Value x = builder.input("x", DataType::float32, {2});
    builder.output("y", x);
    builder.output("y", x);
    EXPECT_EQ(builder.build().error().text(), "two outputs are named 'y'");
  }
  {
    GraphBuilder builder;
    builder.input("x", DataType::float32, {2});
    builder.input("x", DataType::float32, {3});
    EXPECT_EQ(builder.build().error().text(), "two inputs are named 'x'");
  }
  {
    GraphBuilder builder;
    builder.weight(DataType::float32, {-2, -3}, floats(std::vector<float>(6)));
    EXPECT_EQ(builder.build().error().text(), "weight float32[-2, -3]: size -2 is negative");
  }
  {
    GraphBuilder builder;
    builder.weight(DataType::float32, {std::int64_t{1} << 62, 8}, {});
    EXPECT_EQ(builder.build().error().text(), "weight float32[4611686018427387904, 8]: more than 2^48 elements");
  }
}

// relu(transpose(transpose(x)) + relu(w)): moving the elements twice is never free.
Result<Graph> with_transposes(const std::vector<float>& weights) {
  GraphBuilder builder;
  const Value x = builder.input("x", DataType::float32, {"N", 512});
  const Value w = builder.weight(DataType::float32, {512}, floats(weights));
  const std::vector<std::int64_t> swap{1, 0};
  const Value turned = builder.apply("transpose", {builder.apply("transpose", {x}, {{"perm", swap}})}, {{"perm", swap}});
  builder.output("y", builder.apply("relu", {builder.apply("add", {turned, builder.apply("relu", {w})})}));
  return builder.build();
}

TEST(OptimizeGraph, RemovesWhatDoesNothingAndKeepsNames) {
  const auto graph = with_transposes(std::vector<float>(512, 1));
  ASSERT_TRUE(graph) << graph.error().text();
  OptimizeOptions options = quick();
  options.input.shapes = {{"x", {256, 512}}};
  options.validation.gate = true;
  const auto result = optimize(*graph, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->report.improved) << result->report.to_text();
  EXPECT_TRUE(result->report.gate.run);
  for (const GraphNode& node : result->graph.nodes()) EXPECT_NE(node.op, "transpose");
  ASSERT_EQ(result->graph.inputs().size(), 1U);
  EXPECT_EQ(result->graph.inputs()[0].name, "x");
  EXPECT_EQ(result->graph.inputs()[0].dims, (std::vector<Dimension>{"N", 512}));
  EXPECT_EQ(result->graph.outputs()[0].name, "y");
  EXPECT_TRUE(result->report.sizes.assumed.empty());
}

TEST(OptimizeGraph, KeepsTheOriginalWhereNothingCouldBeMeasured) {
  const auto graph = with_transposes(std::vector<float>(512, 1));
  ASSERT_TRUE(graph) << graph.error().text();
  OptimizeOptions options = quick();
  options.validation.gate = true;
  options.validation.max_measure_time = Seconds(0);
  const auto result = optimize(*graph, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->report.improved);
  EXPECT_EQ(result->report.reason, "run from end to end, the budget of 0 s was used up after 0 of 15 pairs");
  EXPECT_EQ(result->graph.nodes().size(), graph->nodes().size());
}

TEST(OptimizeGraph, ComputesExpressionsOfConstantsOnce) {
  std::vector<float> weights(512, -3);
  weights[7] = 5;
  const auto graph = with_transposes(weights);
  ASSERT_TRUE(graph) << graph.error().text();
  OptimizeOptions options = quick();
  options.input.shapes = {{"x", {256, 512}}};
  const auto result = optimize(*graph, options);
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->graph.weights().size(), 1U) << result->report.to_text();
  std::vector<float> folded(512);
  ASSERT_EQ(result->graph.weights()[0].bytes.size(), folded.size() * sizeof(float));
  std::memcpy(folded.data(), result->graph.weights()[0].bytes.data(), folded.size() * sizeof(float));
  EXPECT_EQ(folded[7], 5.0F);
  EXPECT_EQ(folded[8], 0.0F);
}

TEST(OptimizeGraph, SaysWhichSizesItAssumed) {
  const auto graph = with_transposes(std::vector<float>(512, 1));
  ASSERT_TRUE(graph);
  const auto result = optimize(*graph, quick());
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->report.sizes.assumed, std::vector<std::string>{"x: [1, 512]"});
}

TEST(OptimizeGraph, RefusesDevicesAndShapesThatDoNotExist) {
  GraphBuilder builder;
  builder.output("y", builder.apply("relu", {builder.input("x", DataType::float32, {"N"})}));
  const auto graph = builder.build();
  ASSERT_TRUE(graph);
  OptimizeOptions options;
  options.device.name = "abacus";
  EXPECT_EQ(optimize(*graph, options).error().text(), "no device 'abacus'; there are: cpu, cuda:N, profile:FILE, runner");
  options = {};
  options.device.threads = 100'000;
  EXPECT_EQ(optimize(*graph, options).error().text(), "100000 threads are not in the range 1 to 1024");
  options = {};
  options.search.threads = 0;
  EXPECT_EQ(optimize(*graph, options).error().text(), "0 threads are not in the range 1 to 1024");
  options = {};
  options.input.shapes = {{"z", {1}}};
  EXPECT_EQ(optimize(*graph, options).error().text(), "no input 'z'; the inputs are 'x'");
  options.input.shapes = {{"x", {1, 2}}};
  EXPECT_EQ(optimize(*graph, options).error().text(), "shape [1, 2] of input 'x' has 2 dimensions, the model's has 1");
}

TEST(OptimizeGraph, ReportsEqualAndUnusedNodesLikeRules) {
  GraphBuilder builder;
  const Value x = builder.input("x", DataType::float32, {64, 64});
  builder.apply("exp", {x});
  const Value one = builder.apply("tanh", {x});
  const Value other = builder.apply("tanh", {x});
  builder.output("y", builder.apply("matmul", {one, other}));
  const auto graph = builder.build();
  ASSERT_TRUE(graph) << graph.error().text();
  const auto result = optimize(*graph, quick());
  ASSERT_TRUE(result) << result.error().text();
  const OptimizeReport& report = result->report;
  EXPECT_TRUE(report.improved) << report.to_text();
  EXPECT_EQ(result->graph.nodes().size(), 2U);
  ASSERT_EQ(report.search.steps.size(), 2U) << report.to_text();
  EXPECT_EQ(report.search.steps[0].rule, "drop-unused");
  EXPECT_EQ(report.search.steps[0].where, "node 0 (exp)");
  EXPECT_EQ(report.search.steps[1].rule, "merge-equal-nodes");
  EXPECT_EQ(report.search.steps[1].where, "node 2 (tanh)");
  EXPECT_EQ(report.search.rules.size(), 2U);
  EXPECT_EQ(report.nodes.merged, 1U);
  // What the original costs contains them.
  const Nanoseconds gains = report.search.steps[0].gain + report.search.steps[1].gain;
  EXPECT_GT(gains, Nanoseconds(0));
  EXPECT_NEAR((report.predicted.after + gains) / report.predicted.before, 1, 1e-6);
}

TEST(OptimizeGraph, WithoutEqualOrUnusedNodesReportsNone) {
  GraphBuilder builder;
  const Value x = builder.input("x", DataType::float32, {64, 64});
  builder.output("y", builder.apply("matmul", {builder.apply("tanh", {x}), builder.apply("exp", {x})}));
  const auto graph = builder.build();
  const auto result = optimize(*graph, quick());
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->report.improved);
  EXPECT_EQ(result->report.reason, "no proved rule makes it cheaper");
  EXPECT_TRUE(result->report.search.steps.empty());
}

TEST(OptimizeGraph, NamesTheCachesInItsDevice) {
  GraphBuilder builder;
  builder.output("y", builder.apply("relu", {builder.input("x", DataType::float32, {4})}));
  const auto graph = builder.build();
  OptimizeOptions options = quick();
  const auto warm = optimize(*graph, options);
  ASSERT_TRUE(warm) << warm.error().text();
  EXPECT_EQ(warm->report.device.find("between launches"), std::string::npos) << warm->report.device;
  options.device.caches = CacheState::after_4_mib;
  const auto cold = optimize(*graph, options);
  ASSERT_TRUE(cold) << cold.error().text();
  EXPECT_TRUE(cold->report.device.ends_with(", 4 MiB between launches")) << cold->report.device;
}

}  // namespace
}  // namespace xflow
