// Parts of plans that have nodes of the document as they are.
#include "src/parallel/kept_nodes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "src/parallel/kept_document.h"
#include "src/parallel/plan_parts.h"
#include "tests/onnx/model_builder.h"
#include "tests/parallel/split_graphs.h"

namespace xflow::parallel {
namespace {

using onnx_io::NodeBuilder;
using onnx_io::WireWriter;
using onnx_io::testing::float_info;
using onnx_io::testing::GraphParts;
using onnx_io::testing::node;

constexpr std::int64_t kRows = 8;

std::string matrix(std::string_view name, std::int64_t rows, std::int64_t columns) {
  std::string raw;
  for (std::int64_t k = 0; k < rows * columns; ++k) {
    const float value = static_cast<float>(k % 7) / 8 - 0.25F;
    raw.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const std::vector<std::int64_t> dims{rows, columns};
  return onnx_io::tensor_message(name, ir::DataType::float32, dims, raw);
}

std::string mystery(std::string_view name, std::string_view from, std::string_view to) {
  return NodeBuilder("Mystery", "lab").name(name).input(from).output(to).integer("depth", 3).message();
}

std::string with_lab(const GraphParts& parts) {
  return onnx_io::testing::model_message(onnx_io::testing::graph_message(parts),
                                         WireWriter().bytes(8, WireWriter().bytes(1, "lab").varint(2, 1).view()).view());
}

// x -> product p -> `middle` -> q -> product y.
std::string between_products(const std::string& middle) {
  GraphParts parts;
  parts.nodes = {node("MatMul", "first", {"x", "a"}, {"p"}), middle, node("MatMul", "second", {"q", "b"}, {"y"})};
  parts.initializers = {matrix("a", 6, 12), matrix("b", 12, 4)};
  parts.inputs = {float_info("x", {kRows, 6})};
  parts.outputs = {float_info("y", {kRows, 4})};
  parts.value_infos = {float_info("q", {kRows, 12})};
  return with_lab(parts);
}

// A model of which nodes are kept, on devices.
struct KeptModel {
  KeptModel(std::string bytes, std::uint32_t devices)
      : document(onnx_io::testing::parsed(std::move(bytes))), cluster(parallel::cluster_of(devices)) {
    lifted = std::make_unique<onnx_io::LiftedModel>(onnx_io::lift(document, arena, {.infer = true}).value());
    tasks = tasks_of(document, *lifted, arena);
    const std::vector<bool> keep = tasks_to_keep(*lifted, arena, tasks, known());
    std::vector<OperatorSource> sources;
    sources.reserve(tasks.nodes.size());
    for (std::size_t task = 0; task < tasks.nodes.size(); ++task)
      sources.push_back({std::string(document.node(tasks.nodes[task]).op_type), describe(document, tasks.nodes[task]), {}, keep[task]});
    for (const ir::NodeId id : tasks.order)
      if (const auto task = tasks.task_of.find(id); task != tasks.task_of.end()) sources[task->second].operations.push_back(id);
    // A size that nobody knows is assumed, as for costs.
    split = SplitModel::of(
                arena, lifted->graph, std::move(sources), [](ir::SymbolId) { return 5; },
                std::vector<cost::KernelCosts*>(cluster.size(), costs.costs.get()))
                .value();
    interface.kept = kept_operators(document, *lifted, *split, tasks, known());
    interface.prefix = unused_prefix(document);
    for (std::size_t k = 0; k < lifted->inputs.size(); ++k) interface.inputs.emplace(lifted->inputs[k], lifted->input_names[k]);
    for (std::size_t k = 0; k < lifted->output_count; ++k)
      interface.outputs.emplace_back(lifted->output_names[k], lifted->graph.outputs[k]);
  }

  static ir::Symbols::Valuation known() {
    return [](ir::SymbolId) { return std::nullopt; };
  }
  std::uint32_t task(std::string_view name) const {
    const auto found = std::ranges::find(tasks.nodes, name, [&](onnx_io::NodeId id) { return document.node(id).name; });
    EXPECT_NE(found, tasks.nodes.end()) << name;
    return static_cast<std::uint32_t>(found - tasks.nodes.begin());
  }

  onnx_io::Document document;
  DeviceCluster cluster;
  ir::Arena arena;
  std::unique_ptr<onnx_io::LiftedModel> lifted;
  ModelTasks tasks;
  TestCosts costs{0};
  std::unique_ptr<SplitModel> split;
  ModelInterface interface;
};

eval::Tensor ramp(std::int64_t rows, std::int64_t columns) {
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k % 11) / 4 - 1;
  return eval::Tensor::of_doubles(ir::DataType::float32, {rows, columns}, std::move(values));
}

// What the unknown operator computes here.
eval::Tensor twice_and_one(const eval::Tensor& tensor) {
  std::vector<double> values = *eval::doubles(tensor);
  for (double& value : values) value = 2 * value + 1;
  return eval::Tensor::of_doubles(ir::DataType::float32, tensor.dims, std::move(values));
}

// The output of the parts, where kept nodes have one operand and the first result twice_and_one.
std::vector<double> result_of(KeptModel& model, const PlanParts& parts) {
  std::map<std::pair<std::optional<std::size_t>, std::string>, eval::Tensor> tensors;
  tensors.emplace(std::pair(std::nullopt, "x"), ramp(kRows, 6));
  for (std::size_t k = 0; k < parts.parts.size(); ++k) {
    const PlanPart& part = parts.parts[k];
    eval::Bindings values;
    for (const PartInput& input : part.inputs) values.emplace(input.value, tensors.at({input.part, input.name}));
    for (const PartNodes& own : part.kept) {
      const auto operand = eval::evaluate(model.arena, ir::Graph{own.operands}, values);
      EXPECT_TRUE(operand) << (operand ? "" : operand.error().text());
      values.emplace(own.results.at(0), twice_and_one(operand->at(0)));
    }
    const auto results = eval::evaluate(model.arena, part.graph, values);
    EXPECT_TRUE(results) << (results ? "" : results.error().text());
    for (std::size_t output = 0; output < part.outputs.size(); ++output)
      tensors.emplace(std::pair(std::optional(k), part.outputs[output]), (*results)[output]);
  }
  return *eval::doubles(tensors.at({parts.outputs.at(0).part, parts.outputs.at(0).name}));
}

TEST(KeptNodes, BetweenDividedNodesComputeTheSame) {
  KeptModel model(between_products(mystery("middle", "p", "q")), 6);
  ASSERT_EQ(model.interface.kept.size(), 1U);
  // What the model computes.
  const ValueId p = model.lifted->values.at("p");
  const eval::Bindings x{{model.lifted->inputs[0], ramp(kRows, 6)}};
  const auto before = eval::evaluate(model.arena, ir::Graph{{p}}, x);
  const auto expected = eval::evaluate(model.arena, model.lifted->graph, {{model.lifted->values.at("q"), twice_and_one(before->at(0))}});
  ASSERT_TRUE(expected) << expected.error().text();
  RandomNumbers random(3);
  std::size_t copies = 0;
  std::size_t splits = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const SplitPlan plan = random_plans(*model.split, 6, random);
    const OperatorPlan& middle = plan[model.task("middle")];
    EXPECT_EQ(middle.parts(), middle.degree(SplitTarget::copies));
    copies += middle.parts() > 1 ? 1 : 0;
    splits += plan[model.task("first")].splits.size() + plan[model.task("second")].splits.size();
    const auto parts = parts_of(*model.split, plan, model.interface);
    ASSERT_TRUE(parts) << parts.error().text();
    // Each device of the plan has the node once.
    std::vector<std::uint32_t> devices;
    for (const PlanPart& part : parts->parts)
      for (std::size_t k = 0; k < part.kept.size(); ++k) devices.push_back(part.device);
    for (std::uint32_t part = 0; part < middle.parts(); ++part) EXPECT_LE(std::ranges::count(devices, middle.device(part)), 1);
    EXPECT_LE(devices.size(), middle.parts());
    EXPECT_GE(devices.size(), 1U);
    const std::vector<double> found = result_of(model, *parts);
    const std::vector<double> whole = *eval::doubles(expected->at(0));
    ASSERT_EQ(found.size(), whole.size());
    for (std::size_t k = 0; k < whole.size(); ++k) ASSERT_NEAR(found[k], whole[k], 1e-9) << trial << " " << k;
  }
  EXPECT_GT(copies, 10U);
  EXPECT_GT(splits, 60U);
}

// The nodes of a document by name.
std::map<std::string_view, const onnx_io::Node*> nodes_of(const onnx_io::Document& document) {
  std::map<std::string_view, const onnx_io::Node*> nodes;
  for (const onnx_io::Node& own : document.nodes(document.main().id)) nodes.emplace(own.name, &own);
  return nodes;
}

TEST(KeptDocument, HasTheNodeByteForByteAndItsOperandUnderItsName) {
  KeptModel model(between_products(mystery("middle", "p", "q")), 4);
  SplitPlan plan(3);
  plan[model.task("first")].splits = {{SplitTarget::output, 0, 4, 1}};
  plan[model.task("second")].splits = {{SplitTarget::output, 0, 4, 1}};
  const auto parts = parts_of(*model.split, plan, model.interface);
  ASSERT_TRUE(parts) << parts.error().text();
  std::size_t found = 0;
  for (const PlanPart& part : parts->parts) {
    if (part.kept.empty()) continue;
    ++found;
    const auto bytes = kept_document(model.document, *model.lifted, model.arena, part);
    ASSERT_TRUE(bytes) << bytes.error().text();
    const onnx_io::Document written = onnx_io::testing::parsed(*bytes);
    const auto nodes = nodes_of(written);
    ASSERT_TRUE(nodes.contains("middle"));
    EXPECT_EQ(nodes.at("middle")->field, nodes_of(model.document).at("middle")->field);
    const onnx_io::Definition* joined = written.find(onnx_io::GraphId{0}, "p");
    ASSERT_TRUE(joined != nullptr && joined->node);
    EXPECT_EQ(written.node(*joined->node).op_type, "Concat");
    EXPECT_TRUE(written.main().sorted);
    EXPECT_EQ(written.opset(onnx_io::GraphId{0}, "lab"), 1);
    // The result is sliced for the other devices, and its own name is no output.
    EXPECT_EQ(std::ranges::count(part.outputs, "q"), 0);
  }
  EXPECT_EQ(found, 1U);
}

TEST(KeptDocument, OfABodyHasWhatItCapturesUnderItsName) {
  GraphParts yes;
  yes.name = "yes";
  yes.nodes = {node("Neg", "", {"p"}, {"xflow_0"})};
  yes.outputs = {float_info("xflow_0", {kRows, 12})};
  GraphParts no = yes;
  no.name = "no";
  no.nodes = {node("Exp", "", {"p"}, {"xflow_0"})};
  const std::string choice = NodeBuilder("If")
                                 .name("middle")
                                 .input("c")
                                 .output("q")
                                 .graph("then_branch", onnx_io::testing::graph_message(yes))
                                 .graph("else_branch", onnx_io::testing::graph_message(no))
                                 .message();
  GraphParts parts;
  parts.nodes = {node("MatMul", "first", {"x", "a"}, {"p"}), choice, node("Relu", "last", {"q"}, {"y"})};
  parts.initializers = {matrix("a", 6, 12)};
  parts.inputs = {float_info("x", {kRows, 6}), onnx_io::value_info_message("c", ir::DataType::boolean, {})};
  parts.outputs = {float_info("y", {kRows, 12})};
  KeptModel model(onnx_io::testing::model_of(parts), 4);
  EXPECT_EQ(model.interface.prefix, "xflow__");
  const KeptNodes& kept = model.interface.kept.at(model.task("middle"));
  ASSERT_EQ(kept.reads.size(), 2U);
  EXPECT_EQ(kept.reads[0].name, "c");
  EXPECT_EQ(kept.reads[1].name, "p");
  SplitPlan plan(3);
  plan[model.task("first")].splits = {{SplitTarget::output, 1, 3, 1}};
  plan[model.task("middle")].base = 3;
  plan[model.task("last")].base = 3;
  const auto made = parts_of(*model.split, plan, model.interface);
  ASSERT_TRUE(made) << made.error().text();
  const PlanPart& last = made->parts.back();
  EXPECT_EQ(last.device, 3U);
  ASSERT_EQ(last.kept.size(), 1U);
  const auto bytes = kept_document(model.document, *model.lifted, model.arena, last);
  ASSERT_TRUE(bytes) << bytes.error().text();
  const onnx_io::Document written = onnx_io::testing::parsed(*bytes);
  EXPECT_EQ(nodes_of(written).at("middle")->field, nodes_of(model.document).at("middle")->field);
  EXPECT_NE(written.find(onnx_io::GraphId{0}, "p"), nullptr);
  // The condition is declared as in the document.
  const auto condition = std::ranges::find(written.main().inputs, "c", &onnx_io::ValueInfo::name);
  ASSERT_NE(condition, written.main().inputs.end());
  EXPECT_EQ(condition->field, model.document.main().inputs[1].field);
}

TEST(KeptNodes, AreThoseWithSizesThatAreNotKnown) {
  GraphParts parts;
  parts.nodes = {node("MatMul", "first", {"x", "a"}, {"p"}), mystery("middle", "p", "q"), node("Relu", "after", {"q"}, {"r"}),
                 node("Relu", "beside", {"p"}, {"z"}), node("Relu", "last", {"r"}, {"y"})};
  parts.initializers = {matrix("a", 6, 12)};
  parts.inputs = {float_info("x", {kRows, 6})};
  parts.outputs = {onnx_io::testing::dynamic_info("y", {"rows", "12"}), float_info("z", {kRows, 12})};
  parts.value_infos = {onnx_io::testing::dynamic_info("q", {"rows", "12"})};
  KeptModel model(with_lab(parts), 2);
  std::vector<std::string_view> kept;
  for (const auto& [task, nodes] : model.interface.kept) kept.push_back(model.document.node(model.tasks.nodes[task]).name);
  EXPECT_EQ(kept, (std::vector<std::string_view>{"middle", "after", "last"}));
  const OperatorKind& after = model.split->kind(model.split->operators()[model.task("after")]);
  for (const OperatorAxis& axis : after.axes) EXPECT_EQ(axis.obstacle, "its sizes are known when it runs");
  // A result passes to another part with its open size.
  SplitPlan plan(model.tasks.nodes.size());
  plan[model.task("last")].base = 1;
  const auto made = parts_of(*model.split, plan, model.interface);
  ASSERT_TRUE(made) << made.error().text();
  const auto reader = std::ranges::find_if(made->parts, [](const PlanPart& part) { return part.device == 1; });
  ASSERT_NE(reader, made->parts.end());
  ASSERT_EQ(reader->inputs.size(), 1U);
  EXPECT_EQ(reader->inputs[0].name, "r");
  const ir::TensorType& type = model.arena.type(reader->inputs[0].value);
  EXPECT_FALSE(type.shape[0].is_constant());
  EXPECT_EQ(type.shape[1].constant(), 12);
}

TEST(KeptNodes, ThatDrawRandomNumbersRunOnce) {
  const std::string draw = NodeBuilder("RandomNormalLike").name("middle").input("p").output("q").message();
  KeptModel model(between_products(draw), 4);
  ASSERT_TRUE(model.interface.kept.at(model.task("middle")).is_random);
  SplitPlan plan(3);
  for (OperatorPlan& own : plan) own.splits = {{SplitTarget::copies, 0, 4, 1}};
  const auto parts = parts_of(*model.split, plan, model.interface);
  ASSERT_TRUE(parts) << parts.error().text();
  std::size_t nodes = 0;
  for (const PlanPart& part : parts->parts) nodes += part.kept.size();
  EXPECT_EQ(nodes, 1U);
}

TEST(KeptNodes, WithAnUnknownTypeDoNotPass) {
  GraphParts graph;
  graph.nodes = {mystery("one", "x", "q"), mystery("two", "q", "y")};
  graph.inputs = {float_info("x", {kRows, 6})};
  graph.outputs = {float_info("y", {kRows, 6})};
  KeptModel model(with_lab(graph), 2);
  SplitPlan plan(2);
  EXPECT_TRUE(parts_of(*model.split, plan, model.interface));
  plan[1].base = 1;
  const auto parts = parts_of(*model.split, plan, model.interface);
  ASSERT_FALSE(parts);
  EXPECT_EQ(
      parts.error().message,
      "the type of tensor 'q', which passes between two parts, is unknown; declare its type and its number of dimensions in value_info");
}

}  // namespace
}  // namespace xflow::parallel
