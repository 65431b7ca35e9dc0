// Sizes of values are known in every graph of a document, also where nothing declares them.
#include "src/onnx/lift/graph_shapes.h"

#include <gtest/gtest.h>

#include "src/onnx/document/wire.h"
#include "src/onnx/lift/mapping_table.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

// "[8, rows|n, -]", or "unknown".
std::string text_of(const std::vector<KnownSize>* sizes) {
  if (sizes == nullptr) return "unknown";
  std::string text;
  for (const KnownSize& size : *sizes) {
    std::string one = size.value ? std::to_string(*size.value) : "";
    for (const std::string& name : size.names) one += (one.empty() ? "" : "|") + name;
    text += (text.empty() ? "" : ", ") + (one.empty() ? "-" : one);
  }
  return "[" + text + "]";
}

TEST(GraphShapes, AreInferredAndNamed) {
  testing::GraphParts parts;
  parts.nodes = {testing::node("Relu", "r", {"x"}, {"h"}), testing::node("Add", "a", {"h", "w"}, {"s"}),
                 testing::node("Foo", "f", {"s"}, {"y"}), testing::node("Concat", "", {"x", "x"}, {"c"})};
  parts.inputs = {testing::dynamic_info("x", {"rows", "2"})};
  parts.initializers = {testing::float_tensor("w", {1, 2})};
  parts.outputs = {testing::dynamic_info("y", {"?", "n"}), testing::dynamic_info("s", {"n", "2"})};
  const Document document = testing::parsed(testing::model_of(parts));
  const GraphShapes shapes(document, {GraphId{0}});
  EXPECT_EQ(text_of(shapes.find(GraphId{0}, "x")), "[rows, 2]");
  EXPECT_EQ(text_of(shapes.find(GraphId{0}, "w")), "[2]");
  EXPECT_EQ(text_of(shapes.find(GraphId{0}, "h")), "[rows, 2]");
  EXPECT_EQ(text_of(shapes.find(GraphId{0}, "s")), "[rows|n, 2]");  // the declared name is one more
  EXPECT_EQ(text_of(shapes.find(GraphId{0}, "y")), "[-, n]");
  EXPECT_EQ(text_of(shapes.find(GraphId{0}, "nothing")), "unknown");
}

TEST(GraphShapes, OfBodiesHaveCapturedValues) {
  testing::GraphParts inner;
  inner.nodes = {testing::node("Exp", "", {"h"}, {"e"})};
  inner.outputs = {WireWriter().bytes(1, "e").take()};
  testing::GraphParts parts;
  parts.nodes = {testing::node("Relu", "r", {"x"}, {"h"}), testing::if_node("i", "c", testing::graph_message(inner), "y")};
  parts.inputs = {testing::dynamic_info("x", {"rows", "2"}), testing::dynamic_info("c", {})};
  parts.outputs = {WireWriter().bytes(1, "y").take()};
  const Document document = testing::parsed(testing::model_of(parts));
  ASSERT_GT(document.graphs().size(), 1U);
  for (const Graph& graph : document.graphs()) {
    if (graph.kind != GraphKind::body || document.find(graph.id, "e") == nullptr) continue;
    const GraphShapes shapes(document, {graph.id});
    EXPECT_EQ(text_of(shapes.find(graph.id, "e")), "[-, 2]");  // names stay outside
    EXPECT_EQ(text_of(shapes.find(graph.id, "h")), "[rows, 2]");
    return;
  }
  FAIL() << "no body has e";
}

TEST(GraphShapes, AreUnknownInBodiesThatAreNestedTooDeep) {
  testing::GraphParts innermost;
  innermost.nodes = {testing::node("Exp", "", {"x"}, {"e0"})};
  innermost.outputs = {WireWriter().bytes(1, "e0").take()};
  constexpr std::size_t kNested = GraphShapes::kDeepest + 2;
  std::string body = testing::graph_message(innermost);
  testing::GraphParts parts;
  for (std::size_t k = 1; k <= kNested; ++k) {
    const std::string output = "e" + std::to_string(k);
    parts = {};
    parts.nodes = {testing::node("Exp", "", {"x"}, {"r" + std::to_string(k)}), testing::if_node("", "c", body, output)};
    parts.outputs = {WireWriter().bytes(1, output).take()};
    body = testing::graph_message(parts);
  }
  parts.inputs = {testing::float_info("x", {4}), testing::dynamic_info("c", {})};
  const Document document = testing::parsed(testing::model_of(parts));
  std::set<GraphId> all;
  for (const Graph& graph : document.graphs()) all.insert(graph.id);
  const GraphShapes shapes(document, all);
  std::size_t known = 0;
  for (const Graph& graph : document.graphs()) {
    for (const Node& node : document.nodes(graph.id))
      if (node.is("Exp") && text_of(shapes.find(graph.id, node.outputs[0])) == "[4]") ++known;
  }
  EXPECT_EQ(known, GraphShapes::kDeepest + 1);  // with the main graph
}

TEST(MappingTable, KnowsElementwiseOperators) {
  for (const char* name : {"Add", "Cast", "Clip", "Identity", "Mul", "Pow", "Relu", "Sqrt", "Where"})
    EXPECT_TRUE(is_elementwise(name)) << name;
  for (const char* name : {"Conv", "Concat", "DequantizeLinear", "Foo", "MatMul", "ReduceSum", "Softmax", "Transpose"})
    EXPECT_FALSE(is_elementwise(name)) << name;
}

}  // namespace
}  // namespace xflow::onnx_io
