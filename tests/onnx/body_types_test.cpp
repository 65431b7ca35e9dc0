#include "src/onnx/lift/body_types.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lift/lift.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

using testing::dynamic_info;
using testing::float_info;
using testing::GraphParts;
using testing::node;

struct TestFunction {
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> nodes;
  std::string others = {};  // encoded fields
  std::int64_t opset = 17;
  std::string domain = "custom";

  std::string message() const {
    WireWriter writer;
    writer.bytes(1, name).bytes(10, domain).raw(others);
    for (const std::string& input : inputs) writer.bytes(4, input);
    for (const std::string& output : outputs) writer.bytes(5, output);
    for (const std::string& message : nodes) writer.bytes(7, message);
    writer.bytes(9, WireWriter().bytes(1, "").varint(2, opset).view()).bytes(9, WireWriter().bytes(1, "custom").varint(2, 1).view());
    return writer.take();
  }
};

// An attribute of a node in a function that is the function's attribute `of`; `type` is AttributeProto.AttributeType.
std::string reference(std::string_view name, std::string_view of, std::int64_t type) {
  return WireWriter().bytes(1, name).bytes(21, of).varint(20, type).take();
}

std::string default_integer(std::string_view name, std::int64_t value) {
  return WireWriter().bytes(11, WireWriter().bytes(1, name).varint(3, value).varint(20, 2).view()).take();
}

NodeBuilder call(std::string_view function, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  NodeBuilder builder(function, "custom");
  for (const std::string& input : inputs) builder.input(input);
  for (const std::string& output : outputs) builder.output(output);
  return builder;
}

// r, the result of the first node, and y = Relu(r).
std::string model_with(const std::string& first, const std::vector<TestFunction>& functions,
                       const std::vector<std::string>& value_infos = {}) {
  GraphParts parts;
  parts.inputs = {dynamic_info("x", {"N", "4"}), dynamic_info("z", {"N", "3"}), dynamic_info("image", {"N", "2", "8", "8"}),
                  value_info_message("flag", ir::DataType::boolean, {}), value_info_message("count", ir::DataType::int64, {})};
  parts.initializers = {testing::float_tensor("scales", {1, 1, 2, 2}), testing::float_tensor("number", {3})};
  parts.nodes = {first, node("Relu", "relu", {"r"}, {"y"})};
  parts.outputs = {dynamic_info("y", {"?"})};
  parts.value_infos = value_infos;
  WireWriter others;
  others.bytes(8, WireWriter().bytes(1, "custom").varint(2, 1).view());
  for (const TestFunction& function : functions) others.bytes(25, function.message());
  return testing::model_message(testing::graph_message(parts), others.view());
}

// The inferred types of the outputs of the first node; `n` is the size of N.
std::string body_types(const std::string& first, const std::vector<TestFunction>& functions = {}, std::optional<std::int64_t> n = {}) {
  const Document document = testing::parsed(model_with(first, functions));
  ir::Arena arena;
  const auto model = lift(document, arena);
  const Node& asked = document.nodes()[0];
  std::vector<ir::ValueId> operands;
  for (const std::string_view input : asked.inputs) operands.push_back(input.empty() ? arena.absent() : model->values.at(input));
  for (const std::string_view captured : asked.captures) operands.push_back(model->values.at(captured));
  NodeInference inference(document, arena);
  ir::Symbols::Valuation sizes;
  if (n) sizes = [&](ir::SymbolId symbol) { return arena.symbols().info(symbol).name == "N" ? n : std::nullopt; };
  std::string text;
  for (const auto& type : inference.infer(asked, operands, sizes)) {
    std::string dims;
    if (type)
      for (const auto& size : type->dims) dims += (dims.empty() ? "" : ",") + (size ? arena.symbols().to_string(*size) : "?");
    text += (text.empty() ? "" : " ") + (type ? fmt::format("{}[{}]", ir::name(type->data_type), dims) : "-");
  }
  return text;
}

TestFunction join_function() {
  return {"Join",
          {"a", "b"},
          {"c"},
          {NodeBuilder("Concat").input("a").input("b").output("c").attribute(reference("axis", "along", 2)).message()},
          default_integer("along", 1)};
}

// Twice as large by a cubic Resize, which is opaque.
TestFunction enlarge_function() {
  return {"Enlarge",
          {"a", "region", "by"},
          {"b"},
          {NodeBuilder("Resize").input("a").input("region").input("by").output("b").string("mode", "cubic").message()}};
}

TEST(BodyTypes, OfACallFollowItsAttributes) {
  EXPECT_EQ(body_types(call("Join", {"x", "x"}, {"r"}).integer("along", 0).message(), {join_function()}), "float32[2*N,4]");
  EXPECT_EQ(body_types(call("Join", {"x", "x"}, {"r"}).integer("along", 1).message(), {join_function()}), "float32[N,8]");
  EXPECT_EQ(body_types(call("Join", {"x", "z"}, {"r"}).message(), {join_function()}), "float32[N,7]") << "the default";
  EXPECT_EQ(body_types(call("Join", {"x", "z"}, {"r"}).message(), {join_function()}, 5), "float32[5,7]");
}

TEST(BodyTypes, OfACallFollowAnAttributeThatIsLeftOut) {
  // Without an axis a Flatten is one along axis 1.
  const TestFunction flat{"Flat",
                          {"a"},
                          {"b"},
                          {NodeBuilder("Flatten").input("a").output("b").attribute(reference("axis", "at", 2)).message()},
                          WireWriter().bytes(6, "at").take()};
  EXPECT_EQ(body_types(call("Flat", {"image"}, {"r"}).message(), {flat}), "float32[N,128]");
  EXPECT_EQ(body_types(call("Flat", {"image"}, {"r"}).integer("at", 3).message(), {flat}), "float32[16*N,8]");
}

TEST(BodyTypes, OfOpaqueNodesInACallAreThoseOfOnnx) {
  EXPECT_EQ(body_types(call("Enlarge", {"image", "", "scales"}, {"r"}).message(), {enlarge_function()}), "float32[?,2,16,16]");
  EXPECT_EQ(body_types(call("Enlarge", {"image", "", "scales"}, {"r"}).message(), {enlarge_function()}, 3), "float32[3,2,16,16]");
  // An attribute of the call reaches ONNX: without the axis of Hardmax every axis is sound.
  const TestFunction hard{
      "Hard", {"a"}, {"b"}, {NodeBuilder("Hardmax").input("a").output("b").attribute(reference("axis", "at", 2)).message()}};
  EXPECT_EQ(body_types(call("Hard", {"z"}, {"r"}).integer("at", 1).message(), {hard}), "float32[N,3]");
  const TestFunction top{
      "Top",
      {"a", "k"},
      {"b", "c"},
      {NodeBuilder("Constant").output("k1").integers("value_ints", std::vector<std::int64_t>{2}).message(),
       NodeBuilder("TopK").input("a").input("k1").output("b").output("c").attribute(reference("axis", "at", 2)).message()}};
  EXPECT_EQ(body_types(call("Top", {"z", "z"}, {"r", "q"}).integer("at", 1).message(), {top}), "float32[N,2] int64[N,2]");
  EXPECT_EQ(body_types(call("Top", {"z", "z"}, {"r", "q"}).integer("at", 9).message(), {top}), "- -") << "an axis out of range";
}

TEST(BodyTypes, OfACallWithoutAnOptionalOperand) {
  const TestFunction clamp{"Clamp", {"a", "low", "high"}, {"b"}, {node("Clip", "", {"a", "low", "high"}, {"b"})}};
  EXPECT_EQ(body_types(call("Clamp", {"x"}, {"r"}).message(), {clamp}), "float32[N,4]");
  EXPECT_EQ(body_types(call("Clamp", {"x", "", ""}, {"r"}).message(), {clamp}), "float32[N,4]");
  EXPECT_EQ(body_types(call("Clamp", {"x", "", "", "x"}, {"r"}).message(), {clamp}), "-") << "more operands than the function has";
  EXPECT_EQ(body_types(call("Clamp", {"x"}, {"r", "q"}).message(), {clamp}), "- -") << "more results than the function has";
  EXPECT_EQ(body_types(call("Clamp", {}, {"r"}).message(), {clamp}), "-") << "an operand that is not optional";
}

TEST(BodyTypes, OfNestedCalls) {
  const TestFunction outer{"Outer",
                           {"a", "b"},
                           {"e"},
                           {call("Join", {"a", "b"}, {"c"}).attribute(reference("along", "dim", 2)).message(),
                            call("Join", {"c", "c"}, {"d"}).integer("along", 1).message(), node("Relu", "", {"d"}, {"e"})}};
  EXPECT_EQ(body_types(call("Outer", {"x", "x"}, {"r"}).integer("dim", 0).message(), {join_function(), outer}), "float32[2*N,8]");
  EXPECT_EQ(body_types(call("Outer", {"x", "z"}, {"r"}).message(), {join_function(), outer}), "float32[N,14]") << "the default of Join";
  // A shape that a function computes is known where it is used.
  const TestFunction shape{"ShapeOf", {"a"}, {"s"}, {node("Shape", "", {"a"}, {"s"})}};
  const TestFunction fill{"Fill", {"a"}, {"b"}, {call("ShapeOf", {"a"}, {"s"}).message(), node("ConstantOfShape", "", {"s"}, {"b"})}};
  EXPECT_EQ(body_types(call("Fill", {"x"}, {"r"}).message(), {fill, shape}), "float32[N,4]");
}

TEST(BodyTypes, OfAFunctionThatCallsItselfAreNotKnown) {
  const TestFunction loop{"Again", {"a"}, {"b"}, {call("Again", {"a"}, {"b"}).message()}};
  EXPECT_EQ(body_types(call("Again", {"x"}, {"r"}).message(), {loop}), "-");
  const TestFunction one{"One", {"a"}, {"b", "c"}, {call("Two", {"a"}, {"b"}).message(), node("Relu", "", {"a"}, {"c"})}};
  const TestFunction two{"Two", {"a"}, {"b"}, {call("One", {"a"}, {"b"}).message()}};
  EXPECT_EQ(body_types(call("One", {"x"}, {"r", "q"}).message(), {one, two}), "- float32[N,4]");
}

// Function k calls function k + 1 twice, the last one is a Relu.
std::vector<TestFunction> doublings(int count) {
  std::vector<TestFunction> functions;
  for (int k = 0; k < count; ++k) {
    const std::string next = fmt::format("F{}", k + 1);
    functions.push_back({fmt::format("F{}", k), {"a"}, {"c"}, {call(next, {"a"}, {"b"}).message(), call(next, {"b"}, {"c"}).message()}});
  }
  functions.push_back({fmt::format("F{}", count), {"a"}, {"c"}, {node("Relu", "", {"a"}, {"c"})}});
  return functions;
}

TEST(BodyTypes, HaveBounds) {
  const std::string first = call("F0", {"x"}, {"r"}).message();
  EXPECT_EQ(body_types(first, doublings(8)), "float32[N,4]");  // 766 nodes
  EXPECT_EQ(body_types(first, doublings(9)), "-");
  EXPECT_EQ(body_types(first, doublings(40)), "-");
  TestFunction chain{"F0", {"v0"}, {"v900"}, {}};
  for (int k = 0; k < 900; ++k) chain.nodes.push_back(node("Relu", "", {fmt::format("v{}", k)}, {fmt::format("v{}", k + 1)}));
  EXPECT_EQ(body_types(first, {chain}), "float32[N,4]");
  for (int k = 900; k < 1001; ++k) chain.nodes.push_back(node("Relu", "", {fmt::format("v{}", k)}, {fmt::format("v{}", k + 1)}));
  EXPECT_EQ(body_types(first, {chain}), "-") << "1,001 nodes";
}

TEST(BodyTypes, HaveABoundForAllCallsTogether) {
  GraphParts parts;
  parts.inputs = {float_info("v0", {4})};
  TestFunction chain{"F0", {"v0"}, {"v900"}, {}};
  for (int k = 0; k < 900; ++k) chain.nodes.push_back(node("Relu", "", {fmt::format("v{}", k)}, {fmt::format("v{}", k + 1)}));
  for (int k = 0; k < 120; ++k) parts.nodes.push_back(call("F0", {"v0"}, {fmt::format("r{}", k)}).message());
  parts.outputs = {float_info("r0", {4}), dynamic_info("r119", {"?"})};
  const std::string others = WireWriter().bytes(8, WireWriter().bytes(1, "custom").varint(2, 1).view()).bytes(25, chain.message()).take();
  const Document document = testing::parsed(testing::model_message(testing::graph_message(parts), others));
  ir::Arena arena;
  const auto model = lift(document, arena, {.infer = true});
  ASSERT_TRUE(model);
  EXPECT_EQ(ir::to_string(arena.symbols(), arena.type(model->values.at("r110"))), "float32[4]");
  EXPECT_FALSE(arena.type(model->values.at("r112")).ranked);
}

TEST(BodyTypes, OfABodyWithoutATypeAreNotKnown) {
  const TestFunction sum{"Sum2", {"a", "b"}, {"c", "d"}, {node("Add", "", {"a", "b"}, {"c"}), node("Relu", "", {"b"}, {"d"})}};
  EXPECT_EQ(body_types(call("Sum2", {"x", "z"}, {"r", "q"}).message(), {sum}), "- float32[N,3]");
  const TestFunction unknown{"Sum2", {"a", "b"}, {"c"}, {NodeBuilder("Foo", "nowhere").input("a").output("c").message()}};
  EXPECT_EQ(body_types(call("Sum2", {"x", "z"}, {"r"}).message(), {unknown}), "-");
}

TEST(BodyTypes, AreThoseOfTheOverload) {
  const TestFunction one{"Over", {"a"}, {"b"}, {node("Relu", "", {"a"}, {"b"})}, WireWriter().bytes(13, "one").take()};
  const TestFunction two{"Over", {"a"}, {"b"}, {node("Shape", "", {"a"}, {"b"})}, WireWriter().bytes(13, "two").take()};
  const auto overloaded = [&](std::string_view overload) {
    return call("Over", {"x"}, {"r"}).message() + WireWriter().bytes(8, overload).take();
  };
  EXPECT_EQ(body_types(overloaded("one"), {one, two}), "float32[N,4]");
  EXPECT_EQ(body_types(overloaded("two"), {one, two}), "int64[2]");
  EXPECT_EQ(body_types(overloaded("three"), {one, two}), "-");
}

TEST(BodyTypes, FollowTheOpsetOfTheFunction) {
  // Up to opset 12 the axes of a ReduceSum are an attribute, of which opset 17 knows nothing.
  TestFunction sum{
      "Total", {"a"}, {"b"}, {NodeBuilder("ReduceSum").input("a").output("b").integers("axes", std::vector<std::int64_t>{1}).message()}};
  sum.opset = 12;
  EXPECT_EQ(body_types(call("Total", {"x"}, {"r"}).message(), {sum}), "float32[N,1]");
}

// Runtimes differ in which of the two is meant.
TEST(BodyTypes, OfAFunctionWithTheNameOfAnOperatorAreNotKnown) {
  TestFunction relu{"Relu", {"a"}, {"b"}, {node("Shape", "", {"a"}, {"b"})}};
  EXPECT_EQ(body_types(call("Relu", {"x"}, {"r"}).message(), {relu}), "int64[2]");
  relu.domain = "";
  EXPECT_EQ(body_types(node("Relu", "", {"x"}, {"r"}), {relu}), "-");
}

std::string conditional(const GraphParts& then_branch, const GraphParts& else_branch) {
  NodeBuilder builder("If");
  builder.input("flag").output("r");
  return builder.graph("then_branch", testing::graph_message(then_branch))
      .graph("else_branch", testing::graph_message(else_branch))
      .message();
}

GraphParts branch(const std::vector<std::string>& nodes, const std::string& output, const std::string& name) {
  GraphParts parts;
  parts.name = name;
  parts.nodes = nodes;
  parts.outputs = {WireWriter().bytes(1, output).take()};
  return parts;
}

TEST(BodyTypes, OfAnIfAreThoseOfBothBranches) {
  const GraphParts joined = branch({NodeBuilder("Concat").input("x").input("z").output("t").integer("axis", 1).message()}, "t", "then");
  const GraphParts same = branch({NodeBuilder("Concat").input("z").input("x").output("e").integer("axis", 1).message()}, "e", "else");
  EXPECT_EQ(body_types(conditional(joined, same)), "float32[N,7]");
  EXPECT_EQ(body_types(conditional(joined, branch({node("Relu", "", {"x"}, {"e"})}, "e", "else"))), "float32[N,?]");
  EXPECT_EQ(body_types(conditional(joined, branch({node("Relu", "", {"image"}, {"e"})}, "e", "else"))), "-") << "another rank";
  EXPECT_EQ(body_types(conditional(joined, branch({node("Shape", "", {"x"}, {"e"})}, "e", "else"))), "-") << "other elements";
  // A size that only a branch knows is no size of the other.
  const auto nonzero = [](const char* name) { return branch({node("NonZero", "", {"x"}, {"t"})}, "t", name); };
  EXPECT_EQ(body_types(conditional(nonzero("then"), nonzero("else"))), "int64[2,?]");
}

TEST(BodyTypes, OfAnIfInACallFollowItsOperandsAndAttributes) {
  const std::string then_branch = testing::graph_message(
      branch({NodeBuilder("Concat").input("a").input("a").output("t").attribute(reference("axis", "along", 2)).message()}, "t", "then"));
  const std::string else_branch = testing::graph_message(
      branch({NodeBuilder("Concat").input("b").input("b").output("e").attribute(reference("axis", "along", 2)).message()}, "e", "else"));
  const TestFunction either{
      "Either",
      {"c", "a", "b"},
      {"d"},
      {NodeBuilder("If").input("c").output("d").graph("then_branch", then_branch).graph("else_branch", else_branch).message()}};
  EXPECT_EQ(body_types(call("Either", {"flag", "x", "x"}, {"r"}).integer("along", 0).message(), {either}), "float32[2*N,4]");
  EXPECT_EQ(body_types(call("Either", {"flag", "x", "z"}, {"r"}).integer("along", 1).message(), {either}), "float32[N,?]");
}

// Inputs i, go and s, outputs go, t and `others`.
std::string loop_over(std::vector<std::string> nodes, const std::string& initial, const std::string& next,
                      std::vector<std::string> others) {
  GraphParts body;
  body.name = "body";
  body.nodes = std::move(nodes);
  body.inputs = {WireWriter().bytes(1, "i").take(), WireWriter().bytes(1, "go").take(), WireWriter().bytes(1, "s").take()};
  body.outputs = {WireWriter().bytes(1, "go").take(), WireWriter().bytes(1, next).take()};
  NodeBuilder builder("Loop");
  builder.input("count").input("flag").input(initial).output("r");
  for (const std::string& other : others) {
    body.outputs.push_back(WireWriter().bytes(1, other).take());
    builder.output("of_" + other);
  }
  return builder.graph("body", testing::graph_message(body)).message();
}

TEST(BodyTypes, OfALoopAreThoseOfEveryTurn) {
  EXPECT_EQ(body_types(loop_over({node("Relu", "", {"s"}, {"t"}), node("Shape", "", {"s"}, {"u"})}, "x", "t", {"u", "t"})),
            "float32[N,4] int64[?,2] float32[?,N,4]");
  // What grows is of a size of its own in each turn.
  const std::string grown = NodeBuilder("Concat").input("s").input("z").output("t").integer("axis", 1).message();
  EXPECT_EQ(body_types(loop_over({grown}, "x", "t", {"t"})), "float32[N,?] float32[?,N,?]");
  EXPECT_EQ(body_types(loop_over({grown}, "x", "t", {"s", "i"})), "float32[N,?] float32[?,N,?] int64[?]");
  // The elements of the state are not those of the first turn.
  EXPECT_EQ(body_types(loop_over({node("Add", "", {"s", "i"}, {"t"}), node("Range", "", {"i", "s", "i"}, {"u"})}, "count", "t", {"u"})),
            "int64[] int64[?,?]");
  EXPECT_EQ(body_types(loop_over({node("Shape", "", {"s"}, {"t"})}, "x", "t", {})), "-") << "other elements in the second turn";
}

TEST(BodyTypes, OfAScanFollowItsAxes) {
  GraphParts body;
  body.name = "body";
  body.inputs = {WireWriter().bytes(1, "s").take(), WireWriter().bytes(1, "e").take()};
  body.nodes = {node("Identity", "", {"e"}, {"row"}), node("MatMul", "", {"s", "e"}, {"p"}), node("Relu", "", {"s"}, {"t"})};
  body.outputs = {WireWriter().bytes(1, "t").take(), WireWriter().bytes(1, "row").take(), WireWriter().bytes(1, "p").take()};
  const auto scan = [&](std::int64_t in, std::vector<std::int64_t> out) {
    return body_types(NodeBuilder("Scan")
                          .input("x")
                          .input("image")
                          .output("r")
                          .output("rows")
                          .output("products")
                          .integer("num_scan_inputs", 1)
                          .integers("scan_input_axes", std::vector<std::int64_t>{in})
                          .integers("scan_output_axes", out)
                          .graph("body", testing::graph_message(body))
                          .message());
  };
  EXPECT_EQ(scan(1, {0, 0}), "float32[N,4] float32[2,N,8,8] -");
  EXPECT_EQ(scan(-3, {-1, 0}), "float32[N,4] float32[N,8,8,2] -");
  EXPECT_EQ(scan(4, {0, 0}), "- - -") << "an axis out of range";
  EXPECT_EQ(scan(1, {5, 0}), "- - -") << "an axis out of range";
}

std::string lifted_result(const std::string& bytes, std::vector<std::string>& contradictions, std::string_view name = "y") {
  const Document document = testing::parsed(bytes);
  ir::Arena arena;
  const auto model = lift(document, arena, {.infer = true});
  EXPECT_TRUE(model);
  contradictions = model->contradictions;
  return ir::to_string(arena.symbols(), arena.type(model->values.at(name)));
}

TEST(LiftedTypes, OfCallsAreThoseOfTheFunction) {
  std::vector<std::string> contradictions;
  const std::string first = call("Join", {"x", "z"}, {"r"}).message();
  EXPECT_EQ(lifted_result(model_with(first, {join_function()}), contradictions), "float32[N, 7]");
  EXPECT_EQ(lifted_result(model_with(first, {join_function()}, {dynamic_info("r", {"unk__1", "unk__2"})}), contradictions),
            "float32[N, 7]");
  EXPECT_TRUE(contradictions.empty());
  EXPECT_EQ(lifted_result(model_with(first, {join_function()}, {dynamic_info("r", {"N", "8"})}), contradictions), "float32[N, r'1]");
  EXPECT_EQ(contradictions, std::vector<std::string>{"value 'r' is declared float32[N, 8], and is float32[N, 7] by shape inference"});
  // A size that is declared as a number may be what another is at the run.
  EXPECT_EQ(lifted_result(model_with(first, {join_function()}, {dynamic_info("r", {"5", "7"})}), contradictions), "float32[5, 7]");
  EXPECT_TRUE(contradictions.empty());
}

TEST(LiftedTypes, OfCallsReachAConcat) {
  GraphParts parts;
  parts.inputs = {dynamic_info("x", {"N", "4"}), dynamic_info("z", {"N", "3"})};
  parts.nodes = {call("Join", {"x", "z"}, {"r"}).message(),
                 NodeBuilder("Concat").input("r").input("x").output("y").integer("axis", 1).message()};
  parts.outputs = {dynamic_info("y", {"?", "?"})};
  const std::string others =
      WireWriter().bytes(8, WireWriter().bytes(1, "custom").varint(2, 1).view()).bytes(25, join_function().message()).take();
  std::vector<std::string> contradictions;
  EXPECT_EQ(lifted_result(testing::model_message(testing::graph_message(parts), others), contradictions), "float32[N, 11]");
}

}  // namespace
}  // namespace xflow::onnx_io
