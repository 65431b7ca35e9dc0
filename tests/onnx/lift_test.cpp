#include "src/onnx/lift/lift.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lower/lower.h"
#include "src/ops/operator.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

std::vector<std::string> test_models() {
  std::vector<std::string> paths;
  if (const char* folder = std::getenv("XFLOW_TEST_MODELS")) {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
  }
  return paths;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

const Fold kNoFold = [](ir::ValueId) -> Result<ir::Constant> { return fail(ErrorCode::internal, "nothing to fold"); };

TEST(LiftAndLower, WithoutARewriteOnlyEqualNodesBecomeOne) {
  const auto paths = test_models();
  if (paths.empty()) GTEST_SKIP() << "XFLOW_TEST_MODELS is not set";
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const auto document = Document::open(path);
    ASSERT_TRUE(document) << document.error().text();
    ir::Arena arena;
    const auto model = lift(*document, arena);
    ASSERT_TRUE(model) << model.error().text();
    const auto valid = ir::verify(arena, model->graph);
    EXPECT_TRUE(valid) << valid.error().text();
    const auto lowered = lower(*document, *model, arena, model->graph, {}, kNoFold);
    ASSERT_TRUE(lowered) << lowered.error().text();
    EXPECT_EQ(lowered->new_nodes, 0U);
    EXPECT_EQ(lowered->kept_nodes + lowered->renamed_nodes + lowered->dropped_nodes, document->nodes(GraphId{0}).size());
    if (lowered->dropped_nodes > 0) {
      // Equal nodes became one: only then does another node read another name.
      EXPECT_GT(lowered->merged_nodes, 0U);
      continue;
    }
    EXPECT_EQ(lowered->renamed_nodes, 0U);
    EXPECT_TRUE(lowered->edits.empty());
    const auto bytes = write_bytes(*document, lowered->edits);
    ASSERT_TRUE(bytes) << bytes.error().text();
    EXPECT_TRUE(*bytes == read_file(path));
  }
}

using testing::float_info;
using testing::GraphParts;
using testing::node;

struct Lifted {
  explicit Lifted(std::string bytes) : document(testing::parsed(std::move(bytes))), model(*lift(document, arena)) {}
  std::string type(std::string_view name) const { return to_string(arena.symbols(), arena.type(model.values.at(name))); }
  std::string reason(std::size_t k) const { return describe(document, model.opaque[k].node) + ": " + model.opaque[k].reason; }

  ir::Arena arena;
  Document document;
  LiftedModel model;
};

std::string named_info(std::string_view name, const std::vector<std::string_view>& dims) {
  std::vector<Dimension> shape;
  for (const std::string_view dim : dims)
    shape.push_back(dim == "-1" ? Dimension{Dimension::Kind::value, -1, {}} : Dimension{Dimension::Kind::parameter, 0, dim});
  return value_info_message(name, ir::DataType::float32, shape);
}

TEST(Lifting, NamesOfDimensionsAreSizesButPlaceholdersAreNot) {
  GraphParts parts;
  parts.inputs = {named_info("x", {"N", "?", "?", "-1", "-1", "None", "123", ""}), named_info("z", {"N", "?"})};
  const Lifted lifted(testing::model_of(parts));
  const ir::Shape x = lifted.arena.type(lifted.model.values.at("x")).shape;
  const ir::Shape z = lifted.arena.type(lifted.model.values.at("z")).shape;
  EXPECT_EQ(x[0], z[0]);
  for (std::size_t a = 0; a < x.size(); ++a)
    for (std::size_t b = a + 1; b < x.size(); ++b) EXPECT_FALSE(x[a] == x[b]) << a << " " << b;
  EXPECT_FALSE(x[1] == z[1]);
  EXPECT_FALSE(x[6].is_constant());
}

TEST(Lifting, EqualNodesAreOneValue) {
  GraphParts parts;
  parts.inputs = {float_info("x"), float_info("z")};
  parts.nodes = {node("Add", "", {"x", "z"}, {"a"}), node("Add", "", {"x", "z"}, {"b"}), node("Mul", "", {"a", "b"}, {"y"})};
  parts.outputs = {float_info("y")};
  const Lifted lifted(testing::model_of(parts));
  EXPECT_EQ(lifted.model.values.at("a"), lifted.model.values.at("b"));
  EXPECT_EQ(lifted.model.names.at(lifted.model.values.at("b")), "a");
}

TEST(Lifting, WhatIsKnownOfSizesIsAConstant) {
  GraphParts parts;
  parts.inputs = {testing::dynamic_info("x", {"N", "6", "4"})};
  parts.value_infos = {float_info("u", {2, 6, 4})};
  parts.nodes = {node("Shape", "", {"x"}, {"s"}),
                 NodeBuilder("Constant").output("one").integer("value_int", 1).message(),
                 node("Gather", "", {"s", "one"}, {"c"}),
                 node("Identity", "", {"one"}, {"copy"}),
                 NodeBuilder("Cast").input("c").output("f").integer("to", 1).message(),
                 node("Unknown", "", {"x"}, {"u"}),
                 node("Shape", "", {"u"}, {"v"})};
  parts.outputs = {float_info("f"), float_info("v")};
  const Lifted lifted(testing::model_of(parts));
  const auto value = [&](std::string_view name) { return lifted.model.values.at(name); };
  EXPECT_FALSE(lifted.arena.is_constant(value("s"))) << "N is not known";
  EXPECT_EQ(lifted.arena.node(value("c")).kind, ir::NodeKind::constant);
  EXPECT_EQ(ir::integers(lifted.arena.node(value("c")).constant).value(), std::vector<std::int64_t>{6});
  EXPECT_TRUE(lifted.arena.is_constant(value("f")));
  EXPECT_EQ(value("copy"), value("one"));
  // What a node declares that is not known may be otherwise.
  EXPECT_FALSE(lifted.arena.is_constant(value("v")));
  EXPECT_TRUE(lifted.model.of_opaque.contains(value("u")) && lifted.model.of_opaque.contains(value("v")));
}

TEST(Lifting, RandomNodesAreNeverOneValue) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.nodes = {node("RandomNormalLike", "", {"x"}, {"a"}), node("RandomNormalLike", "", {"x"}, {"b"}),
                 node("Sub", "", {"a", "b"}, {"y"})};
  parts.outputs = {float_info("y")};
  const Lifted lifted(testing::model_of(parts));
  EXPECT_FALSE(lifted.model.values.at("a") == lifted.model.values.at("b"));
  EXPECT_TRUE(lifted.document.main().sorted);
}

TEST(Lifting, SaysWhyANodeIsOpaque) {
  const std::string function = WireWriter()
                                   .bytes(1, "Double")
                                   .bytes(4, "a")
                                   .bytes(5, "b")
                                   .bytes(7, NodeBuilder("Add").input("a").input("a").output("b").message())
                                   .bytes(9, WireWriter().bytes(1, "").varint(2, 17).view())
                                   .bytes(10, "custom")
                                   .take();
  GraphParts parts;
  parts.inputs = {float_info("x"), float_info("k", {1})};
  parts.nodes = {node("Hardmax", "a", {"x"}, {"v0"}), NodeBuilder("Double", "custom").name("b").input("x").output("v1").message(),
                 NodeBuilder("Foo", "elsewhere").name("c").input("x").output("v2").message(), node("Relu", "d", {"v2"}, {"v3"}),
                 NodeBuilder("LayerNormalization").name("e").input("x").input("x").output("v4").integer("stash_type", 16).message()};
  parts.outputs = {float_info("v0"), float_info("v1"), float_info("v3"), float_info("v4")};
  const std::string opsets = WireWriter().bytes(8, WireWriter().bytes(1, "custom").varint(2, 1).view()).bytes(25, function).take();
  const Lifted lifted(testing::model_message(testing::graph_message(parts), opsets));
  ASSERT_EQ(lifted.model.opaque.size(), 5U);
  EXPECT_EQ(lifted.reason(0), "node 'a' (Hardmax): no operator for Hardmax");
  EXPECT_EQ(lifted.reason(1), "node 'b' (Double): it calls a local function");
  EXPECT_EQ(lifted.reason(2), "node 'c' (Foo): no operator set for domain 'elsewhere'");
  EXPECT_EQ(lifted.reason(3), "node 'd' (Relu): the type of an operand is not known");
  EXPECT_EQ(lifted.reason(4), "node 'e' (LayerNormalization): LayerNormalization: stash_type other than float");
}

TEST(Lifting, GivesAValueItsFirstNameAndMaker) {
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.initializers = {testing::float_tensor("w", {1, 2}), testing::float_tensor("same", {1, 2})};
  parts.nodes = {node("Add", "first", {"x", "w"}, {"a"}), node("Add", "second", {"x", "same"}, {"b"}), node("Mul", "", {"a", "b"}, {"y"})};
  parts.outputs = {float_info("y")};
  const Lifted lifted(testing::model_of(parts));
  const ir::ValueId a = lifted.model.values.at("b");
  EXPECT_EQ(lifted.model.names.at(a), "a");
  EXPECT_EQ(lifted.document.node(lifted.model.origins.at(a).node).name, "first");
  EXPECT_EQ(lifted.model.names.at(lifted.model.values.at("same")), "w");
}

}  // namespace
}  // namespace xflow::onnx_io
