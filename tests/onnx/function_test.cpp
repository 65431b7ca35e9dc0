// ONNX operators that are several operators of the IR by their row in ops/fused_functions.def: lifted, found
// again, exported in parts and as one node.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lower/function_match.h"
#include "src/ops/fused_functions.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/rewritten.h"
#include "tests/places.h"

namespace xflow::onnx_io {
namespace {

using ir::ValueId;
using testing::GraphParts;

constexpr int kOpset = 25;

// A model of one node y = TYPE(x, b) of rows of 37 elements, with the attributes of the row: ONNX's own
// values or others.
std::string model_of(const ops::OnnxFunction& function, bool other_attributes, int opset = kOpset) {
  GraphParts parts;
  parts.inputs = {testing::float_info("x", {5, 37})};
  NodeBuilder node(function.type, function.domain);
  node.input("x");
  if (ops::operand_count(function.graph) > 1) {
    parts.inputs.push_back(testing::float_info("b", {37}));
    node.input("b");
  }
  node.output("y");
  if (function.condition && function.condition->value != function.condition->otherwise)
    node.string(function.condition->name, function.condition->value);
  for (const ops::OnnxFunction::Real& real : function.reals)
    if (other_attributes) node.real(real.name, real.otherwise + 0.75F);
  parts.nodes = {node.message()};
  parts.outputs = {testing::float_info("y", {5, 37})};
  return WireWriter()
      .varint(1, 10)
      .bytes(8, WireWriter().varint(2, static_cast<std::uint64_t>(opset)).view())
      .bytes(8, WireWriter().bytes(1, "com.microsoft").varint(2, 1).view())
      .bytes(7, testing::graph_message(parts))
      .take();
}

std::string label(const ops::OnnxFunction& function) {
  return std::string(function.type) + (function.condition ? "_" + std::string(function.condition->value) : "") + "_" +
         std::to_string(ops::operand_count(function.graph));
}

TEST(OnnxFunctions, ComputeWhatOnnxsReferenceDoes) {
  const testing::TemporaryFolder folder;
  std::string list;
  for (const ops::OnnxFunction& function : ops::onnx_functions()) {
    for (const bool other_attributes : {false, true}) {
      if (other_attributes && function.reals.empty()) continue;
      const std::string name = label(function) + (other_attributes ? "_other" : "");
      SCOPED_TRACE(name);
      const std::string bytes = model_of(function, other_attributes);
      const Document document = testing::parsed(bytes);
      ir::Arena arena;
      const auto model = lift(document, arena);
      ASSERT_TRUE(model) << model.error().text();
      ASSERT_TRUE(model->opaque.empty()) << model->opaque[0].reason;
      const Fold fold = [](ValueId) -> Result<ir::Constant> { return fail(ErrorCode::internal, "nothing to fold"); };
      LowerOptions options;
      options.reexport = true;
      const auto lowered = lower(document, *model, arena, model->graph, {}, fold, options);
      ASSERT_TRUE(lowered) << lowered.error().text();
      EXPECT_EQ(lowered->kept_nodes, 0U);
      const auto exported = write_bytes(document, lowered->edits);
      ASSERT_TRUE(exported) << exported.error().text();
      list += folder.write(name + "_a.onnx", bytes) + '\t' + folder.write(name + "_b.onnx", *exported) + '\n';
    }
  }
  const std::string log = folder.file("log");
  const std::string command = places::testenv_python() + " " + places::repository() + "/tests/onnx/compare_functions.py " +
                              folder.write("pairs", list) + " > " + log + " 2>&1";
  const int status = std::system(command.c_str());
  EXPECT_EQ(testing::read_all(log), "");
  EXPECT_EQ(status, 0);
}

TEST(OnnxFunctions, AreFoundInTheGraphsThatTheyAreLiftedTo) {
  for (const ops::OnnxFunction& function : ops::onnx_functions()) {
    SCOPED_TRACE(label(function));
    const Document document = testing::parsed(model_of(function, false));
    ir::Arena arena;
    const auto model = lift(document, arena);
    ASSERT_TRUE(model) << model.error().text();
    const MayAbsorb always = [](ValueId, std::size_t) { return true; };
    const auto match = match_function(arena, model->graph.outputs[0], function, always);
    ASSERT_EQ(match.has_value(), function.reals.empty());
    if (!match) continue;
    EXPECT_EQ(match->operands[0], model->values.at("x"));
    if (match->operands.size() > 1) {
      EXPECT_EQ(match->operands[1], model->values.at("b"));
    }
    for (const ops::OnnxFunction& other : ops::onnx_functions()) {
      const bool is_alike = other.type.ends_with("Gelu") && function.type.ends_with("Gelu");  // in other forms
      if (&other == &function || is_alike) continue;
      EXPECT_FALSE(match_function(arena, model->graph.outputs[0], other, always)) << label(other);
    }
  }
}

const ops::OnnxFunction& find(std::string_view type) {
  for (const ops::OnnxFunction& function : ops::onnx_functions())
    if (function.type == type) return function;
  ADD_FAILURE() << type;
  return ops::onnx_functions()[0];
}

// x -> Relu n -> Neg y, of which n becomes a function of x.
std::string chain(ir::DataType type, int opset) {
  const std::vector<Dimension> dims(2, {Dimension::Kind::value, 4, {}});
  GraphParts parts;
  parts.inputs = {value_info_message("x", type, dims)};
  parts.nodes = {testing::node("Relu", "", {"x"}, {"n"}), testing::node("Neg", "", {"n"}, {"y"})};
  parts.outputs = {value_info_message("y", type, dims)};
  const std::string graph = testing::graph_message(parts);
  return WireWriter().varint(1, 8).bytes(8, WireWriter().varint(2, static_cast<std::uint64_t>(opset)).view()).bytes(7, graph).take();
}

ValueId hard_sigmoid(testing::Rewritten& model, double alpha) {
  return model.op("hard_sigmoid", {model.value("x")}, {{"alpha", ir::Real::from_double(alpha)}, {"beta", ir::Real::from_double(0.5)}});
}

std::string hard_swish(double alpha, bool gate_first, ir::DataType type = ir::DataType::float32, int opset = 14) {
  testing::Rewritten model(chain(type, opset));
  const ValueId gate = hard_sigmoid(model, alpha);
  const ValueId x = model.value("x");
  model.replace("n", model.op("mul", gate_first ? std::vector{gate, x} : std::vector{x, gate}));
  return model.nodes();
}

TEST(OnnxFunctions, AreExportedAsOneNodeFromTheirOpsetOn) {
  const std::string one = "HardSwish x -> n\nNeg n -> y =\n";
  const double sixth = static_cast<double>(1.0F / 6.0F);
  EXPECT_EQ(hard_swish(sixth, false), one);
  EXPECT_EQ(hard_swish(1.0 / 6.0, true), one) << "rounded to float, as the attribute is written";
  const std::string parts = "HardSigmoid x -> xflow_hard_sigmoid_1\nMul x xflow_hard_sigmoid_1 -> n\nNeg n -> y =\n";
  EXPECT_EQ(hard_swish(0.1666, false), parts);
  EXPECT_EQ(hard_swish(sixth, false, ir::DataType::float32, 13), parts) << "there is none before opset 14";
  EXPECT_EQ(hard_swish(sixth, false, ir::DataType::bfloat16, 22), one);
}

TEST(OnnxFunctions, AreExportedInPartsWhereAPartIsReadElsewhere) {
  testing::Rewritten model(chain(ir::DataType::float32, 14));
  const ValueId gate = hard_sigmoid(model, static_cast<double>(1.0F / 6.0F));
  const ValueId product = model.op("mul", {model.value("x"), gate});
  model.replace("n", model.op("add", {product, gate}));
  EXPECT_EQ(model.nodes().find("HardSwish"), std::string::npos) << model.nodes();
}

TEST(OnnxFunctions, AreNotFoundWhereAConstantMakesThemLarger) {
  testing::Rewritten model(chain(ir::DataType::float32, 14));
  const ValueId x = model.value("x");
  const ValueId one = model.arena().constant(*ir::make_constant(ir::DataType::float32, {1, 1, 1}, std::vector<double>{1}));
  const ValueId scalar = model.scalar(1);
  const auto softsign = [&](ValueId number) { return model.op("div", {x, model.op("add", {model.op("abs", {x}), number})}); };
  const MayAbsorb always = [](ValueId, std::size_t) { return true; };
  EXPECT_TRUE(match_function(model.arena(), softsign(scalar), find("Softsign"), always));
  EXPECT_FALSE(match_function(model.arena(), softsign(one), find("Softsign"), always));
  EXPECT_FALSE(match_function(model.arena(), softsign(model.scalar(2)), find("Softsign"), always));
}

TEST(OnnxFunctions, SayWhatTheyDoNotCover) {
  const auto reason = [](NodeBuilder node, const GraphParts& inputs) {
    GraphParts parts = inputs;
    parts.nodes = {node.output("y").message()};
    parts.outputs = {testing::float_info("y", {3})};
    const std::string graph = testing::graph_message(parts);
    const std::string bytes = WireWriter()
                                  .varint(1, 10)
                                  .bytes(8, WireWriter().varint(2, kOpset).view())
                                  .bytes(8, WireWriter().bytes(1, "com.microsoft").varint(2, 1).view())
                                  .bytes(7, graph)
                                  .take();
    const Document document = testing::parsed(bytes);
    ir::Arena arena;
    const auto model = lift(document, arena);
    return !model || model->opaque.empty() ? "" : model->opaque[0].reason;
  };
  GraphParts x;
  x.inputs = {testing::float_info("x", {3}), testing::float_info("b", {3}), testing::float_info("c", {3})};
  EXPECT_EQ(reason(NodeBuilder("Gelu").input("x").string("approximate", "sigmoid"), x), "Gelu: approximate = sigmoid");
  EXPECT_EQ(reason(NodeBuilder("Celu").input("x").real("alpha", 0), x), "Celu: alpha is not positive");
  EXPECT_EQ(reason(NodeBuilder("FastGelu", "com.microsoft").input("x").input("b").input("c"), x), "FastGelu: expected 2 inputs");
  EXPECT_EQ(reason(NodeBuilder("BiasGelu", "com.microsoft").input("x"), x), "BiasGelu: expected 2 inputs");
}

}  // namespace
}  // namespace xflow::onnx_io
