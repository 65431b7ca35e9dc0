// Nodes that say what several operations compute, written after a rewrite.
#include "src/onnx/lower/fused_export.h"

#include <gtest/gtest.h>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/rewritten.h"

namespace xflow::onnx_io {
namespace {

using ir::ValueId;
using testing::float_info;
using testing::float_tensor;
using testing::graph_message;
using testing::GraphParts;
using testing::model_of;
using testing::node;
using testing::Rewritten;

// x[2, 3, 4] -> normalisation n -> Neg y.
GraphParts normalised(const std::string& type, std::size_t size) {
  GraphParts parts;
  parts.inputs = {float_info("x", {2, 3, 4})};
  parts.nodes = {NodeBuilder(type).input("x").input("s").input("t").output("n").real("epsilon", 0.25F).message(),
                 node("Neg", "", {"n"}, {"y"})};
  parts.initializers = {float_tensor("s", std::vector<float>(size, 2)), float_tensor("t", std::vector<float>(size, 1))};
  parts.outputs = {float_info("y", {2, 3, 4})};
  return parts;
}

// (x - mean) / deviation of the value n = (x - mean) / deviation * s + t.
ValueId quotient_of(Rewritten& model) {
  const ValueId product = model.arena().node(model.value("n")).operands[0];
  return model.arena().node(product).operands[0];
}

ValueId constant(Rewritten& model, const std::vector<ir::Poly>& shape) { return model.op("expand", {model.scalar(3)}, {{"shape", shape}}); }

TEST(FusedExport, InstanceNormalizationWithOtherConstants) {
  Rewritten model(model_of(normalised("InstanceNormalization", 3)));
  const ValueId scaled = model.op("mul", {quotient_of(model), constant(model, {3, 1})});
  model.replace("n", model.op("add", {constant(model, {1, 3, 1}), scaled}));
  EXPECT_EQ(model.nodes(),
            "InstanceNormalization x xflow_constant_2 xflow_constant_3 -> n\n"
            "Neg n -> y =\n");
  const Document written = testing::parsed(model.bytes());
  EXPECT_EQ(*written.nodes()[0].find("epsilon")->real(), 0.25F);
  for (const Initializer& made : written.main().initializers) EXPECT_EQ(made.tensor.dims, std::vector<std::int64_t>{3}) << made.tensor.name;
}

TEST(FusedExport, LayerNormalizationWithOtherConstants) {
  Rewritten model(model_of(normalised("LayerNormalization", 4)));
  const ValueId scaled = model.op("mul", {constant(model, {1, 1, 4}), quotient_of(model)});
  model.replace("n", model.op("add", {scaled, constant(model, {4})}));
  EXPECT_EQ(model.nodes(),
            "LayerNormalization x xflow_constant_2 xflow_constant_3 -> n\n"
            "Neg n -> y =\n");
  const Document written = testing::parsed(model.bytes());
  EXPECT_EQ(*written.nodes()[0].find("epsilon")->real(), 0.25F);
  EXPECT_EQ(*written.nodes()[0].find("axis")->integer(), -1);
  for (const Initializer& made : written.main().initializers) EXPECT_EQ(made.tensor.dims, std::vector<std::int64_t>{4}) << made.tensor.name;
}

TEST(FusedExport, LayerNormalizationWithoutAShift) {
  Rewritten model(model_of(normalised("LayerNormalization", 4)));
  model.replace("n", model.op("mul", {constant(model, {4}), quotient_of(model)}));
  EXPECT_EQ(model.nodes(),
            "LayerNormalization x xflow_constant_2 -> n\n"
            "Neg n -> y =\n");
}

// How the text begins where the normalisation is written in parts.
bool is_in_parts(const std::string& nodes) { return nodes.find("Normalization") == std::string::npos && nodes.find("ReduceMean") == 0; }

TEST(FusedExport, WhatDoesNotFitIsWrittenBehindTheNode) {
  Rewritten model(model_of(normalised("InstanceNormalization", 3)));
  const ValueId scaled = model.op("mul", {quotient_of(model), constant(model, {3, 4})});
  model.replace("n", model.op("add", {scaled, constant(model, {2, 1, 1})}));
  EXPECT_EQ(model.nodes(),
            "InstanceNormalization x xflow_constant_2 xflow_constant_3 -> xflow_div_1\n"
            "Mul xflow_div_1 xflow_constant_5 -> xflow_mul_4\n"
            "Add xflow_mul_4 xflow_constant_7 -> n\n"
            "Neg n -> y =\n");
  const Document written = testing::parsed(model.bytes());
  EXPECT_EQ(*ir::doubles(*written.constant(written.main().initializers[0].tensor)), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(*ir::doubles(*written.constant(written.main().initializers[1].tensor)), (std::vector<double>{0, 0, 0}));
}

TEST(FusedExport, ANormalisationOfWhichAPartIsReadElsewhereIsWrittenInParts) {
  GraphParts parts = normalised("InstanceNormalization", 3);
  parts.nodes.push_back(node("Abs", "", {"x"}, {"z"}));
  parts.outputs.push_back(float_info("z", {2, 3, 4}));
  Rewritten model(model_of(parts));
  const ValueId quotient = quotient_of(model);
  const ValueId scaled = model.op("mul", {quotient, constant(model, {3, 1})});
  model.replace_all({{model.value("n"), model.op("add", {scaled, constant(model, {3, 1})})},
                     {model.value("z"), model.op("abs", {model.arena().node(quotient).operands[0]})}});
  EXPECT_TRUE(is_in_parts(model.nodes())) << model.nodes();
}

TEST(FusedExport, LayerNormalizationIsThereFromOpset17) {
  for (const int opset : {16, 17}) {
    const std::string graph = graph_message(normalised("InstanceNormalization", 3));
    Rewritten model(WireWriter().varint(1, 8).bytes(8, WireWriter().varint(2, opset).view()).bytes(7, graph).take());
    const ValueId scaled = model.op("mul", {quotient_of(model), constant(model, {4})});
    model.replace("n", model.op("add", {scaled, constant(model, {4})}));
    EXPECT_TRUE(model.nodes().starts_with(opset == 16 ? "InstanceNormalization x" : "LayerNormalization x")) << model.nodes();
  }
}

TEST(FusedExport, InstanceNormalizationOfBfloat16IsThereFromOpset22) {
  for (const int opset : {17, 22}) {
    GraphParts parts;
    parts.inputs = {value_info_message("x", ir::DataType::bfloat16, std::vector<Dimension>(3, {Dimension::Kind::value, 4, {}}))};
    parts.nodes = {node("Relu", "", {"x"}, {"n"})};
    parts.outputs = {value_info_message("n", ir::DataType::bfloat16, std::vector<Dimension>(3, {Dimension::Kind::value, 4, {}}))};
    const std::string graph = graph_message(parts);
    Rewritten model(WireWriter().varint(1, 8).bytes(8, WireWriter().varint(2, opset).view()).bytes(7, graph).take());
    const ValueId x = model.value("x");
    const ir::Attributes axes{{"axes", ir::polys(std::vector<std::int64_t>{2})}, {"keep_dims", ir::Poly(1)}};
    const ValueId centered = model.op("sub", {x, model.op("reduce_mean", {x}, axes)});
    const ValueId variance = model.op("reduce_mean", {model.op("mul", {centered, centered})}, axes);
    const ValueId epsilon = model.arena().constant(*ir::make_constant(ir::DataType::bfloat16, {}, std::vector<double>{0.25}));
    model.replace("n", model.op("div", {centered, model.op("sqrt", {model.op("add", {variance, epsilon})})}));
    EXPECT_EQ(is_in_parts(model.nodes()), opset == 17) << model.nodes();
  }
}

TEST(FusedExport, TwoScalesAreOneNodeAndAProduct) {
  Rewritten model(model_of(normalised("LayerNormalization", 4)));
  const ValueId scaled = model.op("mul", {model.op("mul", {quotient_of(model), constant(model, {4})}), constant(model, {1, 4})});
  model.replace("n", model.op("add", {scaled, constant(model, {4})}));
  EXPECT_EQ(model.nodes(),
            "LayerNormalization x xflow_constant_2 -> xflow_mul_1\n"
            "Mul xflow_mul_1 xflow_constant_4 -> xflow_mul_3\n"
            "Add xflow_mul_3 xflow_constant_2 -> n\n"
            "Neg n -> y =\n");
}

}  // namespace
}  // namespace xflow::onnx_io
