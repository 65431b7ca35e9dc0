// What is known of the inputs of local functions.
#include "src/optimizer/inner_graphs.h"

#include <gtest/gtest.h>

#include <string>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"

namespace xflow::api {
namespace {

using onnx_io::Dimension;
using onnx_io::Document;
using onnx_io::WireWriter;

std::string opset(std::string_view domain, std::int64_t version) { return WireWriter().bytes(1, domain).varint(2, version).take(); }

std::string function(std::string_view name, std::string_view node) {
  WireWriter message;
  message.bytes(1, name)
      .bytes(4, "v")
      .bytes(5, "w")
      .bytes(7, node)
      .bytes(9, opset("", 17))
      .bytes(9, opset("custom", 1))
      .bytes(10, "custom");
  return message.take();
}

// The main graph calls f and g, and g calls f.
std::string model() {
  const std::vector<Dimension> dims = {{Dimension::Kind::value, 1, {}}, {Dimension::Kind::value, 8, {}}};
  const auto call = [](std::string_view name, std::string_view from, std::string_view to) {
    return onnx_io::NodeBuilder(name, "custom").input(from).output(to).message();
  };
  WireWriter graph;
  graph.bytes(1, call("f", "x", "y")).bytes(1, call("g", "x", "z")).bytes(2, "main");
  graph.bytes(11, onnx_io::value_info_message("x", ir::DataType::float32, dims));
  for (const char* output : {"y", "z"}) graph.bytes(12, onnx_io::value_info_message(output, ir::DataType::float32, dims));
  WireWriter result;
  result.varint(1, 8).bytes(8, opset("", 17)).bytes(8, opset("custom", 1)).bytes(7, graph.view());
  result.bytes(25, function("f", onnx_io::NodeBuilder("Neg").input("v").output("w").message()))
      .bytes(25, function("g", call("f", "v", "w")));
  return result.take();
}

TEST(InnerGraphs, FunctionsHaveTypesWhereAllOfTheirCallsAreKnown) {
  const Document document = Document::parse(model()).value();
  const auto body_of = [&](std::size_t k) { return document.model().functions[k].body; };
  EXPECT_EQ(inner_graphs(document), (std::vector<onnx_io::GraphId>{onnx_io::GraphId{0}, body_of(1), body_of(0)}));
  InnerValues values(document);
  const auto add = [&](onnx_io::GraphId id, const Document& graph) {
    ir::Arena arena;
    const auto lifted = onnx_io::lift(graph, arena, {});
    ASSERT_TRUE(lifted) << lifted.error().text();
    values.add(id, *lifted, arena);
  };
  add(onnx_io::GraphId{0}, document);
  EXPECT_EQ(values.around(body_of(1)).count("v"), 1U);
  // g is unknown here, and may call f with any type.
  EXPECT_TRUE(values.around(body_of(0)).empty());
  const Document g = onnx_io::body_document(document, body_of(1), values.around(body_of(1))).value();
  add(body_of(1), g);
  const auto known = values.around(body_of(0));
  ASSERT_EQ(known.count("v"), 1U);
  EXPECT_EQ(known.at("v").data_type, ir::DataType::float32);
  EXPECT_EQ(known.at("v").dims.size(), 2U);
}

}  // namespace
}  // namespace xflow::api
