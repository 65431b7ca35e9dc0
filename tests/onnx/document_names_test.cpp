#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/wire.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

using testing::error_of;
using testing::float_info;
using testing::float_tensor;
using testing::graph_message;
using testing::GraphParts;
using testing::if_node;
using testing::model_of;
using testing::node;
using testing::parsed;

using Names = std::vector<std::string_view>;

std::vector<std::size_t> order_of(const Document& document) {
  std::vector<std::size_t> order;
  for (const NodeId id : document.main().order) order.push_back(index(id));
  return order;
}

TEST(DocumentNames, FindWhoDefinesAValue) {
  GraphParts parts;
  parts.nodes = {node("Split", "s", {"x"}, {"a", "b"}), node("Add", "", {"b", "w"}, {"y"})};
  parts.initializers = {float_tensor("w", {1})};
  parts.inputs = {float_info("x"), float_info("w")};
  parts.outputs = {float_info("y")};
  const Document document = parsed(model_of(parts));
  EXPECT_EQ(document.find(GraphId{0}, "x")->input, 0U);
  EXPECT_EQ(document.find(GraphId{0}, "b")->node, NodeId{0});
  EXPECT_EQ(document.find(GraphId{0}, "b")->output, 1U);
  EXPECT_EQ(document.find(GraphId{0}, "w")->input, 1U) << "an input with a default is both";
  EXPECT_EQ(document.find(GraphId{0}, "w")->initializer, 0U);
  EXPECT_EQ(document.find(GraphId{0}, "q"), nullptr);
  EXPECT_EQ(describe(document, NodeId{0}), "node 's' (Split)");
  EXPECT_EQ(describe(document, NodeId{1}), "node 1 of graph 'g' (Add)");
}

TEST(DocumentNames, RefuseAValueThatIsDefinedTwice) {
  GraphParts parts;
  parts.nodes = {node("Neg", "n", {"x"}, {"y"}), node("Abs", "a", {"x"}, {"y"})};
  parts.inputs = {float_info("x")};
  EXPECT_EQ(error_of(model_of(parts)), "value 'y' of graph 'g' is defined twice: by node 'n' (Neg) and by node 'a' (Abs)");
  parts.nodes = {node("Neg", "", {"x"}, {"x"})};
  EXPECT_EQ(error_of(model_of(parts)), "value 'x' of graph 'g' is defined twice: by an input and by node 0 of graph 'g' (Neg)");
  parts.nodes = {};
  parts.inputs = {float_info("x"), float_info("x")};
  EXPECT_EQ(error_of(model_of(parts)), "value 'x' of graph 'g' is defined twice: by an input and by another input");
  parts.inputs = {};
  parts.initializers = {float_tensor("w", {1}), float_tensor("w", {2})};
  EXPECT_EQ(error_of(model_of(parts)), "value 'w' of graph 'g' is defined twice: by an initializer and by another initializer");
}

TEST(DocumentNames, TakeEmptyNamesForOmittedOperands) {
  GraphParts parts;
  parts.nodes = {node("Op", "a", {"", ""}, {"", "y"}), node("Op", "b", {"y", ""}, {""})};
  parts.outputs = {float_info("y")};
  EXPECT_EQ(parsed(model_of(parts)).nodes().size(), 2U);
}

TEST(DocumentNames, StayOnOneLineInMessages) {
  GraphParts parts;
  parts.nodes = {node("N\x01", "a\nb", {"q\n"}, {"y"})};
  EXPECT_EQ(error_of(model_of(parts)), R"(node 'a\nb' (N\x01) uses value 'q\n', which nothing defines)");
}

TEST(DocumentNames, RefuseAnOutputWithoutAName) {
  GraphParts parts;
  parts.nodes = {node("Op", "a", {}, {"y"})};
  parts.outputs = {float_info("")};
  EXPECT_EQ(error_of(model_of(parts)), "graph 'g' has an output without a name");
}

TEST(DocumentNames, RefuseAValueThatNothingDefines) {
  GraphParts parts;
  parts.nodes = {node("Neg", "n", {"q"}, {"y"})};
  EXPECT_EQ(error_of(model_of(parts)), "node 'n' (Neg) uses value 'q', which nothing defines");
  parts.nodes = {};
  parts.outputs = {float_info("q")};
  EXPECT_EQ(error_of(model_of(parts)), "graph 'g' has the output 'q', which nothing defines");
  GraphParts body;
  body.nodes = {node("Neg", "deep", {"q"}, {"z"})};
  body.outputs = {float_info("z")};
  parts.inputs = {float_info("c")};
  parts.outputs = {};
  parts.nodes = {if_node("branch", "c", graph_message(body), "y")};
  EXPECT_EQ(error_of(model_of(parts)), "node 'deep' (Neg) uses value 'q', which nothing defines");
  body.nodes = {};
  parts.nodes = {if_node("branch", "c", graph_message(body), "y")};
  EXPECT_EQ(error_of(model_of(parts)), "graph then_branch of node 'branch' (If) has the output 'z', which nothing defines");
}

TEST(DocumentNames, AFunctionSeesNothingOfTheModel) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  const std::string function = WireWriter().bytes(1, "F").bytes(5, "y").bytes(7, node("Neg", "n", {"x"}, {"y"})).bytes(10, "custom").take();
  EXPECT_EQ(error_of(testing::model_message(graph_message(parts), WireWriter().bytes(25, function).view())),
            "node 'n' (Neg) uses value 'x', which nothing defines");
}

TEST(DocumentNames, OrderNodesWhateverTheOrderOfTheFile) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.nodes = {node("Op", "2", {"b"}, {"c"}), node("Op", "0", {"x"}, {"a"}), node("Op", "free", {"x"}, {"f"}),
                 node("Op", "1", {"a"}, {"b"})};
  const Document document = parsed(model_of(parts));
  EXPECT_FALSE(document.main().sorted);
  EXPECT_EQ(order_of(document), (std::vector<std::size_t>{1, 2, 3, 0}));
}

TEST(DocumentNames, KeepTheOrderOfAFileThatIsInOrder) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.nodes = {node("Op", "b", {"x"}, {"b"}), node("Op", "a", {"x"}, {"a"}), node("Op", "c", {"a", "b"}, {"c"})};
  const Document document = parsed(model_of(parts));
  EXPECT_TRUE(document.main().sorted);
  EXPECT_EQ(order_of(document), (std::vector<std::size_t>{0, 1, 2}));
}

TEST(DocumentNames, RefuseACycle) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.nodes = {node("Neg", "late", {"b"}, {"z"}), node("Add", "p", {"x", "b"}, {"a"}), node("Mul", "q", {"a"}, {"b"})};
  EXPECT_EQ(error_of(model_of(parts)), "graph 'g' has a cycle: node 'q' (Mul) needs node 'p' (Add), which needs the first");
  parts.nodes = {node("Add", "self", {"y"}, {"y"})};
  EXPECT_EQ(error_of(model_of(parts)), "graph 'g' has a cycle: node 'self' (Add) needs itself");
  parts.nodes.clear();
  for (int i = 0; i < 100; ++i) {
    parts.nodes.push_back(node("Op", "n" + std::to_string(i), {"v" + std::to_string((i + 1) % 100)}, {"v" + std::to_string(i)}));
  }
  EXPECT_EQ(
      error_of(model_of(parts)),
      "graph 'g' has a cycle: node 'n0' (Op) needs node 'n1' (Op), which needs node 'n2' (Op), which needs node 'n3' (Op), which needs "
      "node 'n4' (Op), which needs node 'n5' (Op), and so on over 100 nodes");
}

TEST(DocumentNames, RefuseACycleThroughABody) {
  GraphParts body;
  body.outputs = {float_info("y")};
  GraphParts parts;
  parts.inputs = {float_info("c")};
  parts.nodes = {if_node("branch", "c", graph_message(body), "y")};
  EXPECT_EQ(error_of(model_of(parts)), "graph 'g' has a cycle: node 'branch' (If) needs itself");
}

TEST(DocumentNames, CaptureWhatBodiesUseAndDoNotDefine) {
  const Document document = parsed(testing::rich_model());
  const Node& branch = document.nodes(GraphId{0})[1];
  ASSERT_EQ(branch.name, "branch");
  EXPECT_EQ(branch.captures, (Names{"x", "c"})) << "h is the body's own, c is the condition of the inner If and of the other branch";
  const Graph& body = document.graph(branch.find("then_branch")->graphs[0]);
  const Node& inner = document.nodes(body.id)[1];
  EXPECT_EQ(inner.captures, (Names{"x", "h", "c"}));
  EXPECT_EQ(document.scope_of(document.graph(inner.attributes[0].graphs[0]).id, "h"), body.id);
  EXPECT_EQ(document.scope_of(inner.graph, "x"), GraphId{0});
}

TEST(DocumentNames, ABodyMayHideAnOuterValue) {
  GraphParts body;
  body.nodes = {node("Neg", "", {"c"}, {"x"}), node("Abs", "", {"x"}, {"z"})};
  body.outputs = {float_info("z")};
  GraphParts parts;
  parts.inputs = {float_info("c"), float_info("x")};
  parts.nodes = {if_node("branch", "c", graph_message(body), "y")};
  EXPECT_EQ(parsed(model_of(parts)).nodes()[0].captures, (Names{"c"}));
}

TEST(DocumentNames, ACaptureOrdersNodes) {
  GraphParts body;
  body.outputs = {float_info("late")};
  GraphParts parts;
  parts.inputs = {float_info("c")};
  parts.nodes = {if_node("branch", "c", graph_message(body), "y"), node("Neg", "", {"c"}, {"late"})};
  EXPECT_EQ(order_of(parsed(model_of(parts))), (std::vector<std::size_t>{1, 0}));
}

TEST(DocumentNames, BodiesNestAsDeepAsTheyLike) {
  for (const int depth : {200, 2000}) {
    GraphParts body;
    body.nodes = {node("Neg", "innermost", {"x"}, {"v0"})};
    body.outputs = {float_info("v0")};
    std::string nested = graph_message(body);
    for (int i = 1; i < depth; ++i) {
      GraphParts level;
      level.nodes = {if_node("if" + std::to_string(i), "c", nested, "v" + std::to_string(i))};
      level.outputs = {float_info("v" + std::to_string(i))};
      nested = graph_message(level);
    }
    GraphParts parts;
    parts.inputs = {float_info("c"), float_info("x")};
    parts.nodes = {if_node("outermost", "c", nested, "y")};
    parts.outputs = {float_info("y")};
    const std::string model = model_of(parts);
    const Document document = parsed(model);
    EXPECT_EQ(document.graphs().size(), static_cast<std::size_t>(1 + 2 * depth));
    const Names captures = depth > 1 ? Names{"c", "x"} : Names{"x", "c"};
    for (const Node& candidate : document.nodes()) {
      if (candidate.name != "outermost" && candidate.name != "if2") continue;
      EXPECT_EQ(candidate.captures, captures);
    }
    EXPECT_EQ(*write_bytes(document, {}), model);
    // An edit of the innermost graph changes every length around it, and nothing else.
    GraphEdit edit;
    edit.graph = document.nodes().back().graph;
    for (const Node& candidate : document.nodes()) {
      if (candidate.name == "innermost") edit.graph = candidate.graph;
    }
    edit.nodes = std::vector<Entry>{Entry::add(node("Abs", "renewed", {"x"}, {"v0"}))};
    const Document edited = parsed(*write_bytes(document, std::vector<GraphEdit>{edit}));
    EXPECT_EQ(edited.operator_counts().at("Abs"), 1U);
    EXPECT_EQ(edited.graphs().size(), document.graphs().size());
  }
}

}  // namespace
}  // namespace xflow::onnx_io
