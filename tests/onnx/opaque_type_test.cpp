#include "src/onnx/lift/opaque_type.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lift/lift.h"
#include "tests/onnx/model_builder.h"
#include "tests/places.h"

namespace xflow::onnx_io {
namespace {

using testing::float_info;
using testing::GraphParts;

// The types of the outputs of a node over x[5, 2, 3] and weights, as the lifted model has them.
std::string types(const NodeBuilder& node, const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& inputs) {
  GraphParts parts;
  for (const auto& [name, dims] : inputs) parts.inputs.push_back(float_info(name, dims));
  parts.nodes = {node.message()};
  const Document document = testing::parsed(testing::model_of(parts));
  ir::Arena arena;
  const auto model = lift(document, arena);
  EXPECT_EQ(model->opaque.size(), 1U);
  std::string text;
  for (const std::string_view output : document.nodes()[0].outputs)
    text += (text.empty() ? "" : ", ") + (output.empty() ? "-" : to_string(arena.symbols(), arena.type(model->values.at(output))));
  return text;
}

TEST(OpaqueTypes, FollowFromTheOperands) {
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> lstm{{"x", {5, 2, 3}}, {"w", {1, 16, 3}}, {"r", {1, 16, 4}}};
  EXPECT_EQ(types(NodeBuilder("LSTM").input("x").input("w").input("r").output("y").output("").output("c"), lstm),
            "float32[5, 1, 2, 4], -, float32[1, 2, 4]");
  EXPECT_EQ(types(NodeBuilder("GRU").input("x").input("w").input("r").output("y").output("h").integer("layout", 1),
                  {{"x", {5, 2, 3}}, {"w", {2, 12, 3}}, {"r", {2, 12, 4}}}),
            "float32[5, 2, 2, 4], float32[5, 2, 4]");
  EXPECT_EQ(types(NodeBuilder("ArgMax").input("x").output("y").integer("axis", 1).integer("keepdims", 0), {{"x", {5, 2, 3}}}),
            "int64[5, 3]");
  EXPECT_EQ(types(NodeBuilder("ArgMin").input("x").output("y").integer("axis", -1), {{"x", {5, 2, 3}}}), "int64[5, 2, 1]");
  EXPECT_EQ(types(NodeBuilder("IsInf").input("x").output("y"), {{"x", {5, 2}}}), "bool[5, 2]");
  EXPECT_EQ(types(NodeBuilder("RandomNormalLike").input("x").output("y").integer("dtype", 11), {{"x", {5, 2}}}), "float64[5, 2]");
  EXPECT_EQ(types(NodeBuilder("GridSample").input("x").input("g").output("y"), {{"x", {1, 3, 8, 8}}, {"g", {1, 4, 5, 2}}}),
            "float32[1, 3, 4, 5]");
  for (const std::int64_t number : {27, 257, -1}) {
    EXPECT_EQ(types(NodeBuilder("RandomNormalLike").input("x").output("y").integer("dtype", number), {{"x", {5, 2}}}), "undefined[5, 2]");
    EXPECT_EQ(types(NodeBuilder("Cast").input("x").output("y").integer("to", number), {{"x", {5, 2}}}), "undefined[...]")
        << "257 is not float32, and " << number << " is no type";
  }
  EXPECT_EQ(types(NodeBuilder("Unknown", "custom").input("x").output("y"), {{"x", {5}}}), "undefined[...]");
}

TEST(OpaqueTypes, OfConstantStringsFollowFromTheAttribute) {
  const std::vector<std::string> words{"a", "b"};
  EXPECT_EQ(types(NodeBuilder("Constant").output("y").strings("value_strings", words), {}), "string[2]");
  EXPECT_EQ(types(NodeBuilder("Constant").output("y").string("value_string", "a"), {}), "string[]");
}

TEST(OpaqueTypes, OfDataHaveFreshSizes) {
  GraphParts parts;
  parts.inputs = {float_info("x", {5, 2})};
  parts.nodes = {testing::node("NonZero", "", {"x"}, {"a"}), testing::node("NonZero", "", {"x"}, {"b"})};
  const Document document = testing::parsed(testing::model_of(parts));
  ir::Arena arena;
  const auto model = lift(document, arena);
  const ir::TensorType a = arena.type(model->values.at("a"));
  const ir::TensorType b = arena.type(model->values.at("b"));
  EXPECT_EQ(a.data_type, ir::DataType::int64);
  ASSERT_EQ(a.rank(), 2U);
  EXPECT_EQ(a.shape[0], ir::Poly(2));
  EXPECT_FALSE(a.shape[1] == b.shape[1]);
}

TEST(OpaqueTypes, OfAnIfAreWhatBothBranchesDeclare) {
  GraphParts body;
  body.nodes = {testing::node("Neg", "", {"x"}, {"r"})};
  body.outputs = {float_info("r", {2, 3})};
  GraphParts otherwise;
  otherwise.nodes = {testing::node("Abs", "", {"z"}, {"s"})};
  otherwise.outputs = {float_info("s", {2, 4})};
  GraphParts parts;
  parts.inputs = {float_info("x", {2, 3}), float_info("z", {2, 4}), value_info_message("c", ir::DataType::boolean, {})};
  parts.nodes = {NodeBuilder("If")
                     .input("c")
                     .output("y")
                     .graph("then_branch", graph_message(body))
                     .graph("else_branch", graph_message(otherwise))
                     .message()};
  const Document document = testing::parsed(testing::model_of(parts));
  ir::Arena arena;
  const auto model = lift(document, arena);
  const ir::TensorType type = arena.type(model->values.at("y"));
  ASSERT_EQ(type.rank(), 2U);
  EXPECT_EQ(type.data_type, ir::DataType::float32);
  EXPECT_EQ(type.shape[0], ir::Poly(2));
  EXPECT_FALSE(type.shape[1].is_constant());
}

// Against the outputs that ONNX's backend cases declare.
TEST(OpaqueTypes, AgreeWithWhatBackendCasesDeclare) {
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(places::backend_data() + "/node")) {
    SCOPED_TRACE(entry.path().filename().string());
    const auto document = Document::open(entry.path().string() + "/model.onnx");
    ASSERT_TRUE(document) << document.error().text();
    ir::Arena arena;
    const auto model = lift(*document, arena);
    ASSERT_TRUE(model) << model.error().text();
    for (const OpaqueNode& opaque : model->opaque) {
      const Node& node = document->node(opaque.node);
      std::vector<ir::ValueId> operands;
      for (const std::string_view input : node.inputs) operands.push_back(input.empty() ? arena.absent() : model->values.at(input));
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
        const auto& outputs = document->main().outputs;
        const auto declared = std::find_if(outputs.begin(), outputs.end(), [&](const ValueInfo& v) { return v.name == node.outputs[k]; });
        if (declared == outputs.end() || !declared->type.ranked) continue;
        const auto type = opaque_output_type(*document, arena, node, k, operands);
        if (!type) continue;
        ++compared;
        const ir::TensorType expected = declared_tensor_type(arena.symbols(), declared->type, declared->name);
        ASSERT_EQ(ir::name(type->data_type), ir::name(expected.data_type));
        ASSERT_EQ(type->rank(), expected.rank());
        for (std::size_t axis = 0; axis < type->rank(); ++axis) {
          if (type->shape[axis].is_constant() && expected.shape[axis].is_constant()) {
            EXPECT_EQ(type->shape[axis], expected.shape[axis]);
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 100U);
}

}  // namespace
}  // namespace xflow::onnx_io
