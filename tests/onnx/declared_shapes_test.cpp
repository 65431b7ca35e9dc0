// Shapes that the written model declares.
#include "src/onnx/lift/declared_shapes.h"

#include <gtest/gtest.h>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lower/lower.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/onnx_runtime.h"

namespace xflow::onnx_io {
namespace {

using testing::dynamic_info;
using testing::GraphParts;
using testing::node;

struct Declared {
  std::string original;
  std::string bytes;
  std::size_t count = 0;
  std::string shapes;  // "a[N,6,2*H] b[?]", in the order of the file
};

std::string text_of(const Document& document) {
  std::string text;
  for (const ValueInfo& info : document.main().value_infos) {
    text += (text.empty() ? "" : " ") + std::string(info.name) + "[";
    for (std::size_t k = 0; k < info.type.dims.size(); ++k) {
      const Dimension& dim = info.type.dims[k];
      text += k == 0 ? "" : ",";
      if (dim.kind == Dimension::Kind::missing) text += "?";
      if (dim.kind == Dimension::Kind::value) text += std::to_string(dim.value);
      if (dim.kind == Dimension::Kind::parameter) text += dim.parameter;
    }
    text += "]";
  }
  return text;
}

Declared declare(const GraphParts& parts, bool declare = true) {
  Declared result;
  result.original = WireWriter().varint(1, 8).bytes(8, WireWriter().varint(2, 17).view()).bytes(7, testing::graph_message(parts)).take();
  const Document document = testing::parsed(result.original);
  ir::Arena arena;
  const auto model = lift(document, arena);
  EXPECT_TRUE(model) << model.error().text();
  LowerOptions options;
  options.declare = declare;
  const Fold fold = [&](ir::ValueId value) { return eval::fold(arena, value); };
  const auto lowered = lower(document, *model, arena, model->graph, {}, fold, options);
  EXPECT_TRUE(lowered) << lowered.error().text();
  result.count = lowered->declared;
  result.bytes = *write_bytes(document, lowered->edits);
  result.shapes = text_of(testing::parsed(result.bytes));
  return result;
}

std::string concat(std::string_view a, std::string_view b, std::string_view y) {
  return NodeBuilder("Concat").input(a).input(b).output(y).integer("axis", 2).message();
}

GraphParts two_steps(const std::vector<std::string>& dims) {
  GraphParts parts;
  parts.inputs = {dynamic_info("x", dims)};
  parts.nodes = {node("Relu", "", {"x"}, {"a"}), concat("a", "x", "b"), node("Neg", "", {"b"}, {"y"})};
  parts.outputs = {WireWriter().bytes(1, "y").bytes(2, WireWriter().bytes(1, WireWriter().varint(1, 1).view()).view()).take()};
  return parts;
}

TEST(DeclaredShapes, AreNumbersAndPolynomialsInTheNamesOfTheInputs) {
  const Declared declared = declare(two_steps({"N", "6", "H"}));
  EXPECT_EQ(declared.shapes, "a[N,6,H] b[N,6,2*H]");
  EXPECT_EQ(declared.count, 2U);
  EXPECT_EQ(declare(two_steps({"2", "6", "4"})).shapes, "a[2,6,4] b[2,6,8]");
}

// Names for sizes that may differ would say that they are equal.
TEST(DeclaredShapes, SizesWithoutNamesAreLeftOut) {
  EXPECT_EQ(declare(two_steps({"?", "6", "H"})).shapes, "a[?,6,H] b[?,6,2*H]");
  // "2*H" as a name is not 2 times H.
  EXPECT_EQ(declare(two_steps({"2*H", "6", "H"})).shapes, "a[?,6,H] b[?,6,2*H]");
}

TEST(DeclaredShapes, ThoseOfTheDocumentStay) {
  GraphParts parts = two_steps({"N", "6", "H"});
  parts.value_infos = {dynamic_info("a", {"batch", "6", "other"})};
  const Declared declared = declare(parts);
  EXPECT_EQ(declared.shapes, "a[batch,6,other] b[N,6,2*H]");
  EXPECT_EQ(declared.count, 1U);
}

TEST(DeclaredShapes, WhatDependsOnOpaqueNodesIsNotKnown) {
  GraphParts parts = two_steps({"N", "6", "H"});
  parts.nodes[0] = NodeBuilder("Unknown", "test").input("x").output("u").message();
  parts.nodes.insert(parts.nodes.begin() + 1, node("Relu", "", {"u"}, {"a"}));
  parts.value_infos = {dynamic_info("u", {"N", "6", "H"})};
  EXPECT_EQ(declare(parts).shapes, "u[N,6,H]");
}

TEST(DeclaredShapes, WithoutTheOptionTheBytesStay) {
  const Declared declared = declare(two_steps({"N", "6", "H"}), false);
  EXPECT_EQ(declared.bytes, declared.original);
  EXPECT_EQ(declared.count, 0U);
}

TEST(DeclaredShapes, ComputeTheSame) {
  const testing::TemporaryFolder folder;
  std::vector<testing::ModelPair> pairs;
  for (const char* height : {"4", "H", "?"}) {
    GraphParts parts = two_steps({"N", "6", height});
    parts.nodes.back() = NodeBuilder("MaxPool").input("b").output("p").integers("kernel_shape", std::vector<std::int64_t>{3}).message();
    parts.nodes.push_back(node("Neg", "", {"p"}, {"y"}));
    const Declared declared = declare(parts);
    EXPECT_EQ(declared.count, 3U);
    const std::string name = "model" + std::to_string(pairs.size());
    pairs.push_back({folder.write(name + "_a.onnx", declared.original), folder.write(name + "_b.onnx", declared.bytes), ""});
  }
  EXPECT_EQ(testing::disagreements(pairs), "");
}

}  // namespace
}  // namespace xflow::onnx_io
