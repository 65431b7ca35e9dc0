#include "src/onnx/inferred_shapes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/onnx/document_builder.h"
#include "src/onnx/lift.h"
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

std::string text_of(const InferredType& type) {
  std::string text;
  for (const auto& dim : type.dims) text += (text.empty() ? "" : ",") + (dim ? std::to_string(*dim) : "?");
  return fmt::format("{}[{}]", ir::name(type.data_type), text);
}

TEST(InferredTypes, AreThoseOfOnnx) {
  const Document document = testing::parsed(testing::model_of(cubic()));
  const auto open = infer_types(document, {});
  EXPECT_EQ(text_of(open.at("r")), "float32[?,4,16,16]");
  EXPECT_EQ(text_of(open.at("y")), "float32[?,4,16,16]");
  const std::vector<InputDims> inputs{{"x", {3, 4, 8, 8}}};
  EXPECT_EQ(text_of(infer_types(document, inputs).at("r")), "float32[3,4,16,16]");
}

TEST(InferredTypes, IgnoreDeclarationsOfOperatorsThatOnnxKnows) {
  const Document document = testing::parsed(testing::model_of(cubic(float_info("r", {1, 4, 9, 9}))));
  EXPECT_EQ(text_of(infer_types(document, {}).at("r")), "float32[?,4,16,16]");
}

TEST(InferredTypes, KeepDeclarationsOfOtherOperators) {
  GraphParts parts;
  parts.inputs = {float_info("x", {2, 3})};
  parts.nodes = {NodeBuilder("Unknown", "custom").input("x").output("r").message(), testing::node("Relu", "relu", {"r"}, {"y"})};
  parts.outputs = {float_info("y", {5, 7})};
  parts.value_infos = {float_info("r", {5, 7})};
  const Document document = testing::parsed(testing::model_of(parts));
  EXPECT_EQ(text_of(infer_types(document, {}).at("y")), "float32[5,7]");
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
  EXPECT_TRUE(contradictions.empty());
  // Names that exporters make up are the sizes that they have.
  EXPECT_EQ(lifted_type(cubic(dynamic_info("r", {"N", "unk__1", "unk__2", "unk__2"})), true, contradictions), "float32[N, 4, 16, 16]");
  EXPECT_TRUE(contradictions.empty());
}

TEST(LiftedTypes, ThatAreDeclaredWrongAreUnknownThere) {
  std::vector<std::string> contradictions;
  EXPECT_EQ(lifted_type(cubic(dynamic_info("r", {"N", "4", "9", "16"})), true, contradictions), "float32[N, 4, r'1, 16]");
  EXPECT_EQ(contradictions,
            std::vector<std::string>{"value 'r' is declared float32[N, 4, 9, 16], and is float32[?, 4, 16, 16] by ONNX's shape inference"});
  EXPECT_EQ(lifted_type(cubic(float_info("r", {4, 16, 16})), true, contradictions), "float32[...]");
  EXPECT_EQ(contradictions.size(), 1U);
}

TEST(LiftedTypes, TellNamesThatStandForDifferentSizes) {
  std::vector<std::string> contradictions;
  GraphParts parts = cubic(dynamic_info("r", {"N", "size", "size", "16"}));
  EXPECT_EQ(lifted_type(parts, true, contradictions), "float32[N, 4, 16, 16]");
  EXPECT_EQ(contradictions, std::vector<std::string>{"dimension 'size' is 4 of 'r' and 16 of 'r' by ONNX's shape inference"});
}

}  // namespace
}  // namespace xflow::onnx_io
