#include "src/onnx/document/document.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/wire.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

using testing::error_of;
using testing::float_info;
using testing::GraphParts;
using testing::model_message;
using testing::model_of;
using testing::parsed;
using testing::rich_model;

TEST(Document, ReadsTheFieldsOfTheModel) {
  const Document document = parsed(rich_model());
  const Model& model = document.model();
  EXPECT_EQ(model.ir_version, 8);
  EXPECT_EQ(model.producer_name, "xflow tests");
  EXPECT_EQ(model.producer_version, "1");
  ASSERT_EQ(model.metadata.size(), 1U);
  EXPECT_EQ(model.metadata[0].first, "author");
  EXPECT_EQ(model.metadata[0].second, "me");
  EXPECT_EQ(document.main().name, "rich");
  EXPECT_EQ(document.main().doc_string, "doc of the graph");
  ASSERT_EQ(model.functions.size(), 1U);
  EXPECT_EQ(model.functions[0].name, "Double");
  EXPECT_EQ(model.functions[0].domain, "custom");
  EXPECT_EQ(model.functions[0].attributes, std::vector<std::string_view>{"alpha"});
  ASSERT_EQ(model.functions[0].defaults.size(), 1U);
  EXPECT_EQ(model.functions[0].defaults[0].name, "beta");
  EXPECT_EQ(*model.functions[0].defaults[0].integer(), 7);
}

TEST(Document, KnowsTheOpsetOfEachGraph) {
  const Document document = parsed(rich_model());
  EXPECT_EQ(document.opset(GraphId{0}, ""), 17);
  EXPECT_EQ(document.opset(GraphId{0}, "ai.onnx"), 17);
  EXPECT_EQ(document.opset(GraphId{0}, "custom"), 1);
  EXPECT_EQ(document.opset(GraphId{0}, "other"), std::nullopt);
  const GraphId function = document.model().functions[0].body;
  EXPECT_EQ(document.opset(function, ""), 17);
  EXPECT_EQ(document.opset(function, "custom"), std::nullopt);
  EXPECT_EQ(document.opset(document.graphs().back().id, "custom"), 1) << "a body has the opsets of the model";
}

TEST(Document, ReadsNodesAndTheirAttributes) {
  const Document document = parsed(rich_model());
  const Node& node = document.nodes(GraphId{0})[0];
  EXPECT_EQ(node.name, "all");
  EXPECT_EQ(node.op_type, "Everything");
  EXPECT_EQ(node.domain, "custom");
  EXPECT_EQ(node.inputs, (std::vector<std::string_view>{"x", "", "w"}));
  EXPECT_EQ(node.outputs, (std::vector<std::string_view>{"y", ""}));
  EXPECT_EQ(*node.find("axis")->integer(), -1);
  EXPECT_EQ(*node.find("epsilon")->real(), 1e-5F);
  EXPECT_EQ(*node.find("mode")->string(), "linear");
  EXPECT_EQ(*node.find("pads")->integers(), (std::vector<std::int64_t>{1, -2, 300}));
  EXPECT_EQ(*node.find("scales")->reals(), (std::vector<float>{0.5F, -1.25F}));
  EXPECT_EQ(*node.find("words")->strings(), (std::vector<std::string_view>{"one", "two"}));
  EXPECT_EQ(*doubles(*document.tensor(*node.find("value"))), (std::vector<double>{3, 4, 5}));
  EXPECT_EQ(node.find("nothing"), nullptr);
  EXPECT_EQ(node.find("axis")->real().error().text(), "attribute 'axis' is an int, expected a float");
  EXPECT_EQ(document.tensor(*node.find("axis")).error().text(), "attribute 'axis' is not a tensor");
  EXPECT_FALSE(node.is("Everything")) << "another domain";
  EXPECT_TRUE(document.nodes(GraphId{0})[1].is("If"));
}

TEST(Document, TellsTheTypeOfAnAttributeByItsFieldWhereTheFileDoesNotSay) {
  const std::string attribute = WireWriter().bytes(1, "axis").varint(3, 2).take();
  GraphParts parts;
  parts.nodes = {NodeBuilder("Op").output("y").attribute(attribute).message()};
  parts.outputs = {float_info("y")};
  const Document document = parsed(model_of(parts));
  EXPECT_EQ(*document.nodes()[0].find("axis")->integer(), 2);
}

TEST(Document, DoesNotTakeAReferenceOfAFunctionForAValue) {
  const std::string attribute = WireWriter().bytes(1, "axis").varint(20, 2).bytes(21, "outer").take();
  GraphParts parts;
  parts.nodes = {NodeBuilder("Op").output("y").attribute(attribute).message()};
  parts.outputs = {float_info("y")};
  const Document document = parsed(model_of(parts));
  EXPECT_EQ(document.nodes()[0].attributes[0].integer().error().text(),
            "attribute 'axis' stands for the function's attribute 'outer', expected an int");
}

TEST(Document, PrintsDeclaredTypes) {
  const Document document = parsed(rich_model());
  const Graph& main = document.main();
  EXPECT_EQ(main.inputs[0].type.text(), "float32[2]");
  EXPECT_EQ(main.inputs[1].type.text(), "bool[]");
  EXPECT_EQ(main.inputs[2].type.text(), "int8[-1,N,?]");
  EXPECT_EQ(main.value_infos[0].type.text(), "float32[2,3]");
  const auto text = [](const std::string& type) {
    DeclaredType declared;
    const auto parsed_type = parse_type(type, declared);
    return parsed_type ? declared.text() : parsed_type.error().text();
  };
  const std::string tensor = WireWriter().bytes(1, WireWriter().varint(1, 7).view()).take();
  const std::string sequence = WireWriter().bytes(4, WireWriter().bytes(1, tensor).view()).take();
  EXPECT_EQ(text(tensor), "int64[...]");
  EXPECT_EQ(text(sequence), "sequence(int64[...])");
  EXPECT_EQ(text(WireWriter().bytes(9, WireWriter().bytes(1, sequence).view()).take()), "optional(sequence(int64[...]))");
  EXPECT_EQ(text(WireWriter().bytes(5, WireWriter().varint(1, 8).bytes(2, tensor).view()).take()), "map(string, int64[...])");
  EXPECT_EQ(text(WireWriter().bytes(8, WireWriter().varint(1, 1).view()).take()), "sparse(float32[...])");
  EXPECT_EQ(text(WireWriter().bytes(1, WireWriter().varint(1, 99).view()).take()), "type 99[...]");
  EXPECT_EQ(text(""), "?");
}

TEST(Document, CountsOperatorsOfAllGraphs) {
  const auto counts = parsed(rich_model()).operator_counts();
  const std::map<std::string, std::size_t> expected{{"Add", 2}, {"If", 2}, {"Neg", 1}, {"custom.Double", 1}, {"custom.Everything", 1}};
  EXPECT_EQ(counts, expected);
}

TEST(Document, WritesWhatItReadByteForByte) {
  const std::string model = rich_model();
  EXPECT_EQ(*write_bytes(parsed(model), {}), model);
}

TEST(Document, IsTheSameHoweverTheFileIsWritten) {
  const std::string model = rich_model();
  const std::string expected = testing::digest(parsed(model));
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const std::string other = testing::shuffled(model, random);
    EXPECT_NE(other, model);
    const Document document = parsed(other);
    ASSERT_EQ(testing::digest(document), expected) << "shuffle " << i;
    ASSERT_EQ(*write_bytes(document, {}), other);
  }
}

TEST(Document, SurvivesTruncationAtEveryByte) {
  const std::string model = rich_model();
  std::size_t errors = 0;
  for (std::size_t length = 0; length < model.size(); ++length) {
    const auto document = Document::parse(model.substr(0, length));
    if (document) {
      EXPECT_EQ(*write_bytes(*document, {}), model.substr(0, length));
    } else {
      ++errors;
      EXPECT_EQ(document.error().code, ErrorCode::unreadable);
      EXPECT_EQ(document.error().message.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(errors, model.size() - 10) << "only a cut after the graph, between two fields, leaves a model";
}

TEST(Document, SurvivesAnyDamagedByte) {
  const std::string model = rich_model();
  for (std::size_t i = 0; i < model.size(); ++i) {
    for (const int value : {0x00, 0x7f, 0xff}) {
      std::string damaged = model;
      damaged[i] = static_cast<char>(value);
      const auto document = Document::parse(damaged);
      if (!document) continue;
      EXPECT_EQ(*write_bytes(*document, {}), damaged);
    }
  }
}

TEST(Document, SaysWhatAFileIsThatIsNoModel) {
  EXPECT_EQ(error_of(""), "the file is empty, expected an ONNX model");
  EXPECT_EQ(error_of("hello world"), "not an ONNX model: at byte 2: the end of a group that was not opened");
  EXPECT_EQ(error_of("version https://git-lfs.github.com/spec/v1\n"),
            "is a Git LFS pointer, expected the model itself; fetch it with 'git lfs pull'");
  EXPECT_EQ(error_of(WireWriter().varint(1, 8).take()), "the model has no graph");
  const std::string model = model_of({});
  EXPECT_EQ(error_of(model.substr(0, model.size() - 1)),
            "the file is truncated: the graph at byte 6 is a field of 3 bytes where 2 are left");
}

TEST(Document, NamesTheFileAndThePlaceOfDamage) {
  const std::string broken("\x0a\x05x", 3);  // a field of 5 bytes with 1
  const auto text = [](const GraphParts& parts) { return Document::parse(model_of(parts), DocumentOrigin{"m.onnx", ""}).error().text(); };
  GraphParts parts;
  parts.nodes = {testing::node("Add", "a1", {}, {"y"}) + broken};
  EXPECT_EQ(text(parts), "m.onnx: damaged model: node 'a1' (Add) has at byte 22 a field of 5 bytes where 1 are left");
  parts = {};
  parts.inputs = {WireWriter().bytes(1, "x").bytes(2, broken).take()};
  EXPECT_EQ(text(parts), "m.onnx: damaged model: the type of value 'x' in graph 'g': a type has a field of 5 bytes where 1 are left");
  parts = {};
  parts.initializers = {WireWriter().bytes(8, "w").raw(broken).take()};
  EXPECT_EQ(text(parts), "m.onnx: an initializer of graph 'g': tensor 'w' has a field of 5 bytes where 1 are left");
}

TEST(Document, CannotOpenAMissingFileOrAFolder) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(Document::open(folder.file("no.onnx")).error().text(), folder.file("no.onnx") + ": cannot open: No such file or directory");
  EXPECT_EQ(Document::open(folder.path()).error().text(), folder.path() + ": cannot open: is a folder, expected a file");
}

TEST(Document, AcceptsWhatItDoesNotKnow) {
  GraphParts parts;
  parts.nodes = {NodeBuilder("Unheard", "of.this").input("x").output("y").message()};
  parts.inputs = {float_info("x")};
  parts.outputs = {float_info("y")};
  const std::string model = WireWriter().varint(1, 99).bytes(7, graph_message(parts)).bytes(20, "").take();
  const Document document = parsed(model);
  EXPECT_EQ(document.model().ir_version, 99);
  EXPECT_EQ(document.model().training_infos, 1U);
}

}  // namespace
}  // namespace xflow::onnx_io
