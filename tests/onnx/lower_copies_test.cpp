// Outputs that are an input, a constant or another output, and the names of new nodes.
#include <gtest/gtest.h>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/lower/lower.h"
#include "tests/onnx/model_builder.h"
#include "tests/onnx/rewritten.h"

namespace xflow::onnx_io {
namespace {

using testing::float_info;
using testing::GraphParts;
using testing::model_of;
using testing::node;
using testing::Rewritten;

GraphParts of_one_node(const std::string& type, const std::string& name) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.nodes = {node(type, name, {"x"}, {"y"})};
  parts.outputs = {float_info("y")};
  return parts;
}

TEST(LoweredCopies, ANodeThatCopiesAnInputToAnOutputStays) {
  for (const char* type : {"Identity", "Sum", "Max", "Mean"}) {
    Rewritten model(model_of(of_one_node(type, "")));
    model.replace("y", model.value("x"));
    EXPECT_TRUE(model.lower().edits.empty()) << type;
  }
}

TEST(LoweredCopies, ANodeThatComputesBecomesAnIdentity) {
  Rewritten model(model_of(of_one_node("Relu", "")));
  model.replace("y", model.value("x"));
  EXPECT_EQ(model.nodes(), "Identity x -> y\n");
}

TEST(LoweredCopies, OneValueKeepsItsTwoOutputNames) {
  GraphParts parts = of_one_node("Relu", "");
  parts.nodes.push_back(node("Identity", "", {"y"}, {"z"}));
  parts.outputs.push_back(float_info("z"));
  Rewritten model(model_of(parts));
  model.replace("z", model.value("y"));
  EXPECT_TRUE(model.lower().edits.empty());
}

TEST(LoweredCopies, ACopyOfACopyReadsTheInput) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.nodes = {node("Identity", "", {"x"}, {"a"}), node("Identity", "", {"a"}, {"y"})};
  parts.outputs = {float_info("y")};
  Rewritten model(model_of(parts));
  model.replace("a", model.value("x"));
  model.replace("y", model.value("x"));
  EXPECT_EQ(model.nodes(), "Identity x -> y\n");
}

TEST(LoweredCopies, NewNodesAreNamedWhereTheNodesOfTheModelAre) {
  for (const bool named : {false, true}) {
    Rewritten model(model_of(of_one_node("Relu", named ? "relu" : "")));
    model.replace("y", model.op("tanh", {model.value("x")}));
    const LoweredModel lowered = model.lower();
    ASSERT_EQ(lowered.edits.size(), 1U);
    EXPECT_EQ(lowered.edits[0].nodes->at(0).message.find("xflow_Tanh") != std::string::npos, named);
  }
}

}  // namespace
}  // namespace xflow::onnx_io
