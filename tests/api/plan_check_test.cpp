// Multi-device configurations are refused where they have faults, and written as they are meant.
#include "src/parallel/plan_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xflow/check_plan.h>
#include <xflow/simulate.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "src/parallel/placed_nodes.h"
#include "tests/onnx/model_builder.h"

namespace xflow::parallel {
namespace {

using onnx_io::DeviceAnnotations;
using onnx_io::Document;
using onnx_io::NodeId;
using onnx_io::ShardingSpec;
using onnx_io::testing::float_info;
using onnx_io::testing::GraphParts;
using onnx_io::testing::node;
using onnx_io::testing::parsed;

// One node that reads a and b, and a Relu of its result.
Document two_nodes(std::string_view operator_name, std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  GraphParts parts;
  parts.nodes = {node(operator_name, "first", {"a", "b"}, {"m"}), node("Relu", "second", {"m"}, {"y"})};
  parts.inputs = {float_info("a", std::move(a)), float_info("b", std::move(b))};
  parts.outputs = {float_info("y", {8, 8})};
  return parsed(onnx_io::testing::model_of(parts));
}

DeviceAnnotations annotations_of(const Document& document, std::int64_t devices, std::vector<ShardingSpec> specs) {
  return {{{"c", devices}}, {{document.nodes()[0].id, {{"c", std::move(specs)}}}}};
}

ShardingSpec rows(std::string tensor, std::vector<std::int64_t> devices) {
  const auto shards = static_cast<std::int64_t>(devices.size());
  return {std::move(tensor), std::move(devices), {}, {{0, {{std::nullopt, std::nullopt, shards}}}}};
}

TEST(AnnotatedDocument, HasAnnotationsWithoutFaults) {
  const Document document = two_nodes("Add", {8, 8}, {8, 8});
  const DeviceAnnotations written = annotations_of(document, 2, {rows("a", {0, 1}), rows("b", {0, 1}), rows("m", {1, 0})});
  const auto plan = annotated_document(document, written);
  ASSERT_TRUE(plan) << plan.error().text();
  const auto read = read_device_annotations(*plan);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, written);
  EXPECT_EQ(check_annotations(*plan, *read).faults, std::vector<PlanFault>{});
}

TEST(AnnotatedDocument, RefusesUnevenShards) {
  const Document document = two_nodes("Add", {8, 8}, {8, 8});
  const auto plan = annotated_document(document, annotations_of(document, 3, {rows("a", {0, 1, 2})}));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(plan.error().message,
            "node 'first' (Add), configuration 'c', tensor 'a': size 8 of axis 0 is not divisible into 3 even shards "
            "(SimpleShardedDimProto.num_shards)");
}

TEST(AnnotatedDocument, DoesNotJudgeConfigurationsOfTheModel) {
  const Document document = two_nodes("Add", {8, 8}, {8, 8});
  const Document faulty = parsed(*with_device_annotations(document, annotations_of(document, 2, {rows("a", {0, 5})})));
  const auto plan = annotated_document(faulty, {{{"new", 1}}, {}});
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(check_annotations(*plan, *read_device_annotations(*plan)).faults.size(), 1U);
}

// A random division of an 8 by 8 tensor over 4 devices, without a fault of its own.
ShardingSpec random_spec(std::string tensor, std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  ShardingSpec spec{std::move(tensor), {}};
  std::vector<std::int64_t> devices = {0, 1, 2, 3};
  std::ranges::shuffle(devices, random);
  int shards = 1;
  std::vector<int> axes = {0, 1};
  if (below(2) == 1) std::swap(axes[0], axes[1]);
  for (const int axis : axes) {
    if (below(2) == 0) continue;
    spec.axes.push_back({axis, {{std::nullopt, std::nullopt, 2}}});
    shards *= 2;
  }
  const int copies = 1 + below(4 / shards);
  std::size_t next = 0;
  for (int shard = 0; shard < shards; ++shard) {
    spec.devices.push_back(-1 - shard);
    spec.groups.push_back({-1 - shard, {}});
    for (int copy = 0; copy < copies; ++copy) spec.groups.back().devices.push_back(devices[next++]);
  }
  return spec;
}

// Whether a device has the element of a tensor, by the definition of a spec: blocks of 4 of 8, row-major.
bool has_element(const ShardingSpec& spec, std::int64_t device, const std::array<int, 2>& element) {
  std::size_t shard = 0;
  for (const onnx_io::ShardedAxis& axis : spec.axes)
    shard = 2 * shard + static_cast<std::size_t>(element[static_cast<std::size_t>(*axis.axis)] / 4);
  const auto group = std::ranges::find(spec.groups, spec.devices[shard], &onnx_io::DeviceGroup::key);
  return std::ranges::find(group->devices, device) != group->devices.end();
}

// Whether for each step of the loops i, j, k of a 8 by 8 result some device has both operands.
bool can_be_computed(bool is_product, const ShardingSpec& a, const ShardingSpec& b) {
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      for (int k = 0; k < (is_product ? 8 : 1); ++k) {
        const auto on = [&](std::int64_t device) {
          return is_product ? has_element(a, device, {i, k}) && has_element(b, device, {k, j})
                            : has_element(a, device, {i, j}) && has_element(b, device, {i, j});
        };
        if (!on(0) && !on(1) && !on(2) && !on(3)) return false;
      }
    }
  }
  return true;
}

TEST(InputShards, HaveAFaultIfAndOnlyIfSomeElementCannotBeComputed) {
  std::mt19937 random(1);
  std::array<std::size_t, 2> count{};
  for (const bool is_product : {false, true}) {
    const Document document = two_nodes(is_product ? "MatMul" : "Add", {8, 8}, {8, 8});
    for (int k = 0; k < 300; ++k) {
      const ShardingSpec a = random_spec("a", random);
      const ShardingSpec b = random_spec("b", random);
      const DeviceAnnotations annotations = annotations_of(document, 4, {a, b});
      const Document plan = parsed(*with_device_annotations(document, annotations));
      const PlanCheck check = check_annotations(plan, annotations);
      ASSERT_LE(check.faults.size(), 1U);
      const bool fits = can_be_computed(is_product, a, b);
      ASSERT_EQ(check.consistent(), fits) << check.to_text();
      if (!fits) {
        ASSERT_EQ(check.faults[0].text.substr(0, 13), "no device has");
      }
      ++count[fits ? 1 : 0];
    }
  }
  EXPECT_GT(count[0], 50U);
  EXPECT_GT(count[1], 50U);
}

// A chain over x of nodes that read the results of others, by number.
Document graph_of(const std::vector<std::vector<int>>& reads) {
  GraphParts parts;
  for (std::size_t k = 0; k < reads.size(); ++k) {
    std::vector<std::string> inputs = {"x"};
    for (const int read : reads[k]) inputs.push_back(fmt::format("v{}", read));
    parts.nodes.push_back(node("Sum", fmt::format("n{}", k), inputs, {fmt::format("v{}", k)}));
  }
  parts.inputs = {float_info("x")};
  parts.outputs = {float_info(fmt::format("v{}", reads.size() - 1))};
  return parsed(onnx_io::testing::model_of(parts));
}

// Stages by device, as "0:1 3:0"; "none".
std::string stages_of(const std::vector<std::vector<int>>& reads, const std::vector<int>& devices) {
  const Document document = graph_of(reads);
  DeviceOfNode of_nodes;
  for (std::size_t k = 0; k < devices.size(); ++k)
    if (devices[k] >= 0) of_nodes[document.nodes()[k].id] = static_cast<std::uint32_t>(devices[k]);
  const auto stages = pipeline_stages(document, of_nodes);
  if (!stages) return "none";
  std::string text;
  for (const auto& [device, stage] : *stages) text += fmt::format("{}{}:{}", text.empty() ? "" : " ", device, stage);
  return text;
}

TEST(PipelineStages, FollowTheNeedsOfDevices) {
  EXPECT_EQ(stages_of({{}, {0}, {1}}, {5, 5, 2}), "2:1 5:0");
  EXPECT_EQ(stages_of({{}, {}, {0, 1}}, {0, 1, 0}), "0:1 1:0");  // 0 runs first and waits for 1
  EXPECT_EQ(stages_of({{}, {0}, {1}}, {0, 1, 0}), "none");
  EXPECT_EQ(stages_of({{}, {0}, {1}}, {0, -1, 1}), "0:0 1:1");  // over a node without a device
  EXPECT_EQ(stages_of({{}, {0}, {1}, {2}}, {0, -1, 1, 0}), "none");
  EXPECT_EQ(stages_of({{}}, {-1}), "");
}

TEST(PlacementAnnotations, PutAllTensorsOfANodeOnItsDevice) {
  const Document document = graph_of({{}, {0, 0}});
  const std::vector<NodeId> nodes = {document.nodes()[0].id, document.nodes()[1].id};
  const DeviceAnnotations annotations = placement_annotations(document, {"c", 2, {"p", "q"}}, {{nodes[0], 1}, {nodes[1], 0}});
  EXPECT_EQ(annotations.configurations, (std::vector<onnx_io::DeviceConfiguration>{{"c", 2, {"p", "q"}}}));
  EXPECT_EQ(annotations.nodes, (std::vector<onnx_io::AnnotatedNode>{{nodes[0], {{"c", {{"x", {1}}, {"v0", {1}}}, 0}}},
                                                                    {nodes[1], {{"c", {{"x", {0}}, {"v0", {0}}, {"v1", {0}}}, 1}}}}));
}

TEST(WritePlanModel, RefusesTheStepOfAnotherModel) {
  const onnx_io::testing::TemporaryFolder folder;
  const std::string model = folder.write("model.onnx", graph_of({{}, {0}}).bytes());
  SimulationResult result;
  result.cluster = "c";
  result.devices.resize(1);
  result.nodes = {{"", 1, "Relu", 0}};
  const auto refused = [&] { return write_plan_model(model, result, folder.file("out.onnx")).error().text(); };
  EXPECT_EQ(refused(), model + ": the step is of another model: it has node 1 (Relu)");
  result.nodes = {{"", 2, "Sum", 0}};
  EXPECT_EQ(refused(), model + ": the step is of another model: it has node 2 (Sum)");
  result.nodes = {{"n0", 1, "Sum", 0}};
  EXPECT_EQ(refused(), model + ": the step is of another model: it has node 1 (Sum)");
  result.nodes = {{"", 1, "Sum", 1}};
  EXPECT_EQ(refused(), model + ": the step is of another model: it has node 1 (Sum)");
  EXPECT_EQ(folder.list(), std::vector<std::string>{"model.onnx"});
  result.nodes = {{"n1", 1, "Sum", 0}};
  result.devices[0].name = "only";
  ASSERT_TRUE(write_plan_model(model, result, folder.file("out.onnx")));
  const auto check = check_plan(folder.file("out.onnx"));
  ASSERT_TRUE(check) << check.error().text();
  EXPECT_EQ(check->to_text(), "configuration 'c': 1 device (only), 1 node, 3 sharding specs, 1 pipeline stage\nno faults\n");
}

TEST(CheckPlan, ReturnsErrorsOfItsFile) {
  const auto check = check_plan("no.onnx");
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().text(), "no.onnx: cannot open: No such file or directory");
}

}  // namespace
}  // namespace xflow::parallel
