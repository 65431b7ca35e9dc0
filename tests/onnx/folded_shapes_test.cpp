// Shapes that are computed although they are known before a model runs.
#include "src/onnx/lift/folded_shapes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lower/lower.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/onnx_runtime.h"
#include "tests/onnx/rewritten.h"

namespace xflow::onnx_io {
namespace {

using testing::dynamic_info;
using testing::GraphParts;
using testing::node;

std::string integers(std::string_view name, const std::vector<std::int64_t>& values) {
  std::string raw(values.size() * 8, '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return tensor_message(name, ir::DataType::int64, std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())}, raw);
}

std::string concat(std::vector<std::string> inputs, const std::string& output) {
  NodeBuilder builder("Concat");
  for (const std::string& input : inputs) builder.input(input);
  return builder.output(output).integer("axis", 0).message();
}

// x of these dimensions, the first three of its sizes as n, c and h, and some constants; y is whatever is made.
GraphParts with_sizes(const std::vector<std::string>& dims) {
  GraphParts parts;
  parts.inputs = {dynamic_info("x", dims)};
  parts.initializers = {integers("zero", {0}), integers("one", {1}), integers("two", {2}), integers("three", {3})};
  parts.nodes = {node("Shape", "", {"x"}, {"s"}), node("Gather", "", {"s", "zero"}, {"n"}), node("Gather", "", {"s", "one"}, {"c"}),
                 node("Gather", "", {"s", "two"}, {"h"})};
  parts.outputs = {WireWriter().bytes(1, "y").bytes(2, WireWriter().bytes(1, WireWriter().varint(1, 1).view()).view()).take()};
  return parts;
}

// What becomes of a model when its shapes are folds.
struct Folded {
  std::string original;
  std::string bytes;
  std::string nodes;  // see testing::node_lines
  std::size_t superfluous = 0;

  std::vector<std::int64_t> integers_of(std::string_view name) const {
    const Document document = testing::parsed(bytes);
    const Definition* definition = document.find(GraphId{0}, name);
    if (definition == nullptr || !definition->initializer) return {};
    return onnx_io::integers(document.main().initializers[*definition->initializer].tensor).value_or(std::vector<std::int64_t>());
  }
};

Folded folded(const GraphParts& parts, bool lifted_whole = true, bool exact = false) {
  Folded result;
  result.original = WireWriter().varint(1, 8).bytes(8, WireWriter().varint(2, 17).view()).bytes(7, testing::graph_message(parts)).take();
  const Document document = testing::parsed(result.original);
  ir::Arena arena;
  const auto model = lift(document, arena);
  EXPECT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->opaque.empty(), lifted_whole);
  const FoldedShapes folds = fold_shapes(document, *model, arena, exact);
  result.superfluous = folds.superfluous.size();
  const Fold fold = [&](ir::ValueId value) { return eval::fold(arena, value); };
  LowerOptions options;
  options.folds = &folds;
  const auto lowered = lower(document, *model, arena, model->graph, {}, fold, options);
  EXPECT_TRUE(lowered) << lowered.error().text();
  EXPECT_GE(lowered->dropped_nodes, result.superfluous);  // some sizes of with_sizes() nobody reads
  result.bytes = *write_bytes(document, lowered->edits);
  result.nodes = testing::node_lines(testing::parsed(result.bytes));
  return result;
}

TEST(FoldedShapes, AreConstantsUnderTheirNames) {
  GraphParts parts = with_sizes({"N", "6", "4"});
  parts.nodes.push_back(node("Div", "", {"c", "two"}, {"half"}));
  parts.nodes.push_back(concat({"half", "two", "h", "n"}, "t"));
  parts.nodes.push_back(node("Reshape", "", {"x", "t"}, {"y"}));
  const Folded folds = folded(parts);
  EXPECT_EQ(folds.nodes, "Reshape x t -> y\n");
  EXPECT_EQ(folds.superfluous, 6U);
  EXPECT_EQ(folds.integers_of("t"), (std::vector<std::int64_t>{3, 2, 4, -1}));
}

TEST(FoldedShapes, SeveralOpenSizesAreThoseOfTheOperand) {
  GraphParts parts = with_sizes({"N", "6", "H"});
  parts.nodes.push_back(concat({"n", "two", "three", "h"}, "t"));
  parts.nodes.push_back(node("Reshape", "", {"x", "t"}, {"y"}));
  const Folded folds = folded(parts);
  EXPECT_EQ(folds.nodes, "Reshape x t -> y\n");
  EXPECT_EQ(folds.integers_of("t"), (std::vector<std::int64_t>{0, 2, 3, -1}));
}

// The document may have a mark already.
TEST(FoldedShapes, MarksStandBesideThoseOfTheDocument) {
  GraphParts parts = with_sizes({"N", "6", "H"});
  parts.initializers.push_back(integers("rest", {-1}));
  parts.nodes.push_back(concat({"n", "rest", "two"}, "t"));
  parts.nodes.push_back(node("Reshape", "", {"x", "t"}, {"y"}));
  EXPECT_EQ(folded(parts).integers_of("t"), (std::vector<std::int64_t>{0, -1, 2}));
  // Only one size can be what is left.
  parts.nodes[4] = concat({"rest", "n", "two"}, "t");
  EXPECT_EQ(folded(parts).integers_of("t"), std::vector<std::int64_t>());
}

// As exporters write it.
TEST(FoldedShapes, ZerosAreMarksWhereAllowzeroIsOff) {
  GraphParts parts = with_sizes({"N", "6", "H"});
  parts.nodes.push_back(concat({"n", "two", "three", "h"}, "t"));
  parts.nodes.push_back(NodeBuilder("Reshape").input("x").input("t").output("y").integer("allowzero", 0).message());
  EXPECT_EQ(folded(parts).integers_of("t"), (std::vector<std::int64_t>{0, 2, 3, -1}));
}

// With allowzero a 0 is a size.
TEST(FoldedShapes, WhatMarksCannotSayIsComputed) {
  GraphParts parts = with_sizes({"N", "6", "H"});
  parts.nodes.push_back(concat({"n", "two", "three", "h"}, "t"));
  parts.nodes.push_back(NodeBuilder("Reshape").input("x").input("t").output("y").integer("allowzero", 1).message());
  const Folded folds = folded(parts);
  EXPECT_EQ(folds.superfluous, 0U);
  EXPECT_NE(folds.nodes.find("Concat n two three h -> t"), std::string::npos) << folds.nodes;
}

// A mark is no size: where something else reads the shape, it stays.
TEST(FoldedShapes, MarksAreForReshapesAlone) {
  GraphParts parts = with_sizes({"N", "6", "4"});
  parts.nodes.push_back(concat({"n", "two", "three", "h"}, "t"));
  parts.nodes.push_back(node("Reshape", "", {"x", "t"}, {"a"}));
  parts.nodes.push_back(node("Expand", "", {"a", "t"}, {"y"}));
  const Folded folds = folded(parts);
  EXPECT_EQ(folds.integers_of("t"), std::vector<std::int64_t>());
  EXPECT_NE(folds.nodes.find("Concat n two three h -> t"), std::string::npos) << folds.nodes;
}

// A declared size of what an opaque node makes may be out of date: the model does not read it.
TEST(FoldedShapes, WhatDependsOnDeclaredSizesStays) {
  GraphParts parts = with_sizes({"2", "6", "4"});
  parts.nodes.push_back(NodeBuilder("Unknown", "test").input("x").output("u").message());
  parts.value_infos = {testing::float_info("u", {2, 6, 4})};
  parts.nodes.push_back(node("Relu", "", {"u"}, {"r"}));
  parts.nodes.push_back(node("Shape", "", {"r"}, {"v"}));
  parts.nodes.push_back(node("Gather", "", {"v", "zero"}, {"w"}));
  parts.nodes.push_back(concat({"w", "two", "three", "h"}, "t"));
  parts.nodes.push_back(node("Reshape", "", {"r", "t"}, {"y"}));
  const Folded folds = folded(parts, false);
  EXPECT_EQ(folds.integers_of("h"), std::vector<std::int64_t>{4});  // of the input
  EXPECT_NE(folds.nodes.find("Gather v zero -> w\nConcat w two three h -> t"), std::string::npos) << folds.nodes;
}

std::string cast_to_float(std::string_view input, std::string_view output) {
  return NodeBuilder("Cast").input(input).output(output).integer("to", 1).message();
}

// y = x / sqrt(6), where 6 is a size of x.
GraphParts scaled_by_a_size() {
  GraphParts parts = with_sizes({"N", "6", "H"});
  parts.nodes.push_back(cast_to_float("c", "f"));
  parts.nodes.push_back(node("Sqrt", "", {"f"}, {"r"}));
  parts.nodes.push_back(node("Div", "", {"x", "r"}, {"y"}));
  return parts;
}

TEST(FoldedShapes, NumbersOfThemAreConstantsToo) {
  const Folded folds = folded(scaled_by_a_size());
  EXPECT_EQ(folds.nodes, "Div x r -> y\n");
  EXPECT_EQ(folds.superfluous, 4U);
  const Document document = testing::parsed(folds.bytes);
  const Definition* root = document.find(GraphId{0}, "r");
  ASSERT_TRUE(root != nullptr && root->initializer);
  const auto constant = document.constant(document.main().initializers[*root->initializer].tensor);
  ASSERT_TRUE(constant) << constant.error().text();
  EXPECT_TRUE(constant->dims == std::vector<std::int64_t>{1});
  const auto bytes = constant->source->bytes();
  float value = 0;
  std::memcpy(&value, bytes->data(), sizeof value);
  EXPECT_EQ(value, std::sqrt(6.0F));
}

// A runtime may compute a root otherwise; integers are what they are.
TEST(FoldedShapes, WithExactNumbersThoseOfFloatingPointAreComputed) {
  const Folded folds = folded(scaled_by_a_size(), true, true);
  EXPECT_EQ(folds.nodes, "Cast c -> f\nSqrt f -> r\nDiv x r -> y\n");
  EXPECT_EQ(folds.integers_of("c"), std::vector<std::int64_t>{6});
}

// The runtime makes large ones from small ones.
TEST(FoldedShapes, LargeTensorsAreComputed) {
  GraphParts parts = with_sizes({"2", "6", "600"});
  parts.nodes.push_back(node("ConstantOfShape", "", {"s"}, {"z"}));
  parts.nodes.push_back(node("Add", "", {"x", "z"}, {"y"}));
  const Folded folds = folded(parts);
  EXPECT_EQ(folds.nodes, "ConstantOfShape s -> z\nAdd x z -> y\n");
  EXPECT_EQ(folds.integers_of("s"), (std::vector<std::int64_t>{2, 6, 600}));
}

// Constants that the document has stay nodes: a runtime computes them once.
TEST(FoldedShapes, ConstantsOfTheDocumentStay) {
  GraphParts parts = with_sizes({"N", "6", "H"});
  parts.nodes.push_back(cast_to_float("three", "f"));
  parts.nodes.push_back(node("Mul", "", {"x", "f"}, {"y"}));
  EXPECT_EQ(folded(parts).nodes, "Cast three -> f\nMul x f -> y\n");
}

TEST(FoldedShapes, CopiesOfConstantsAreRead) {
  GraphParts parts = with_sizes({"N", "6", "3"});
  parts.nodes.push_back(node("Identity", "", {"three"}, {"copy"}));
  parts.nodes.push_back(node("Identity", "", {"copy"}, {"again"}));
  parts.nodes.push_back(node("Identity", "", {"two"}, {"out"}));
  parts.nodes.push_back(concat({"n", "two", "again", "h"}, "t"));
  parts.nodes.push_back(node("Reshape", "", {"x", "t"}, {"y"}));
  parts.nodes.push_back(node("Pow", "", {"y", "again"}, {"z"}));
  parts.outputs.push_back(parts.outputs[0]);
  parts.outputs[0] = WireWriter().bytes(1, "z").bytes(2, WireWriter().bytes(1, WireWriter().varint(1, 1).view()).view()).take();
  parts.outputs[1] = WireWriter().bytes(1, "out").bytes(2, WireWriter().bytes(1, WireWriter().varint(1, 7).view()).view()).take();
  const Folded folds = folded(parts);
  EXPECT_EQ(folds.nodes, "Identity two -> out\nReshape x t -> y\nPow y three -> z\n");
}

TEST(FoldedShapes, OutputsAreMadeByNodes) {
  GraphParts parts = with_sizes({"2", "6", "4"});
  parts.nodes.push_back(node("Add", "", {"s", "s"}, {"y"}));
  const Folded folds = folded(parts);
  EXPECT_EQ(folds.nodes, "Add s s -> y\n");
  EXPECT_EQ(folds.integers_of("s"), (std::vector<std::int64_t>{2, 6, 4}));
}

TEST(FoldedShapes, ComputeTheSame) {
  const testing::TemporaryFolder folder;
  std::vector<testing::ModelPair> pairs;
  const auto add = [&](const GraphParts& parts) {
    const Folded folds = folded(parts);
    const std::string name = "model" + std::to_string(pairs.size());
    EXPECT_GT(folds.superfluous, 0U) << name;
    pairs.push_back({folder.write(name + "_a.onnx", folds.original), folder.write(name + "_b.onnx", folds.bytes), ""});
  };
  for (const char* height : {"4", "H"}) {
    {  // channels shuffled
      GraphParts parts = with_sizes({"N", "6", height});
      parts.nodes.push_back(node("Div", "", {"c", "two"}, {"half"}));
      parts.nodes.push_back(concat({"n", "two", "half", "h"}, "t"));
      parts.nodes.push_back(node("Reshape", "", {"x", "t"}, {"a"}));
      parts.nodes.push_back(
          NodeBuilder("Transpose").input("a").output("b").integers("perm", std::vector<std::int64_t>{0, 2, 1, 3}).message());
      parts.nodes.push_back(concat({"n", "c", "h"}, "u"));
      parts.nodes.push_back(node("Reshape", "", {"b", "u"}, {"y"}));
      add(parts);
    }
    {  // heads of attention
      GraphParts parts = with_sizes({"N", "6", height});
      parts.initializers.push_back(integers("rest", {-1}));
      parts.nodes.push_back(concat({"n", "rest", "two"}, "t"));
      parts.nodes.push_back(node("Reshape", "", {"x", "t"}, {"y"}));
      add(parts);
    }
    {  // half of the channels, by a bound that is computed
      GraphParts parts = with_sizes({"N", "6", height});
      parts.nodes.push_back(node("Div", "", {"c", "two"}, {"half"}));
      parts.nodes.push_back(node("Slice", "", {"x", "zero", "half", "one"}, {"y"}));
      add(parts);
    }
    add(scaled_by_a_size());
    {  // one shape for two operands
      GraphParts parts = with_sizes({"N", "6", height});
      parts.nodes.push_back(concat({"n", "three", "two", "h"}, "t"));
      parts.nodes.push_back(node("Relu", "", {"x"}, {"r"}));
      parts.nodes.push_back(node("Reshape", "", {"x", "t"}, {"a"}));
      parts.nodes.push_back(node("Reshape", "", {"r", "t"}, {"b"}));
      parts.nodes.push_back(node("Add", "", {"a", "b"}, {"y"}));
      add(parts);
    }
  }
  EXPECT_EQ(testing::disagreements(pairs), "");
}

}  // namespace
}  // namespace xflow::onnx_io
