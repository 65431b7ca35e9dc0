// The division of models into parts, against the definition, on random graphs.
#include "src/parallel/model_parts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "src/parallel/part_document.h"
#include "tests/onnx/model_builder.h"

namespace xflow::parallel {
namespace {

using onnx_io::Document;
using onnx_io::testing::float_info;
using onnx_io::testing::float_tensor;
using onnx_io::testing::GraphParts;
using onnx_io::testing::node;
using PlannedDevices = std::vector<std::optional<std::uint32_t>>;

std::size_t number(onnx_io::NodeId id) { return onnx_io::index(id); }

struct RandomModel {
  Document document;
  PlannedDevices devices;
  std::vector<std::vector<std::size_t>> reads;  // nodes that a node reads
};

// Additions of earlier values; sinks are outputs. Every node has a device.
RandomModel random_model(std::mt19937& random, std::size_t nodes, std::uint32_t devices) {
  GraphParts graph;
  graph.inputs = {float_info("x")};
  graph.initializers = {float_tensor("w", {1, 2})};
  RandomModel model{onnx_io::testing::parsed(onnx_io::testing::model_of(graph)), {}, {}};
  std::set<std::size_t> sinks;
  for (std::size_t k = 0; k < nodes; ++k) {
    std::vector<std::string> inputs;
    model.reads.emplace_back();
    for (int operand = 0; operand < 2; ++operand) {
      const std::size_t from = random() % (k + 2);
      if (from < k) {
        model.reads[k].push_back(from);
        sinks.erase(from);
      }
      // Not the weight alone, which would be a constant.
      inputs.push_back(from < k ? fmt::format("v{}", from) : from == k || operand == 0 ? "x" : "w");
    }
    graph.nodes.push_back(node("Add", fmt::format("n{}", k), inputs, {fmt::format("v{}", k)}));
    sinks.insert(k);
    model.devices.emplace_back(random() % devices);
  }
  for (const std::size_t sink : sinks) graph.outputs.push_back(float_info(fmt::format("v{}", sink)));
  model.document = onnx_io::testing::parsed(onnx_io::testing::model_of(graph));
  return model;
}

TEST(ModelParts, HaveTheNodesOfOneDeviceAndStage) {
  std::mt19937 random(1);
  for (int run = 0; run < 300; ++run) {
    const RandomModel model = random_model(random, 1 + random() % 30, 1 + random() % 4);
    const ModelParts parts = divide(model.document, model.devices, {});
    std::vector<std::uint32_t> stages;
    for (std::size_t k = 0; k < model.reads.size(); ++k) {
      std::uint32_t stage = 0;
      for (const std::size_t from : model.reads[k])
        stage = std::max(stage, stages[from] + (model.devices[from] != model.devices[k] ? 1U : 0U));
      stages.push_back(stage);
    }
    std::vector<int> times(stages.size());
    for (std::size_t p = 0; p < parts.parts.size(); ++p) {
      const ModelPart& part = parts.parts[p];
      ASSERT_FALSE(part.nodes.empty());
      for (const onnx_io::NodeId id : part.nodes) {
        ++times[number(id)];
        EXPECT_EQ(part.device, model.devices[number(id)]);
        EXPECT_EQ(part.stage, stages[number(id)]);
      }
      // Parts can run in their order, and each tensor comes from where it is computed.
      for (const CutTensor& input : part.inputs) {
        if (!input.part) continue;
        EXPECT_LT(*input.part, p);
        const auto& outputs = parts.parts[*input.part].outputs;
        EXPECT_NE(std::ranges::find(outputs, input.name), outputs.end());
      }
      for (std::size_t other = 0; other < p; ++other)
        EXPECT_NE(std::pair(part.device, part.stage), std::pair(parts.parts[other].device, parts.parts[other].stage));
    }
    EXPECT_EQ(times, std::vector<int>(times.size(), 1));
    EXPECT_EQ(parts.left_out, 0U);
    EXPECT_EQ(parts.copied, 0U);
  }
}

// x -> a -> b -> y, and c that nobody needs.
GraphParts relu_chain() {
  GraphParts graph;
  graph.inputs = {float_info("x")};
  graph.outputs = {float_info("y")};
  graph.nodes = {node("Relu", "first", {"x"}, {"a"}), node("Relu", "second", {"a"}, {"b"}), node("Relu", "unread", {"a"}, {"c"}),
                 node("Relu", "third", {"b"}, {"y"})};
  return graph;
}

TEST(ModelParts, NodesWithoutADeviceFollowTheirFirstReader) {
  const Document document = onnx_io::testing::parsed(onnx_io::testing::model_of(relu_chain()));
  const ModelParts parts = divide(document, PlannedDevices{std::nullopt, 1, std::nullopt, std::nullopt}, {});
  ASSERT_EQ(parts.parts.size(), 1U);
  EXPECT_EQ(parts.parts[0].device, 1U);
  EXPECT_EQ(parts.parts[0].nodes.size(), 3U);
  EXPECT_EQ(parts.left_out, 1U);
}

TEST(ModelParts, ConstantsAreCopiedToTheirReaders) {
  GraphParts graph = relu_chain();
  graph.initializers = {float_tensor("w", {1, 2})};
  graph.nodes = {node("Neg", "constant", {"w"}, {"v"}), node("Add", "first", {"x", "v"}, {"a"}), node("Add", "second", {"a", "v"}, {"y"})};
  const Document document = onnx_io::testing::parsed(onnx_io::testing::model_of(graph));
  const ModelParts parts = divide(document, PlannedDevices{2, 0, 1}, {});
  ASSERT_EQ(parts.parts.size(), 2U);
  for (const ModelPart& part : parts.parts) {
    EXPECT_EQ(part.nodes.size(), 2U);
    EXPECT_EQ(part.initializers, std::vector<std::string_view>{"w"});
    EXPECT_EQ(part.inputs.size(), 1U);
  }
  EXPECT_EQ(parts.copied, 1U);
}

// A part is the model without other nodes: each of its nodes is the same bytes.
TEST(ModelParts, AreWrittenByteForByte) {
  std::mt19937 random(2);
  for (int run = 0; run < 50; ++run) {
    const RandomModel model = random_model(random, 1 + random() % 20, 3);
    ir::Arena arena;
    const auto lifted = onnx_io::lift(model.document, arena, {.infer = true});
    ASSERT_TRUE(lifted);
    const auto known = known_integers(model.document, *lifted, arena);
    ASSERT_TRUE(known);
    const ModelParts parts = divide(model.document, model.devices, *known);
    const PartWriter writer(model.document, *lifted, arena, *known);
    for (std::size_t p = 0; p < parts.parts.size(); ++p) {
      const auto bytes = writer.write(parts.parts[p], p);
      ASSERT_TRUE(bytes) << bytes.error().text();
      const Document part = onnx_io::testing::parsed(*bytes);
      ASSERT_EQ(part.nodes().size(), parts.parts[p].nodes.size());
      for (std::size_t k = 0; k < part.nodes().size(); ++k)
        EXPECT_EQ(part.nodes()[k].payload, model.document.node(parts.parts[p].nodes[k]).payload);
      EXPECT_EQ(part.main().inputs.size(), parts.parts[p].inputs.size());
      EXPECT_EQ(part.main().outputs.size(), parts.parts[p].outputs.size());
      EXPECT_TRUE(part.main().sorted);
    }
  }
}

}  // namespace
}  // namespace xflow::parallel
