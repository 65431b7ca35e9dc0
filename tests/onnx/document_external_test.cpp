#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/external.h"
#include "src/onnx/document/wire.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

using testing::external_tensor;
using testing::float_info;
using testing::GraphParts;
using testing::model_of;
using testing::read_all;
using testing::TemporaryFolder;

std::string floats(const std::vector<float>& values) {
  std::string bytes(values.size() * 4, '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string model_with(const std::vector<std::string>& initializers) {
  GraphParts parts;
  parts.initializers = initializers;
  return model_of(parts);
}

std::string open_error(const TemporaryFolder& folder, const std::string& initializer) {
  const std::string path = folder.write("m.onnx", model_with({initializer}));
  const auto document = Document::open(path);
  if (!document) return document.error().text().substr(folder.path().size() + 1);
  ADD_FAILURE() << "no error";
  return {};
}

TEST(ExternalData, IsReadFromItsOffset) {
  const TemporaryFolder folder;
  folder.write("weights/w.bin", "head" + floats({1, 2, 3}));
  const std::string path =
      folder.write("m.onnx", model_with({external_tensor("a", 2, "weights/w.bin", 4, 8), external_tensor("b", 1, "weights/w.bin", 12),
                                         external_tensor("none", 0, "weights/w.bin", 0, 0)}));
  const auto document = Document::open(path);
  ASSERT_TRUE(document) << document.error().text();
  const auto& list = document->main().initializers;
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].tensor.storage, TensorStorage::external);
  EXPECT_EQ(list[0].tensor.file, FileId{1});
  EXPECT_EQ(list[0].tensor.range, (Range{4, 8}));
  EXPECT_EQ(*doubles(list[0].tensor), (std::vector<double>{1, 2}));
  EXPECT_EQ(*doubles(list[1].tensor), std::vector<double>{3});
  EXPECT_EQ(doubles(list[2].tensor)->size(), 0U);
  EXPECT_EQ(document->external_files().size(), 1U) << "one file is mapped once";
}

TEST(ExternalData, MayBeInAnAttribute) {
  const TemporaryFolder folder;
  folder.write("w.bin", floats({5}));
  GraphParts parts;
  parts.nodes = {NodeBuilder("Constant").output("y").tensor("value", external_tensor("", 1, "w.bin")).message()};
  parts.outputs = {float_info("y")};
  const auto document = Document::open(folder.write("m.onnx", model_of(parts)));
  ASSERT_TRUE(document) << document.error().text();
  EXPECT_EQ(*doubles(*document->tensor(document->nodes()[0].attributes[0])), std::vector<double>{5});
}

TEST(ExternalData, MustBeThere) {
  const TemporaryFolder folder;
  EXPECT_EQ(open_error(folder, external_tensor("a", 2, "w.bin")), "m.onnx: an initializer of graph 'g': tensor 'a' lies in the file '" +
                                                                      folder.file("w.bin") + "': cannot open: No such file or directory");
}

TEST(ExternalData, MustBeLongEnough) {
  const TemporaryFolder folder;
  folder.write("w.bin", "123456789");
  EXPECT_EQ(open_error(folder, external_tensor("a", 2, "w.bin", 4, 8)),
            "m.onnx: an initializer of graph 'g': tensor 'a' needs 8 bytes from byte 4 of 'w.bin', which has 9 bytes");
  EXPECT_EQ(open_error(folder, external_tensor("a", 3, "w.bin")),
            "m.onnx: an initializer of graph 'g': tensor 'a' needs 12 bytes from byte 0 of 'w.bin', which has 9 bytes");
  EXPECT_EQ(open_error(folder, external_tensor("a", 1, "w.bin", 9223372036854775807, 4)),
            "m.onnx: an initializer of graph 'g': tensor 'a' needs 4 bytes from byte 9223372036854775807 of 'w.bin', which has 9 bytes");
}

TEST(ExternalData, StaysInTheFolderOfTheModel) {
  const TemporaryFolder folder;
  for (const std::string location : {"/etc/passwd", "../w.bin", "a/../../w.bin", "..", "\\w.bin", "a\\..\\w.bin", "C:w.bin"}) {
    EXPECT_EQ(open_error(folder, external_tensor("a", 1, location)),
              "m.onnx: an initializer of graph 'g': tensor 'a': external data '" + location +
                  "' lies outside the model's folder; expected a relative path without '..'");
  }
  EXPECT_EQ(open_error(folder, external_tensor("a", 1, "")),
            "m.onnx: an initializer of graph 'g': tensor 'a': external data without a location");
  EXPECT_TRUE(check_location("a..b/..c/d.bin"));
}

TEST(ExternalData, NeedsAFolderWhereTheModelIsGivenAsBytes) {
  EXPECT_EQ(testing::error_of(model_with({external_tensor("a", 1, "w.bin")})),
            "an initializer of graph 'g': tensor 'a' lies in the file 'w.bin', and no folder was given with the model's bytes");
  const TemporaryFolder folder;
  folder.write("w.bin", floats({1}));
  EXPECT_TRUE(Document::parse(model_with({external_tensor("a", 1, "w.bin")}), DocumentOrigin{"", folder.path()}));
}

TEST(ExternalData, HasNumbersForOffsets) {
  const TemporaryFolder folder;
  folder.write("w.bin", "1234");
  const std::string offset = WireWriter().bytes(1, "offset").bytes(2, "4k").take();
  EXPECT_EQ(open_error(folder, external_tensor("a", 1, "w.bin") + WireWriter().bytes(13, offset).take()),
            "m.onnx: an initializer of graph 'g': tensor 'a' has the external data offset '4k', expected a number of bytes");
}

TEST(ExternalData, GoesWithTheModelToAnotherFolder) {
  const TemporaryFolder folder;
  const TemporaryFolder target;
  folder.write("sub/used.bin", floats({1}));
  folder.write("dropped.bin", floats({2}));
  const std::string model = model_with({external_tensor("a", 1, "sub/used.bin"), external_tensor("b", 1, "dropped.bin")});
  const auto document = Document::open(folder.write("m.onnx", model));
  ASSERT_TRUE(document) << document.error().text();
  GraphEdit edit;
  edit.initializers = std::vector<Entry>{Entry::keep(0)};
  const auto written = write_document(*document, std::vector<GraphEdit>{edit}, target.file("out.onnx"));
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_EQ(target.list(), (std::vector<std::string>{"out.onnx", "sub"}));
  EXPECT_EQ(read_all(target.file("sub/used.bin")), floats({1}));
  const auto reopened = Document::open(target.file("out.onnx"));
  ASSERT_TRUE(reopened) << reopened.error().text();
  EXPECT_EQ(*doubles(reopened->main().initializers[0].tensor), std::vector<double>{1});
}

TEST(ExternalData, GetsANameOfItsOwnWhereItsNameIsTaken) {
  const TemporaryFolder folder;
  const TemporaryFolder target;
  folder.write("w.bin", floats({1}));
  const auto document = Document::open(folder.write("m.onnx", model_with({external_tensor("a", 1, "w.bin")})));
  ASSERT_TRUE(document);
  target.write("w.bin", floats({2}));
  const auto written = write_document(*document, {}, target.file("out.onnx"));
  ASSERT_TRUE(written) << written.error().text();
  ASSERT_EQ(written->size(), 1U);
  EXPECT_EQ(read_all(target.file("w.bin")), floats({2}));
  const auto reopened = Document::open(target.file("out.onnx"));
  ASSERT_TRUE(reopened) << reopened.error().text();
  const TensorView& tensor = reopened->main().initializers[0].tensor;
  EXPECT_EQ(*doubles(tensor), std::vector<double>{1});
  EXPECT_EQ(target.file(std::string(tensor.location)), (*written)[0]);
  EXPECT_EQ(target.list().size(), 3U) << "no temporary file is left";

  target.write("w.bin", floats({1}));
  const auto shared = write_document(*document, {}, target.file("out.onnx"));
  ASSERT_TRUE(shared) << "the same content is the same file";
  EXPECT_TRUE(shared->empty());
  EXPECT_EQ(target.list(), (std::vector<std::string>{"out.onnx", "w.bin"})) << "the data of the former model is gone";
}

TEST(ExternalData, FromOutsideTheFolderGetsANameInAnotherFolder) {
  const TemporaryFolder folder;
  const TemporaryFolder store;
  const TemporaryFolder target;
  const std::string model = model_with({external_tensor("a", 1, store.write("w.bin", floats({1})))});
  const auto document = Document::open(folder.write("m.onnx", model), {store.path()});
  ASSERT_TRUE(document) << document.error().text();
  ASSERT_TRUE(write_document(*document, {}, folder.file("out.onnx")));
  EXPECT_EQ(read_all(folder.file("out.onnx")), model) << "in the folder of the model it stays where it is";
  ASSERT_TRUE(write_document(*document, {}, target.file("out.onnx")));
  const auto reopened = Document::open(target.file("out.onnx"));
  ASSERT_TRUE(reopened) << reopened.error().text();
  EXPECT_EQ(*doubles(reopened->main().initializers[0].tensor), std::vector<double>{1});
}

TEST(ExternalData, StaysWhereItIsInTheSameFolder) {
  const TemporaryFolder folder;
  folder.write("w.bin", floats({1}));
  const auto document = Document::open(folder.write("m.onnx", model_with({external_tensor("a", 1, "w.bin")})));
  ASSERT_TRUE(write_document(*document, {}, folder.path() + "/./out.onnx"));
  EXPECT_EQ(folder.list(), (std::vector<std::string>{"m.onnx", "out.onnx", "w.bin"}));
}

std::string big_floats(std::size_t count, float first) {
  std::vector<float> values(count, 0.5F);
  values[0] = first;
  return floats(values);
}

TEST(ExternalData, TakesNewWeightsOfAModelThatKeepsItsOwnOutside) {
  const TemporaryFolder folder;
  const TemporaryFolder target;
  folder.write("w.bin", floats({1}));
  const auto document = Document::open(folder.write("m.onnx", model_with({external_tensor("a", 1, "w.bin")})));
  ASSERT_TRUE(document);
  const std::vector<std::int64_t> dims{300};
  const std::vector<std::int64_t> small_dims{1};
  const std::string first = big_floats(300, 7);
  const std::string second = big_floats(300, 8);
  const std::string small = floats({9});
  const auto add = [](std::string_view name, const std::vector<std::int64_t>& shape, const std::string& raw) {
    return Entry::add(tensor_header(name, ir::DataType::float32, shape, raw.size()), raw);
  };
  GraphEdit edit;
  edit.initializers = std::vector<Entry>{add("b", dims, first), Entry::keep(0), add("c", dims, second), add("d", small_dims, small)};
  const std::vector<GraphEdit> edits{edit};
  const auto written = write_document(*document, edits, target.file("out.onnx"));
  ASSERT_TRUE(written) << written.error().text();
  const auto reopened = Document::open(target.file("out.onnx"));
  ASSERT_TRUE(reopened) << reopened.error().text();
  const auto& list = reopened->main().initializers;
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(doubles(list[0].tensor)->front(), 7);
  EXPECT_EQ(doubles(list[1].tensor)->front(), 1);
  EXPECT_EQ(doubles(list[2].tensor)->front(), 8);
  EXPECT_EQ(doubles(list[2].tensor)->size(), 300U);
  EXPECT_EQ(doubles(list[3].tensor)->front(), 9);
  EXPECT_EQ(list[2].tensor.range, (Range{4096, 1200}));
  EXPECT_EQ(list[3].tensor.storage, TensorStorage::raw);
  const std::string data(list[0].tensor.location);
  EXPECT_TRUE(data.starts_with("out.onnx.") && data.ends_with(".data")) << data;
  EXPECT_EQ(target.list(), (std::vector<std::string>{"out.onnx", data, "w.bin"}));
  EXPECT_EQ(*written, (std::vector<std::string>{target.file("w.bin"), target.file(data)}));
  const std::string bytes = read_all(target.file("out.onnx"));
  const auto repeated = write_document(*document, edits, target.file("out.onnx"));
  ASSERT_TRUE(repeated);
  EXPECT_TRUE(repeated->empty()) << "the same run writes the same files";
  EXPECT_EQ(read_all(target.file("out.onnx")), bytes);
}

TEST(ExternalData, IsRemovedAgainWhereTheModelCannotBeWritten) {
  const TemporaryFolder folder;
  const TemporaryFolder target;
  folder.write("w.bin", floats({1}));
  const auto document = Document::open(folder.write("m.onnx", model_with({external_tensor("a", 1, "w.bin")})));
  ASSERT_TRUE(document);
  target.write("out.onnx/x", "a folder stands where the model should be");
  EXPECT_EQ(write_document(*document, {}, target.file("out.onnx")).error().text(),
            target.file("out.onnx") + ": cannot write: Is a directory");
  EXPECT_EQ(target.list(), std::vector<std::string>{"out.onnx"});
}

// Shape inference reads such integers, and refuses them in another file where a rewrite lets it know more shapes.
TEST(ExternalData, OfIntegersThatMayBeAShapeIsInlinedWhereTheGraphChanges) {
  const TemporaryFolder folder;
  folder.write("w.bin", std::string(16 * 1025, '\1'));
  const auto external = [&](std::string_view name, ir::DataType type, std::int64_t elements) {
    const auto entry = [](std::string_view key, std::string_view value) { return WireWriter().bytes(1, key).bytes(2, value).take(); };
    return WireWriter()
        .varint(1, elements)
        .varint(2, static_cast<int>(type))
        .bytes(8, name)
        .bytes(12, "a text")
        .bytes(13, entry("location", "w.bin"))
        .bytes(13, entry("length", std::to_string(elements * ir::bits(type) / 8)))
        .varint(14, 1)
        .take();
  };
  GraphParts parts;
  parts.inputs = {float_info("x")};
  parts.initializers = {external("ints", ir::DataType::int64, 2), external("many", ir::DataType::int64, 1025),
                        external("floats", ir::DataType::float32, 2)};
  parts.nodes = {testing::node("Relu", "", {"x"}, {"a"}), testing::node("Relu", "", {"a"}, {"b"}),
                 NodeBuilder("Foo", "custom").input("b").input("ints").input("many").input("floats").output("y").message()};
  parts.outputs = {float_info("y")};
  const std::string bytes = testing::model_message(testing::graph_message(parts),
                                                   WireWriter().bytes(8, WireWriter().bytes(1, "custom").varint(2, 1).view()).view());
  const auto document = Document::parse(bytes, DocumentOrigin{"", folder.path()});
  ASSERT_TRUE(document) << document.error().text();
  ir::Arena arena;
  const auto model = lift(*document, arena);
  ASSERT_TRUE(model);
  const Fold fold = [](ir::ValueId) -> Result<ir::Constant> { return fail(ErrorCode::internal, "nothing to fold"); };
  const auto same = lower(*document, *model, arena, model->graph, {}, fold);
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->edits.empty()) << "nothing changes";
  ir::ValueMap replacements{{model->values.at("b"), model->values.at("a")}};
  const auto graph = ir::replace(arena, model->graph, replacements);
  ASSERT_TRUE(graph);
  const auto lowered = lower(*document, *model, arena, *graph, replacements, fold);
  ASSERT_TRUE(lowered) << lowered.error().text();
  const auto written = write_bytes(*document, lowered->edits);
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_NE(written->find("a text", written->find("ints")), std::string::npos) << "the other fields stay";
  const auto reopened = Document::parse(*written, DocumentOrigin{"", folder.path()});
  ASSERT_TRUE(reopened) << reopened.error().text();
  const auto& list = reopened->main().initializers;
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].tensor.storage, TensorStorage::raw);
  EXPECT_EQ(list[0].tensor.bytes, std::string(16, '\1'));
  EXPECT_EQ(list[1].tensor.storage, TensorStorage::external);
  EXPECT_EQ(list[2].tensor.storage, TensorStorage::external);
}

}  // namespace
}  // namespace xflow::onnx_io
