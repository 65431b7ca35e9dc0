#include "src/onnx/lower/lower.h"

#include <gtest/gtest.h>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/rewritten.h"

namespace xflow::onnx_io {
namespace {

using testing::dynamic_info;
using testing::float_info;
using testing::float_tensor;
using testing::graph_message;
using testing::GraphParts;
using testing::if_node;
using testing::model_message;
using testing::model_of;
using testing::node;
using testing::Rewritten;

// x -> Relu a -> Neg b -> Sigmoid y, with the types of a and b declared.
GraphParts chain() {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.nodes = {node("Relu", "relu", {"x"}, {"a"}), node("Neg", "neg", {"a"}, {"b"}), node("Sigmoid", "sigmoid", {"b"}, {"y"})};
  parts.outputs = {float_info("y")};
  parts.value_infos = {float_info("a"), float_info("b")};
  return parts;
}

std::string bool_info(std::string_view name) { return value_info_message(name, ir::DataType::boolean, {}); }

TEST(Lowering, ReadersOfAValueThatIsGoneReadTheOneInItsPlace) {
  Rewritten model(model_of(chain()));
  model.replace("b", model.value("a"));
  EXPECT_EQ(model.nodes(),
            "Relu x -> a =\n"
            "Sigmoid a -> y\n");
  EXPECT_EQ(model.value_infos(), "a");
  EXPECT_EQ(model.lower().renamed_nodes, 1U);
  EXPECT_EQ(model.lower().kept_nodes, 1U);
  EXPECT_EQ(model.lower().dropped_nodes, 1U);
  EXPECT_EQ(model.lower().new_nodes, 0U);
}

TEST(Lowering, ANewValueInheritsTheNameSoThatReadersStayByteForByte) {
  Rewritten model(model_of(chain()));
  model.replace("b", model.op("abs", {model.value("a")}));
  EXPECT_EQ(model.nodes(),
            "Relu x -> a =\n"
            "Abs a -> b\n"
            "Sigmoid b -> y =\n");
  EXPECT_EQ(model.value_infos(), "a b");
}

TEST(Lowering, AnOutputKeepsItsName) {
  Rewritten model(model_of(chain()));
  model.replace("y", model.op("tanh", {model.value("a")}));
  EXPECT_EQ(model.nodes(),
            "Relu x -> a =\n"
            "Tanh a -> y\n");
  EXPECT_EQ(model.value_infos(), "a");
}

TEST(Lowering, TheNodeThatMakesAnOutputInTheEndTakesItsName) {
  Rewritten model(model_of(chain()));
  model.replace("y", model.value("b"));
  EXPECT_EQ(model.nodes(),
            "Relu x -> a =\n"
            "Neg a -> y\n");
  EXPECT_EQ(model.value_infos(), "a");
}

TEST(Lowering, AnOutputThatIsAnInputIsAnIdentity) {
  Rewritten model(model_of(chain()));
  model.replace("y", model.value("x"));
  EXPECT_EQ(model.nodes(), "Identity x -> y\n");
}

TEST(Lowering, AnOutputThatIsAConstantIsAnIdentity) {
  Rewritten model(model_of(chain()));
  model.replace("y", model.op("expand", {model.scalar(2)}, {{"shape", std::vector<ir::Poly>{2}}}));
  EXPECT_EQ(model.nodes(), "Identity xflow_constant_1 -> y\n");
  EXPECT_EQ(model.initializers(), "xflow_constant_1");
  EXPECT_EQ(model.lower().new_constant_bytes, 8U);
}

TEST(Lowering, OutputsThatBecomeOneValueBothExist) {
  GraphParts parts = chain();
  parts.nodes.push_back(node("Tanh", "tanh", {"b"}, {"z"}));
  parts.outputs.push_back(float_info("z"));
  Rewritten model(model_of(parts));
  model.replace("z", model.value("y"));
  EXPECT_EQ(model.nodes(),
            "Relu x -> a =\n"
            "Neg a -> b =\n"
            "Sigmoid b -> y =\n"
            "Identity y -> z\n");
}

TEST(Lowering, OutputsWhoseNodesBecomeEqualBothExist) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.nodes = {node("Relu", "", {"x"}, {"a"}), node("Abs", "", {"x"}, {"b"}), node("Tanh", "", {"a"}, {"y"}),
                 node("Tanh", "", {"b"}, {"z"})};
  for (const auto& outputs : {std::vector<std::string>{"y", "z"}, std::vector<std::string>{"z", "y"}}) {
    parts.outputs = {float_info(outputs[0]), float_info(outputs[1])};
    Rewritten model(model_of(parts));
    const ir::ValueId sin = model.op("sin", {model.value("x")});
    model.replace_all({{model.value("a"), sin}, {model.value("b"), sin}});
    EXPECT_EQ(model.nodes(),
              "Sin x -> a\n"
              "Tanh a -> y =\n"
              "Identity y -> z\n");
  }
}

TEST(Lowering, EqualNodesThatAreOutputsStay) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.nodes = {node("Relu", "", {"x"}, {"y"}), node("Relu", "", {"x"}, {"z"}), node("Neg", "", {"z"}, {"w"})};
  parts.outputs = {float_info("z"), float_info("y"), float_info("w")};
  Rewritten model(model_of(parts));
  EXPECT_EQ(model.nodes(),
            "Relu x -> y =\n"
            "Relu x -> z =\n"
            "Neg y -> w\n");
}

TEST(Lowering, OutputsMaySwapTheirValues) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.nodes = {node("Relu", "", {"x"}, {"y"}), node("Neg", "", {"x"}, {"z"})};
  parts.outputs = {float_info("y"), float_info("z")};
  Rewritten model(model_of(parts));
  model.replace_all({{model.value("y"), model.value("z")}, {model.value("z"), model.value("y")}});
  const Document written = testing::parsed(model.bytes());
  EXPECT_EQ(written.main().outputs.size(), 2U);
  EXPECT_EQ(model.nodes(),
            "Relu x -> xflow_value_1\n"
            "Neg x -> y\n"
            "Identity xflow_value_1 -> z\n");
}

TEST(Lowering, ANodeOfWhichOneOutputIsReplacedStays) {
  GraphParts parts;
  parts.inputs = {float_info("x", {4})};
  parts.nodes = {NodeBuilder("Split").name("split").input("x").output("a").output("b").integer("axis", 0).message(),
                 node("Relu", "", {"a"}, {"y"}), node("Neg", "", {"b"}, {"z"})};
  parts.outputs = {float_info("y"), float_info("z")};
  Rewritten model(model_of(parts));
  model.replace("a", model.op("tanh", {model.value("b")}));
  EXPECT_EQ(model.nodes(),
            "Split x -> a b =\n"
            "Tanh b -> xflow_tanh_1\n"
            "Relu xflow_tanh_1 -> y\n"
            "Neg b -> z =\n");
}

TEST(Lowering, ACompositionDownstreamStaysByteForByte) {
  GraphParts parts;
  parts.inputs = {float_info("x", {2, 4})};
  parts.initializers = {float_tensor("scale", {1, 2, 3, 4}), float_tensor("bias", {0, 0, 1, 1})};
  parts.nodes = {node("Neg", "", {"x"}, {"a"}), node("LayerNormalization", "norm", {"a", "scale", "bias"}, {"n"}),
                 node("Relu", "", {"n"}, {"y"})};
  parts.outputs = {float_info("y", {2, 4})};
  {
    Rewritten model(model_of(parts));
    model.replace("a", model.op("tanh", {model.value("x")}));
    EXPECT_EQ(model.nodes(),
              "Tanh x -> a\n"
              "LayerNormalization a scale bias -> n =\n"
              "Relu n -> y =\n");
  }
  {
    Rewritten model(model_of(parts));
    model.replace("a", model.value("x"));
    EXPECT_EQ(model.nodes(),
              "LayerNormalization x scale bias -> n\n"
              "Relu n -> y =\n");
  }
}

TEST(Lowering, TheRestOfACompositionIsExported) {
  GraphParts parts;
  parts.inputs = {float_info("x", {2, 4})};
  parts.initializers = {float_tensor("scale", {1, 2, 3, 4}), float_tensor("bias", {0, 0, 1, 1})};
  parts.nodes = {node("LayerNormalization", "norm", {"x", "scale", "bias"}, {"n"})};
  parts.outputs = {float_info("n", {2, 4})};
  Rewritten model(model_of(parts));
  const ir::ValueId product = model.arena().node(model.value("n")).operands[0];
  const ir::ValueId quotient = model.arena().node(product).operands[0];
  const ir::ValueId deviation = model.arena().node(quotient).operands[1];
  model.replace(deviation, model.op("neg", {deviation}));
  EXPECT_EQ(model.nodes(),
            "ReduceMean x -> xflow_reduce_mean_1\n"
            "Sub x xflow_reduce_mean_1 -> xflow_sub_2\n"
            "Mul xflow_sub_2 xflow_sub_2 -> xflow_mul_3\n"
            "ReduceMean xflow_mul_3 -> xflow_reduce_mean_4\n"
            "Add xflow_reduce_mean_4 xflow_constant_6 -> xflow_add_5\n"
            "Sqrt xflow_add_5 -> xflow_sqrt_7\n"
            "Neg xflow_sqrt_7 -> xflow_neg_8\n"
            "Div xflow_sub_2 xflow_neg_8 -> xflow_div_9\n"
            "Mul xflow_div_9 scale -> xflow_mul_10\n"
            "Add xflow_mul_10 bias -> n\n");
}

TEST(Lowering, AnOpaqueNodeReadsWhatTookThePlaceOfItsOperand) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.nodes = {node("Relu", "", {"x"}, {"a"}), node("Neg", "", {"a"}, {"b"}), node("Hardmax", "", {"b"}, {"c"}),
                 node("Abs", "", {"c"}, {"y"})};
  parts.outputs = {float_info("y")};
  Rewritten model(model_of(parts));
  ASSERT_EQ(model.model().opaque.size(), 1U);
  model.replace("b", model.value("a"));
  EXPECT_EQ(model.nodes(),
            "Relu x -> a =\n"
            "Hardmax a -> c\n"
            "Abs c -> y =\n");
}

// c, x -> Relu a, Neg b; an If whose body reads b; y is the If's output.
GraphParts with_captured() {
  GraphParts body;
  body.name = "body";
  body.nodes = {node("Abs", "inner", {"b"}, {"r"})};
  body.outputs = {float_info("r")};
  GraphParts otherwise;
  otherwise.name = "otherwise";
  otherwise.nodes = {node("Tanh", "inner2", {"x"}, {"s"})};
  otherwise.outputs = {float_info("s")};
  GraphParts parts;
  parts.inputs = {float_info("x"), bool_info("c")};
  parts.nodes = {node("Relu", "", {"x"}, {"a"}), node("Neg", "", {"a"}, {"b"}),
                 NodeBuilder("If")
                     .name("if")
                     .input("c")
                     .output("y")
                     .graph("then_branch", graph_message(body))
                     .graph("else_branch", graph_message(otherwise))
                     .message()};
  parts.outputs = {float_info("y")};
  return parts;
}

TEST(Lowering, ACapturedValueExistsUnderItsName) {
  {
    Rewritten model(model_of(with_captured()));
    model.replace("b", model.op("abs", {model.value("a")}));
    EXPECT_EQ(model.nodes(),
              "Relu x -> a =\n"
              "Abs a -> b\n"
              "If c -> y =\n");
  }
  {
    Rewritten model(model_of(with_captured()));
    model.replace("b", model.value("a"));
    EXPECT_EQ(model.nodes(),
              "Relu x -> b\n"
              "If c -> y =\n");
  }
}

TEST(Lowering, AnIdentityThatABodyCapturesStandsBeforeIt) {
  GraphParts parts = with_captured();
  parts.outputs.push_back(float_info("a"));
  Rewritten model(model_of(parts));
  model.replace("b", model.value("a"));
  EXPECT_EQ(model.nodes(),
            "Relu x -> a =\n"
            "Identity a -> b\n"
            "If c -> y =\n");
}

TEST(Lowering, AValueThatIsAnOutputAndCapturedIsMadeOnce) {
  GraphParts parts = with_captured();
  parts.outputs.push_back(float_info("b"));
  Rewritten model(model_of(parts));
  model.replace("b", model.op("abs", {model.value("a")}));
  EXPECT_EQ(model.nodes(),
            "Relu x -> a =\n"
            "Abs a -> b\n"
            "If c -> y =\n");
}

TEST(Lowering, ValuesOfAnnotationsAndTrainingGraphsStay) {
  GraphParts parts = chain();
  parts.initializers = {float_tensor("scale", {1})};
  const std::string annotation = WireWriter().bytes(1, "b").bytes(2, WireWriter().bytes(1, "SCALE_TENSOR").bytes(2, "scale").view()).take();
  parts.others = WireWriter().bytes(14, annotation).take();
  {
    Rewritten model(model_of(parts));
    model.replace("y", model.value("a"));
    EXPECT_EQ(model.nodes(),
              "Relu x -> y\n"
              "Neg y -> b\n");
    EXPECT_EQ(model.initializers(), "scale");
  }
  parts.others.clear();
  const std::string training = WireWriter().bytes(20, WireWriter().view()).take();
  Rewritten model(model_message(graph_message(parts), training));
  model.replace("y", model.op("tanh", {model.value("a")}));
  EXPECT_EQ(model.nodes(),
            "Relu x -> a =\n"
            "Neg a -> b =\n"
            "Tanh a -> y\n");
  EXPECT_EQ(model.initializers(), "scale");
}

TEST(Lowering, ExpressionsOfConstantsAreInitializers) {
  GraphParts parts = chain();
  parts.initializers = {float_tensor("w", {1, 2}), float_tensor("v", {3, 4}), float_tensor("unused", {5, 6})};
  parts.nodes[1] = node("Mul", "mul", {"a", "w"}, {"b"});
  Rewritten model(model_of(parts));
  const ir::ValueId folded = model.op("add", {model.value("w"), model.value("v")});
  model.replace("b", model.op("add", {model.value("a"), folded}));
  EXPECT_EQ(model.nodes(),
            "Relu x -> a =\n"
            "Add a xflow_constant_2 -> b\n"
            "Sigmoid b -> y =\n");
  EXPECT_EQ(model.initializers(), "xflow_constant_2");
  EXPECT_EQ(model.lower().new_constant_bytes, 8U);
}

// Another search may have made the same constants before, in another order.
TEST(Lowering, NewInitializersAreInTheOrderOfTheGraph) {
  GraphParts parts = chain();
  parts.initializers = {float_tensor("w", {1, 2}), float_tensor("v", {3, 4})};
  const auto written = [&](bool sum_first) {
    Rewritten model(model_of(parts));
    const auto make = [&](const char* op) { return model.op(op, {model.value("w"), model.value("v")}); };
    if (!sum_first) make("mul");
    const ir::ValueId sum = make("add");
    const ir::ValueId product = make("mul");
    EXPECT_EQ(sum.node < product.node, sum_first);
    model.replace("b", model.op("mul", {model.op("add", {model.value("a"), sum}), product}));
    return model.bytes();
  };
  EXPECT_EQ(written(true), written(false));
}

// IR version 3: weights are inputs and constants at once, and a new initializer would have to be an input.
TEST(Lowering, NewConstantsOfOldModelsAreNodes) {
  GraphParts parts = chain();
  parts.inputs.push_back(float_info("w"));
  parts.initializers = {float_tensor("w", {1, 2})};
  parts.nodes[1] = node("Mul", "mul", {"a", "w"}, {"b"});
  const std::string bytes = WireWriter().varint(1, 3).bytes(8, WireWriter().varint(2, 8).view()).bytes(7, graph_message(parts)).take();
  Rewritten model(bytes);
  EXPECT_EQ(model.model().input_names.size(), 1U);
  EXPECT_TRUE(model.arena().is_constant(model.value("w")));
  model.replace("b", model.op("mul", {model.value("a"), model.op("mul", {model.value("w"), model.value("w")})}));
  EXPECT_EQ(model.nodes(),
            "Constant -> xflow_constant_2\n"
            "Relu x -> a =\n"
            "Mul a xflow_constant_2 -> b\n"
            "Sigmoid b -> y =\n");
  EXPECT_EQ(model.initializers(), "w");
}

TEST(Lowering, ADefaultOfAnInputStaysAndIsNoConstant) {
  GraphParts parts = chain();
  parts.inputs.push_back(float_info("w"));
  parts.initializers = {float_tensor("w", {1, 2})};
  parts.nodes[1] = node("Mul", "mul", {"a", "w"}, {"b"});
  Rewritten model(model_of(parts));
  EXPECT_EQ(model.model().input_names.size(), 2U);
  EXPECT_FALSE(model.arena().is_constant(model.value("w")));
  model.replace("b", model.value("a"));
  EXPECT_EQ(model.initializers(), "w");
}

TEST(Lowering, SaysWhatCannotBeExported) {
  GraphParts parts = chain();
  const std::string bytes = WireWriter().varint(1, 8).bytes(8, WireWriter().varint(2, 6).view()).bytes(7, graph_message(parts)).take();
  Rewritten model(bytes);
  const ir::ValueId sum = model.op("add", {model.value("a"), model.value("a")});
  model.replace("b", sum);
  EXPECT_EQ(model.error(), "no ONNX operator of opset 6 for add");
  EXPECT_EQ(can_export(model.arena(), sum.node, 6).error().text(), "no ONNX operator of opset 6 for add");
  EXPECT_TRUE(can_export(model.arena(), sum.node, 7));
}

TEST(Lowering, AnUnchangedModelHasNoEdits) {
  Rewritten model(model_of(with_captured()));
  EXPECT_TRUE(model.lower().edits.empty());
  EXPECT_EQ(model.bytes(), model.original().bytes());
}

// y = Reshape(b, Shape(a)), a = Relu(x): the shape is read from a, which no rewritten node makes any more.
TEST(Lowering, AShapeThatWouldKeepADeadValueAliveIsComputedFromAnother) {
  GraphParts parts;
  parts.inputs = {dynamic_info("x", {"N", "C"}), dynamic_info("z", {"N", "C"})};
  parts.nodes = {node("Relu", "", {"x"}, {"a"}), node("Shape", "", {"a"}, {"s"}), node("Reshape", "", {"z", "s"}, {"b"}),
                 node("Add", "", {"a", "b"}, {"y"})};
  parts.outputs = {dynamic_info("y", {"N", "C"})};
  Rewritten model(model_of(parts));
  model.replace("y", model.op("maximum", {model.value("x"), model.value("b")}));
  EXPECT_EQ(model.nodes(),
            "Shape x -> xflow_Shape_1\n"
            "Gather xflow_Shape_1 xflow_constant_3 -> xflow_Gather_2\n"
            "Gather xflow_Shape_1 xflow_constant_5 -> xflow_Gather_4\n"
            "Concat xflow_Gather_2 xflow_Gather_4 -> s\n"
            "Reshape z s -> b =\n"
            "Max x b -> y\n");
}

// y = Relu(Reshape(x, [C, N])) becomes Reshape(Relu(x), [C, N]).
TEST(Lowering, ANewReshapeReadsTheShapeOfOneThatIsThere) {
  GraphParts parts;
  parts.inputs = {dynamic_info("x", {"N", "C"}), dynamic_info("z", {"C", "N"})};
  const std::string reshape = NodeBuilder("Reshape").input("x").input("s").output("a").integer("allowzero", 1).message();
  parts.nodes = {node("Shape", "", {"z"}, {"s"}), reshape, node("Relu", "", {"a"}, {"y"})};
  parts.outputs = {dynamic_info("y", {"C", "N"})};
  Rewritten model(model_of(parts));
  const ir::Shape shape = model.arena().type(model.value("a")).shape;
  model.replace("y", model.op("reshape", {model.op("relu", {model.value("x")})}, {{"shape", shape}}));
  EXPECT_EQ(model.nodes(),
            "Shape z -> s =\n"
            "Relu x -> xflow_relu_1\n"
            "Reshape xflow_relu_1 s -> y\n");
  // With the marks that they were made for.
  const Document written = testing::parsed(model.bytes());
  ASSERT_NE(written.nodes()[2].find("allowzero"), nullptr);
  EXPECT_EQ(*written.nodes()[2].find("allowzero")->integer(), 1);
}

TEST(Lowering, AShapeThatWouldDependOnItsReaderIsComputedFromTheInputs) {
  GraphParts parts;
  parts.inputs = {dynamic_info("x", {"N", "C"}), dynamic_info("z", {"N", "C"})};
  parts.nodes = {node("Relu", "", {"x"}, {"a"}), node("Shape", "", {"a"}, {"s"}), node("Reshape", "", {"z", "s"}, {"b"}),
                 node("Add", "", {"a", "b"}, {"y"})};
  parts.outputs = {dynamic_info("y", {"N", "C"})};
  Rewritten model(model_of(parts));
  // As if an equation said so; what counts is that a now depends on b.
  model.replace("a", model.op("maximum", {model.value("x"), model.value("b")}));
  EXPECT_EQ(model.nodes(),
            "Shape x -> xflow_Shape_1\n"
            "Gather xflow_Shape_1 xflow_constant_3 -> xflow_Gather_2\n"
            "Gather xflow_Shape_1 xflow_constant_5 -> xflow_Gather_4\n"
            "Concat xflow_Gather_2 xflow_Gather_4 -> s\n"
            "Reshape z s -> b =\n"
            "Max x b -> a\n"
            "Add a b -> y =\n");
}

}  // namespace
}  // namespace xflow::onnx_io
