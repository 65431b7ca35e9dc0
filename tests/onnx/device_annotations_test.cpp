// Multi-device configurations are read as they were written, and everything around them keeps its bytes.
#include "src/onnx/document/device_annotations.h"

#include <gtest/gtest.h>

#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/wire.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

using testing::parsed;

// Everything that annotations can contain.
DeviceAnnotations full(std::vector<NodeId> nodes) {
  DeviceAnnotations all;
  all.configurations = {{"pair", 2, {"left", "right"}}, {"nothing", std::nullopt}};
  const ShardingSpec split{
      "x", {-1, 2}, {{-1, {0, 1}}, {7, {}}}, {{-2, {{8, std::nullopt, 2}}}, {1, {{std::nullopt, "n", 4}, {{}, {}, {}}}}}};
  for (const NodeId node : nodes) all.nodes.push_back({node, {{"pair", {split, {"y", {0}}}, -3}, {"nothing"}}});
  return all;
}

// A chain of these nodes from x to `output`.
std::string chain(std::vector<std::string> nodes, const std::string& output = "y") {
  testing::GraphParts parts;
  parts.nodes = std::move(nodes);
  parts.inputs = {testing::float_info("x")};
  parts.outputs = {testing::float_info(output)};
  return testing::model_of(parts);
}

std::vector<NodeId> all_nodes(const Document& document) {
  std::vector<NodeId> nodes;
  for (const Node& node : document.nodes()) nodes.push_back(node.id);
  return nodes;
}

TEST(DeviceAnnotations, OfAnUnannotatedModelAreEmpty) {
  const auto read = read_device_annotations(parsed(testing::rich_model()));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->empty());
}

TEST(DeviceAnnotations, AreReadAsTheyWereWrittenInAllGraphs) {
  const Document document = parsed(testing::rich_model());
  ASSERT_GT(document.graphs().size(), 3U);  // bodies and functions
  ASSERT_FALSE(document.model().functions.empty());
  const DeviceAnnotations written = full(all_nodes(document));
  const auto bytes = with_device_annotations(document, written);
  ASSERT_TRUE(bytes) << bytes.error().text();
  const Document annotated = parsed(*bytes);
  EXPECT_EQ(annotated.model().ir_version, kFirstWithDevices);
  EXPECT_EQ(testing::digest(annotated).substr(2), testing::digest(document).substr(1));  // without the IR version
  const auto read = read_device_annotations(annotated);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, written);
}

TEST(DeviceAnnotations, AreReadFromAnyLegalEncoding) {
  const Document document = parsed(testing::rich_model());
  const DeviceAnnotations written = full(all_nodes(document));
  const auto bytes = with_device_annotations(document, written);
  ASSERT_TRUE(bytes);
  std::mt19937 random(7);
  for (int k = 0; k < 20; ++k) {
    const auto read = read_device_annotations(parsed(testing::shuffled(*bytes, random)));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->configurations, written.configurations);
    EXPECT_EQ(read->nodes, written.nodes);
  }
}

TEST(DeviceAnnotations, ReplaceThoseOfTheSameConfigurationAlone) {
  const Document document = parsed(testing::rich_model());
  const std::vector<NodeId> nodes = all_nodes(document);
  DeviceAnnotations first = full(nodes);
  const Document once = parsed(*with_device_annotations(document, first));
  const DeviceAnnotations second{{{"pair", 1}}, {{nodes[0], {{"pair", {{"z", {0}}}}}}}};
  const auto bytes = with_device_annotations(once, second);
  ASSERT_TRUE(bytes) << bytes.error().text();
  const auto read = read_device_annotations(parsed(*bytes));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->configurations, (std::vector<DeviceConfiguration>{{"nothing", std::nullopt}, {"pair", 1}}));
  ASSERT_EQ(read->nodes.size(), nodes.size());
  EXPECT_EQ(read->nodes[0].annotations, (std::vector<NodeAnnotation>{{"nothing"}, {"pair", {{"z", {0}}}}}));
  EXPECT_EQ(read->nodes[1].annotations, (std::vector<NodeAnnotation>{{"nothing"}}));
}

TEST(DeviceAnnotations, LeaveTheOtherBytesAsTheyAre) {
  const std::string node = testing::node("Relu", "r", {"x"}, {"y"}) + WireWriter().bytes(77, "unknown").view();
  const std::string other = testing::node("Exp", "e", {"y"}, {"z"});
  const auto model_with = [&](const std::string& first, std::string_view others) { return chain({first, other}, "z").append(others); };
  const Document document = parsed(model_with(node, ""));
  const auto bytes = with_device_annotations(document, {{{"one", 1}}, {{document.nodes()[0].id, {{"one"}}}}});
  ASSERT_TRUE(bytes);
  const std::string annotated = node + WireWriter().bytes(10, WireWriter().bytes(1, "one").view()).view();
  std::string expected = model_with(annotated, WireWriter().bytes(26, WireWriter().bytes(1, "one").varint(2, 1).view()).view());
  ASSERT_EQ(expected.substr(0, 2), std::string("\x08\x08"));  // the IR version is the first field
  expected[1] = '\x0b';
  EXPECT_EQ(*bytes, expected);
}

TEST(DeviceAnnotations, KeepALaterIrVersion) {
  std::string model = chain({testing::node("Relu", "r", {"x"}, {"y"})});
  model[1] = '\x0d';
  const auto bytes = with_device_annotations(parsed(model), {{{"one", 1}}, {}});
  ASSERT_TRUE(bytes);
  EXPECT_EQ(parsed(*bytes).model().ir_version, 13);
}

TEST(DeviceAnnotations, AreNotAddedToIrVersionsWithoutDefaults) {
  std::string model = chain({testing::node("Relu", "r", {"x"}, {"y"})});
  model[1] = '\x03';
  const auto bytes = with_device_annotations(parsed(model), {{{"one", 1}}, {}});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::unsupported);
  EXPECT_EQ(bytes.error().message,
            "the model has IR version 3, where initializers that are inputs are constants; convert it to IR version 4 or later first");
}

TEST(DeviceAnnotations, SayWhereTheyAreDamaged) {
  const auto error_of = [](std::string_view annotation) {
    const std::string node = testing::node("Relu", "r", {"x"}, {"y"}) + WireWriter().bytes(10, annotation).view();
    const auto read = read_device_annotations(parsed(chain({node}, "y")));
    return read ? "none" : read.error().message;
  };
  const std::string cut =
      "\x0a\x05"
      "ab";  // a name of 5 bytes
  EXPECT_EQ(error_of(cut), "damaged model: node 'r' (Relu): a device configuration has at byte 27 a field of 5 bytes where 2 are left");
  EXPECT_EQ(error_of(WireWriter().bytes(2, cut).view()),
            "damaged model: node 'r' (Relu): a sharding spec has at byte 29 a field of 5 bytes where 2 are left");
  EXPECT_EQ(error_of(WireWriter().bytes(2, WireWriter().bytes(3, cut).view()).view()),
            "damaged model: node 'r' (Relu): a device group has at byte 31 a field of 5 bytes where 2 are left");
  EXPECT_EQ(error_of(WireWriter().bytes(2, WireWriter().bytes(4, WireWriter().bytes(2, cut).view()).view()).view()),
            "damaged model: node 'r' (Relu): a sharded dimension has at byte 33 a field of 5 bytes where 2 are left");
  EXPECT_EQ(error_of(WireWriter().bytes(2, WireWriter().bytes(2, "\x80").view()).view()),
            "damaged model: node 'r' (Relu): a sharding spec has at byte 29 numbers that are truncated");
}

}  // namespace
}  // namespace xflow::onnx_io
