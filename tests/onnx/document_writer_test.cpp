#include "src/onnx/document/document_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "src/support/file.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

using testing::float_info;
using testing::float_tensor;
using testing::graph_message;
using testing::GraphParts;
using testing::model_message;
using testing::model_of;
using testing::node;
using testing::parsed;
using testing::read_all;
using testing::rich_model;
using testing::TemporaryFolder;

std::string edited(const Document& document, const GraphEdit& edit) {
  const auto bytes = write_bytes(document, std::vector<GraphEdit>{edit});
  return bytes ? *bytes : "error: " + bytes.error().text();
}

// Keeps everything, and says so for every list of every graph.
std::vector<GraphEdit> keep_all(const Document& document) {
  const auto all = [](std::size_t size) {
    std::vector<Entry> entries;
    for (std::uint32_t i = 0; i < size; ++i) entries.push_back(Entry::keep(i));
    return entries;
  };
  std::vector<GraphEdit> edits;
  for (const Graph& graph : document.graphs()) {
    GraphEdit edit;
    edit.graph = graph.id;
    edit.nodes = all(graph.node_count);
    edit.value_infos = all(graph.value_infos.size());
    if (graph.kind != GraphKind::function) edit.initializers = all(graph.initializers.size());
    if (graph.kind != GraphKind::function) edit.sparse_initializers = all(graph.sparse_initializers.size());
    edits.push_back(std::move(edit));
  }
  return edits;
}

TEST(DocumentWriter, GivesBackTheBytesWhereAllIsKept) {
  const std::string model = rich_model();
  const Document document = parsed(model);
  EXPECT_EQ(*write_bytes(document, keep_all(document)), model);
}

TEST(DocumentWriter, RewritesOnlyLengthsOfAShuffledModel) {
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    const std::string model = testing::shuffled(rich_model(), random);
    const Document document = parsed(model);
    // Lengths around an edit are written in as few bytes as they need, everything else as it was: doing it twice changes nothing more.
    const std::string once = *write_bytes(document, keep_all(document));
    const Document reparsed = parsed(once);
    EXPECT_EQ(testing::digest(reparsed), testing::digest(document));
    EXPECT_EQ(*write_bytes(reparsed, keep_all(reparsed)), once);
  }
}

GraphParts three_nodes() {
  GraphParts parts;
  parts.nodes = {node("A", "a", {"x"}, {"y"}), node("B", "b", {"y"}, {"z"}), node("C", "c", {"z"}, {"w"})};
  parts.initializers = {float_tensor("i", {1}), float_tensor("j", {2})};
  parts.inputs = {float_info("x")};
  parts.outputs = {float_info("w")};
  parts.value_infos = {float_info("y"), float_info("z")};
  parts.others = WireWriter().bytes(16, WireWriter().bytes(1, "k").bytes(2, "v").view()).varint(1000, 5).take();
  return parts;
}

TEST(DocumentWriter, ReplacesNodesInTheirPlace) {
  const Document document = parsed(model_of(three_nodes()));
  GraphEdit edit;
  edit.nodes = std::vector<Entry>{Entry::keep(0), Entry::add(node("N", "n", {"y"}, {"m"})), Entry::add(node("M", "m", {"m"}, {"z"})),
                                  Entry::keep(2)};
  GraphParts expected = three_nodes();
  expected.nodes = {expected.nodes[0], node("N", "n", {"y"}, {"m"}), node("M", "m", {"m"}, {"z"}), expected.nodes[2]};
  EXPECT_EQ(edited(document, edit), model_of(expected));
}

TEST(DocumentWriter, AddsAtBothEnds) {
  const Document document = parsed(model_of(three_nodes()));
  const std::string first = node("First", "", {}, {"f"});
  const std::string last = node("Last", "", {"w"}, {"l"});
  GraphEdit edit;
  edit.nodes = std::vector<Entry>{Entry::add(first), Entry::keep(0), Entry::keep(1), Entry::keep(2), Entry::add(last)};
  GraphParts expected = three_nodes();
  expected.nodes.insert(expected.nodes.begin(), first);
  expected.nodes.push_back(last);
  EXPECT_EQ(edited(document, edit), model_of(expected));
}

TEST(DocumentWriter, WritesNodesInTheOrderOfTheEdit) {
  const Document document = parsed(model_of(three_nodes()));
  GraphEdit edit;
  edit.nodes = std::vector<Entry>{Entry::keep(2), Entry::keep(0), Entry::keep(1)};
  GraphParts expected = three_nodes();
  expected.nodes = {expected.nodes[2], expected.nodes[0], expected.nodes[1]};
  EXPECT_EQ(edited(document, edit), model_of(expected));
}

TEST(DocumentWriter, DropsAndAddsInitializersAndValueInfos) {
  const Document document = parsed(model_of(three_nodes()));
  const std::string tensor = float_tensor("new", {4, 5});
  GraphEdit edit;
  edit.initializers = std::vector<Entry>{Entry::keep(1), Entry::add(tensor.substr(0, 6), std::string_view(tensor).substr(6))};
  edit.value_infos = std::vector<Entry>{Entry::keep(1)};
  GraphParts expected = three_nodes();
  expected.initializers = {expected.initializers[1], tensor};
  expected.value_infos = {expected.value_infos[1]};
  EXPECT_EQ(edited(document, edit), model_of(expected));
}

TEST(DocumentWriter, CanEmptyListsAndFillEmptyOnes) {
  GraphParts parts = three_nodes();
  parts.initializers = {};
  const Document document = parsed(model_of(parts));
  GraphEdit edit;
  edit.nodes = std::vector<Entry>{};
  edit.value_infos = std::vector<Entry>{};
  edit.initializers = std::vector<Entry>{Entry::add(float_tensor("w", {1}))};
  const Document result = parsed(edited(document, edit));
  EXPECT_EQ(result.nodes().size(), 0U);
  EXPECT_EQ(result.main().value_infos.size(), 0U);
  ASSERT_EQ(result.main().initializers.size(), 1U);
  EXPECT_EQ(result.main().initializers[0].tensor.name, "w");
}

TEST(DocumentWriter, EditsBodiesAndFunctions) {
  const Document document = parsed(rich_model());
  std::vector<GraphEdit> edits;
  for (const Graph& graph : document.graphs()) {
    if (graph.name != "inner" && graph.kind != GraphKind::function) continue;
    GraphEdit edit;
    edit.graph = graph.id;
    const std::string_view output = document.nodes(graph.id)[0].outputs[0];
    const std::string_view input = document.nodes(graph.id)[0].inputs[0];
    edit.nodes = std::vector<Entry>{Entry::add(NodeBuilder("Identity").name("new").input(input).output(output).message())};
    edits.push_back(std::move(edit));
  }
  ASSERT_EQ(edits.size(), 2U);
  std::string expected = testing::digest(document);
  const auto replace = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(expected.find(from), std::string::npos) << from;
    expected.replace(expected.find(from), from.size(), to);
  };
  replace("  node inner_add .Add\n    x,h,\n", "  node new .Identity\n    x,\n");
  replace("    x,h,c,\n", "    x,c,\n");  // what the inner If captures
  replace("  node  .Add\n    a,a,\n", "  node new .Identity\n    a,\n");
  EXPECT_EQ(testing::digest(parsed(*write_bytes(document, edits))), expected);
}

TEST(DocumentWriter, RefusesEditsThatDoNotFit) {
  const Document document = parsed(rich_model());
  GraphEdit edit;
  edit.nodes = std::vector<Entry>{Entry::keep(3)};
  EXPECT_EQ(edited(document, edit), "error: an edit keeps element 3 of the nodes of graph 0, which has 3");
  edit.nodes = std::vector<Entry>{Entry::keep(1), Entry::keep(1)};
  EXPECT_EQ(edited(document, edit), "error: an edit keeps element 1 of the nodes of graph 0 twice");
  edit = {};
  edit.graph = GraphId{99};
  EXPECT_EQ(edited(document, edit), "error: an edit of graph 99, which does not exist");
  edit.graph = document.model().functions[0].body;
  edit.initializers = std::vector<Entry>{};
  EXPECT_EQ(edited(document, edit), "error: cannot edit the initializers of graph 1: a function has none");
  const std::vector<GraphEdit> two(2);
  EXPECT_EQ(write_bytes(document, two).error().text(), "two edits of graph 0");
}

TEST(WriteDocument, WritesTheSameAsInMemoryAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const Document document = parsed(rich_model());
  const auto written = write_document(document, keep_all(document), folder.file("out.onnx"));
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_EQ(read_all(folder.file("out.onnx")), rich_model());
  EXPECT_EQ(folder.list(), std::vector<std::string>{"out.onnx"});
}

TEST(WriteDocument, MayReplaceTheFileThatItReads) {
  const TemporaryFolder folder;
  const std::string path = folder.write("m.onnx", rich_model());
  const auto document = Document::open(path);
  GraphEdit edit;
  edit.value_infos = std::vector<Entry>{};
  ASSERT_TRUE(write_document(*document, std::vector<GraphEdit>{edit}, path));
  EXPECT_EQ(document->bytes(), rich_model()) << "the mapping is of the old file";
  EXPECT_EQ(Document::open(path)->main().value_infos.size(), 0U);
}

TEST(WriteFile, KeepsPermissionsAndFollowsALink) {
  const TemporaryFolder folder;
  const std::string path = folder.write("real", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  std::filesystem::create_symlink("real", folder.file("link"));
  const std::string_view chunk = "new";
  ASSERT_TRUE(write_file(folder.file("link"), std::span(&chunk, 1)));
  EXPECT_EQ(read_all(path), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST(WriteFile, SaysWhyItCannotWrite) {
  const TemporaryFolder folder;
  const std::string_view chunk = "text";
  const auto error = [&](const std::string& path) { return write_file(path, std::span(&chunk, 1)).error().text(); };
  EXPECT_EQ(error(folder.file("no/out")), folder.file("no/out") + ": cannot write: No such file or directory");
  folder.write("file", "");
  EXPECT_EQ(error(folder.file("file/out")), folder.file("file/out") + ": cannot write: Not a directory");
  EXPECT_EQ(error(folder.path()), folder.path() + ": cannot write: Is a directory");
  EXPECT_EQ(error("/dev/full"), "/dev/full: cannot write: No space left on device");
  EXPECT_EQ(folder.list(), std::vector<std::string>{"file"});
}

TEST(WriteFile, NeedsAWritableFolder) {
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const bool is_root = ::geteuid() == 0;  // who may write everywhere
  if (is_root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string_view chunk = "text";
  const auto written = write_file(folder.file("out"), std::span(&chunk, 1));
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().text(), folder.file("out") + ": cannot write: Permission denied");
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
}

TEST(WriteFile, LeavesTheOldFileWhereTheNewOneDoesNotFit) {
  const TemporaryFolder folder;
  const std::string path = folder.write("out", "old");
  const std::string big(1 << 20, 'x');
  const std::string_view chunk = big;
  // A limit on the size of files stands for a full disk: the write stops in the middle.
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = old;
  small.rlim_cur = 4096;
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto written = write_file(path, std::span(&chunk, 1));
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::io);
  EXPECT_EQ(written.error().text(), path + ": cannot write: File too large");
  EXPECT_EQ(read_all(path), "old");
  EXPECT_EQ(folder.list(), std::vector<std::string>{"out"}) << "no temporary file is left";
}

TEST(WriteFile, WritesManyChunksOfAllSizes) {
  const TemporaryFolder folder;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < 300; ++i) parts.emplace_back(i % 50 == 0 ? 300000 + i : i, static_cast<char>('a' + i % 26));
  const std::vector<std::string_view> chunks(parts.begin(), parts.end());
  std::string expected;
  for (const std::string& part : parts) expected += part;
  ASSERT_TRUE(write_file(folder.file("out"), chunks));
  EXPECT_EQ(read_all(folder.file("out")), expected);
}

}  // namespace
}  // namespace xflow::onnx_io
