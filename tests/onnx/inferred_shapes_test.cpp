#include "src/onnx/lift/inferred_shapes.h"

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

// r = Resize(x) by a cubic function, which is opaque, twice as large along the last two dimensions.
GraphParts cubic(const std::string& declared = {}) {
  GraphParts parts;
  parts.inputs = {dynamic_info("x", {"N", "4", "8", "8"})};
  parts.initializers = {testing::float_tensor("scales", {1, 1, 2, 2})};
  parts.nodes = {
      NodeBuilder("Resize").input("x").input("").input("scales").output("r").string("mode", "cubic").message(),
      testing::node("Relu", "relu", {"r"}, {"y"}),
  };
  parts.outputs = {dynamic_info("y", {"?", "?", "?", "?"})};
  if (!declared.empty()) parts.value_infos = {declared};
  return parts;
}

std::string text_of(const ir::Symbols& symbols, const InferredType& type) {
  std::string text;
  for (const auto& dim : type.dims) text += (text.empty() ? "" : ",") + (dim ? symbols.to_string(*dim) : "?");
  return fmt::format("{}[{}]", ir::name(type.data_type), text);
}

// The inferred types of the outputs of the first node, whose operands are inputs and initializers of the model; `n` is the size of N.
std::string inferred(const std::string& bytes, std::optional<std::int64_t> n = {}) {
  const Document document = testing::parsed(bytes);
  ir::Arena arena;
  const auto model = lift(document, arena);
  const Node& node = document.nodes()[0];
  std::vector<ir::ValueId> operands;
  for (const std::string_view input : node.inputs) operands.push_back(input.empty() ? arena.absent() : model->values.at(input));
  NodeInference inference(document, arena);
  std::string text;
  for (const auto& type : inference.infer(node, operands, [n](ir::SymbolId) { return n; }))
    text += (text.empty() ? "" : " ") + (type ? text_of(arena.symbols(), *type) : "-");
  return text;
}

std::string inferred(const GraphParts& parts, std::optional<std::int64_t> n = {}) { return inferred(testing::model_of(parts), n); }

TEST(InferredTypes, AreThoseOfOnnx) {
  EXPECT_EQ(inferred(cubic()), "float32[?,4,16,16]");
  EXPECT_EQ(inferred(cubic(), 3), "float32[3,4,16,16]");
  GraphParts parts;
  parts.inputs = {dynamic_info("x", {"N", "4"})};
  parts.nodes = {NodeBuilder("TopK").input("x").input("k").output("v").output("i").message()};
  const std::vector<std::int64_t> k{3};
  parts.initializers = {
      tensor_message("k", ir::DataType::int64, {{1}}, std::string_view(reinterpret_cast<const char*>(k.data()), sizeof(std::int64_t)))};
  parts.outputs = {dynamic_info("v", {"?", "?"})};
  EXPECT_EQ(inferred(parts), "float32[?,3] int64[?,3]");
}

TEST(InferredTypes, IgnoreDeclarations) { EXPECT_EQ(inferred(cubic(float_info("r", {1, 4, 9, 9}))), "float32[?,4,16,16]"); }

// ONNX's own functions read out of range where an attribute is not as the operator says.
TEST(InferredTypes, AreNotThoseOfMalformedNodes) {
  GraphParts parts;
  parts.inputs = {float_info("x", {2, 3, 5}), float_info("w", {3, 5})};
  parts.outputs = {dynamic_info("y", {"?", "?", "?"})};
  const auto normalized = [&](std::int64_t axis) {
    parts.nodes = {NodeBuilder("LayerNormalization").input("x").input("w").output("y").output("m").integer("axis", axis).message()};
    return inferred(parts);
  };
  EXPECT_EQ(normalized(-2), "float32[2,3,5] float32[2,1,1]");
  EXPECT_EQ(normalized(9223371899415822334), "- -");
  EXPECT_EQ(normalized(-4), "- -");
  EXPECT_EQ(normalized(3), "- -");
  parts.nodes = {NodeBuilder("LayerNormalization").input("x").output("y").message()};  // an operand is missing
  EXPECT_EQ(inferred(parts), "-");
  const std::vector<std::int64_t> zero{0, 0};
  parts.inputs = {float_info("x", {1, 1, 5, 5}), float_info("w", {1, 1, 3, 3})};
  parts.nodes = {NodeBuilder("Conv").input("x").input("w").output("y").integers("strides", zero).message()};
  EXPECT_EQ(inferred(parts), "-");
}

// Lists of ai.onnx.ml are read by their first dimension.
TEST(InferredTypes, AreThoseOfMachineLearning) {
  GraphParts parts;
  parts.inputs = {dynamic_info("x", {"N", "2"})};
  parts.outputs = {dynamic_info("y", {"?", "?"})};
  const std::string opsets = WireWriter().bytes(8, WireWriter().bytes(1, "ai.onnx.ml").varint(2, 5).view()).take();
  const auto float_list = [](std::string_view dims) { return WireWriter().raw(dims).varint(2, 1).bytes(9, std::string(4, '\0')).take(); };
  const auto integers = [](std::string_view name) { return WireWriter().bytes(1, name).varint(8, 0).varint(20, 7).take(); };
  const auto of = [&](std::string_view weights) {
    const std::string modes = WireWriter().varint(1, 1).varint(2, 2).bytes(9, std::string(1, '\0')).take();
    parts.nodes = {NodeBuilder("TreeEnsemble", "ai.onnx.ml")
                       .input("x")
                       .output("y")
                       .integer("n_targets", 3)
                       .tensor("nodes_splits", float_list(WireWriter().varint(1, 1).view()))
                       .tensor("leaf_weights", weights)
                       .tensor("nodes_modes", modes)
                       .attribute(integers("tree_roots"))
                       .attribute(integers("leaf_targetids"))
                       .attribute(integers("nodes_featureids"))
                       .attribute(integers("nodes_truenodeids"))
                       .attribute(integers("nodes_falsenodeids"))
                       .attribute(integers("nodes_trueleafs"))
                       .attribute(integers("nodes_falseleafs"))
                       .message()};
    return inferred(testing::model_message(testing::graph_message(parts), opsets));
  };
  EXPECT_EQ(of(float_list(WireWriter().varint(1, 1).view())), "float32[?,3]");
  EXPECT_EQ(of(float_list("")), "-") << "a number, whose first dimension would be read";
  parts.nodes = {NodeBuilder("OneHotEncoder", "ai.onnx.ml")
                     .input("x")
                     .output("y")
                     .integers("cats_int64s", std::vector<std::int64_t>{4, 5, 6})
                     .message()};
  EXPECT_EQ(inferred(testing::model_message(testing::graph_message(parts), opsets), 7), "float32[7,2,3]");
}

// ONNX would make a dimension for each element of the shape.
TEST(InferredTypes, TakeLittleMemoryForALongShape) {
  GraphParts parts;
  const std::vector<Dimension> dims{{Dimension::Kind::value, std::int64_t{1} << 40, {}}};
  parts.inputs = {value_info_message("shape", ir::DataType::int64, dims), float_info("x", {2, 3})};
  parts.outputs = {dynamic_info("y", {"?"})};
  parts.nodes = {NodeBuilder("Reshape").input("x").input("shape").output("y").message()};
  EXPECT_EQ(inferred(parts), "-");
  parts.nodes = {NodeBuilder("ConstantOfShape").input("shape").output("y").message()};
  EXPECT_EQ(inferred(parts), "-");
}

std::string lifted_type(const GraphParts& parts, bool infer, std::vector<std::string>& contradictions) {
  const Document document = testing::parsed(testing::model_of(parts));
  ir::Arena arena;
  LiftOptions options;
  options.infer = infer;
  const auto model = lift(document, arena, options);
  EXPECT_TRUE(model);
  contradictions = model->contradictions;
  return ir::to_string(arena.symbols(), arena.type(model->values.at("r")));
}

TEST(LiftedTypes, OfOpaqueNodesAreCompletedByInference) {
  std::vector<std::string> contradictions;
  EXPECT_EQ(lifted_type(cubic(), true, contradictions), "float32[Resize'1, 4, 16, 16]");
  EXPECT_EQ(lifted_type(cubic(), false, contradictions), "float32[Resize'1, Resize'2, Resize'3, Resize'4]");
  EXPECT_TRUE(contradictions.empty());
  // Names that exporters make up are the sizes that they have.
  EXPECT_EQ(lifted_type(cubic(dynamic_info("r", {"N", "unk__1", "unk__2", "unk__2"})), true, contradictions), "float32[N, 4, 16, 16]");
  EXPECT_TRUE(contradictions.empty());
}

TEST(LiftedTypes, ThatAreDeclaredWrongAreUnknownThere) {
  std::vector<std::string> contradictions;
  EXPECT_EQ(lifted_type(cubic(dynamic_info("r", {"N", "4", "9", "16"})), true, contradictions), "float32[N, 4, r'1, 16]");
  EXPECT_EQ(contradictions,
            std::vector<std::string>{"value 'r' is declared float32[N, 4, 9, 16], and is float32[?, 4, 16, 16] by shape inference"});
  EXPECT_EQ(lifted_type(cubic(float_info("r", {4, 16, 16})), true, contradictions), "float32[...]");
  EXPECT_EQ(contradictions.size(), 1U);
}

TEST(LiftedTypes, OfOtherElementsThanDeclaredAreUnknown) {
  std::vector<std::string> contradictions;
  const std::vector<Dimension> dims(4);
  EXPECT_EQ(lifted_type(cubic(value_info_message("r", ir::DataType::int64, dims)), true, contradictions), "undefined[...]");
  EXPECT_EQ(contradictions,
            std::vector<std::string>{"value 'r' is declared int64[r'1, r'2, r'3, r'4], and is float32[?, 4, 16, 16] by shape inference"});
}

TEST(LiftedTypes, TellNamesThatStandForDifferentSizes) {
  std::vector<std::string> contradictions;
  GraphParts parts = cubic(dynamic_info("r", {"N", "size", "size", "16"}));
  EXPECT_EQ(lifted_type(parts, true, contradictions), "float32[N, 4, 16, 16]");
  EXPECT_EQ(contradictions, std::vector<std::string>{"dimension 'size' is 4 of 'r' and 16 of 'r' by shape inference"});
}

}  // namespace
}  // namespace xflow::onnx_io
