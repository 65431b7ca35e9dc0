#include "tests/onnx/model_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"

namespace xflow::onnx_io::testing {

using ir::DataType;

std::string graph_message(const GraphParts& parts) {
  WireWriter writer;
  for (const std::string& message : parts.nodes) writer.bytes(1, message);
  writer.bytes(2, parts.name);
  for (const std::string& message : parts.initializers) writer.bytes(5, message);
  for (const std::string& message : parts.inputs) writer.bytes(11, message);
  for (const std::string& message : parts.outputs) writer.bytes(12, message);
  for (const std::string& message : parts.value_infos) writer.bytes(13, message);
  return writer.raw(parts.others).take();
}

std::string model_message(std::string_view graph, std::string_view others) {
  return WireWriter().varint(1, 8).bytes(8, WireWriter().varint(2, 17).view()).bytes(7, graph).raw(others).take();
}

std::string model_of(const GraphParts& parts) { return model_message(graph_message(parts)); }

std::string float_info(std::string_view name, std::vector<std::int64_t> dims) {
  std::vector<Dimension> shape;
  for (const std::int64_t dim : dims) shape.push_back(Dimension{Dimension::Kind::value, dim, {}});
  return value_info_message(name, DataType::float32, shape);
}

std::string dynamic_info(std::string_view name, const std::vector<std::string>& dims) {
  std::vector<Dimension> shape;
  for (const std::string& dim : dims) {
    const bool is_number = dim.find_first_not_of("0123456789") == std::string::npos;
    shape.push_back(is_number ? Dimension{Dimension::Kind::value, std::stoll(dim), {}} : Dimension{Dimension::Kind::parameter, 0, dim});
  }
  return value_info_message(name, ir::DataType::float32, shape);
}

std::string node(std::string_view op_type, std::string_view name, std::vector<std::string> inputs, std::vector<std::string> outputs) {
  NodeBuilder builder(op_type);
  builder.name(name);
  for (const std::string& input : inputs) builder.input(input);
  for (const std::string& output : outputs) builder.output(output);
  return builder.message();
}

std::string if_node(std::string_view name, std::string_view condition, std::string_view body, std::string_view output) {
  GraphParts otherwise;
  otherwise.name = "otherwise";
  otherwise.outputs = {float_info(condition)};
  return NodeBuilder("If")
      .name(name)
      .input(condition)
      .output(output)
      .graph("then_branch", body)
      .graph("else_branch", graph_message(otherwise))
      .message();
}

std::string float_tensor(std::string_view name, const std::vector<float>& values) {
  const std::vector<std::int64_t> dims{static_cast<std::int64_t>(values.size())};
  std::string raw(values.size() * sizeof(float), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return tensor_message(name, DataType::float32, dims, raw);
}

std::string external_tensor(std::string_view name, std::int64_t elements, std::string_view location, std::int64_t offset,
                            std::int64_t length) {
  WireWriter writer;
  writer.varint(1, elements).varint(2, 1).bytes(8, name);
  const auto entry = [&](std::string_view key, std::string_view value) {
    writer.bytes(13, WireWriter().bytes(1, key).bytes(2, value).view());
  };
  entry("location", location);
  if (offset >= 0) entry("offset", std::to_string(offset));
  if (length >= 0) entry("length", std::to_string(length));
  return writer.varint(14, 1).take();
}

namespace {

std::string rich_body() {
  GraphParts inner;
  inner.name = "inner";
  inner.nodes = {node("Add", "inner_add", {"x", "h"}, {"inner_out"})};
  inner.outputs = {float_info("inner_out")};
  GraphParts body;
  body.name = "body";
  body.nodes = {node("Neg", "", {"x"}, {"h"}), if_node("inner_if", "c", graph_message(inner), "body_out")};
  body.outputs = {float_info("body_out")};
  body.initializers = {float_tensor("body_weight", {1, 2})};
  return graph_message(body);
}

std::string rich_function() {
  const std::string opset = WireWriter().bytes(1, "").varint(2, 17).take();
  return WireWriter()
      .bytes(1, "Double")
      .bytes(4, "a")
      .bytes(5, "b")
      .bytes(6, "alpha")
      .bytes(7, NodeBuilder("Add").input("a").input("a").output("b").message())
      .bytes(8, "twice")
      .bytes(9, opset)
      .bytes(10, "custom")
      .bytes(11, WireWriter().bytes(1, "beta").varint(20, 2).varint(3, 7).view())
      .bytes(12, float_info("b"))
      .take();
}

std::string rich_node() {
  const std::vector<std::int64_t> integers{1, -2, 300};
  const std::vector<float> reals{0.5F, -1.25F};
  const std::vector<std::string> words{"one", "two"};
  return NodeBuilder("Everything", "custom")
      .name("all")
      .doc_string("a node with all kinds of attributes")
      .input("x")
      .input("")
      .input("w")
      .output("y")
      .output("")
      .integer("axis", -1)
      .real("epsilon", 1e-5F)
      .string("mode", "linear")
      .integers("pads", integers)
      .reals("scales", reals)
      .strings("words", words)
      .tensor("value", float_tensor("", {3, 4, 5}))
      .message();
}

std::string typed_tensor(std::string_view name, DataType type, std::int64_t elements, std::string_view encoded) {
  return WireWriter().varint(1, elements).varint(2, static_cast<int>(type)).raw(encoded).bytes(8, name).take();
}

}  // namespace

std::string rich_model() {
  const std::vector<std::int64_t> big{1, 300, -1};
  const std::vector<Dimension> dynamic{{Dimension::Kind::value, -1, {}}, {Dimension::Kind::parameter, 0, "N"}, {}};
  GraphParts parts;
  parts.name = "rich";
  parts.nodes = {rich_node(), if_node("branch", "c", rich_body(), "z"), NodeBuilder("Double", "custom").input("z").output("t").message()};
  parts.initializers = {
      float_tensor("w", {1.5F, -2}),
      typed_tensor("f", DataType::float32, 2, WireWriter().fixed32(4, 1.5F).fixed32(4, 2.5F).view()),
      typed_tensor("d", DataType::float64, 2, WireWriter().fixed64(10, 0.1).fixed64(10, -7).view()),
      typed_tensor("i", DataType::int64, 3, WireWriter().packed_varints(7, big).view()),
      typed_tensor("h", DataType::float16, 1, WireWriter().varint(5, 0x3c00).view()),
      typed_tensor("b", DataType::boolean, 2, WireWriter().varint(5, 1).varint(5, 0).view()),
      typed_tensor("u", DataType::uint64, 1, WireWriter().varint(11, 9).view()),
      typed_tensor("s", DataType::string, 2, WireWriter().bytes(6, "a").bytes(6, "").view()),
  };
  parts.inputs = {float_info("x"), value_info_message("c", DataType::boolean, {}), value_info_message("free", DataType::int8, dynamic)};
  parts.outputs = {float_info("y"), float_info("t")};
  parts.value_infos = {float_info("z", {2, 3})};
  const std::string pair = WireWriter().bytes(1, "SCALE_TENSOR").bytes(2, "w").take();
  parts.others = WireWriter()
                     .bytes(10, "doc of the graph")
                     .bytes(14, WireWriter().bytes(1, "x").bytes(2, pair).view())
                     .bytes(15, WireWriter().bytes(1, float_tensor("sparse", {1})).bytes(2, float_tensor("", {0})).varint(3, 9).view())
                     .take();
  const std::string others = WireWriter()
                                 .bytes(2, "xflow tests")
                                 .bytes(3, "1")
                                 .bytes(8, WireWriter().bytes(1, "custom").varint(2, 1).view())
                                 .bytes(14, WireWriter().bytes(1, "author").bytes(2, "me").view())
                                 .bytes(25, rich_function())
                                 .take();
  return model_message(graph_message(parts), others);
}

Document parsed(std::string bytes) {
  auto document = Document::parse(std::move(bytes));
  if (!document) {
    ADD_FAILURE() << document.error().text();
    return *Document::parse(model_of({}));
  }
  return *std::move(document);
}

std::string error_of(std::string bytes) {
  const auto document = Document::parse(std::move(bytes));
  if (!document) {
    EXPECT_EQ(document.error().code, ErrorCode::unreadable);
    return document.error().text();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "xflow_test_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot make a folder " << name;
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, std::string_view bytes) const {
  std::filesystem::create_directories(std::filesystem::path(file(name)).parent_path());
  std::ofstream(file(name), std::ios::binary) << bytes;
  return file(name);
}

std::vector<std::string> TemporaryFolder::list() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace xflow::onnx_io::testing
