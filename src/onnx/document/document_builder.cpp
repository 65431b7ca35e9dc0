#include "src/onnx/document/document_builder.h"

#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

namespace {

// Field numbers of AttributeProto: name = 1 ... type = 20.
std::string attribute_message(std::string_view name, AttributeType type, std::string_view value) {
  return WireWriter().bytes(1, name).raw(value).varint(20, static_cast<std::int64_t>(type)).take();
}

}  // namespace

NodeBuilder& NodeBuilder::name(std::string_view name) {
  name_ = name;
  return *this;
}

NodeBuilder& NodeBuilder::doc_string(std::string_view text) {
  doc_string_ = text;
  return *this;
}

NodeBuilder& NodeBuilder::input(std::string_view value) {
  inputs_.emplace_back(value);
  return *this;
}

NodeBuilder& NodeBuilder::output(std::string_view value) {
  outputs_.emplace_back(value);
  return *this;
}

NodeBuilder& NodeBuilder::attribute(std::string_view message) {
  attributes_.emplace_back(message);
  return *this;
}

NodeBuilder& NodeBuilder::integer(std::string_view name, std::int64_t value) {
  return attribute(attribute_message(name, AttributeType::integer, WireWriter().varint(3, value).view()));
}

NodeBuilder& NodeBuilder::real(std::string_view name, float value) {
  return attribute(attribute_message(name, AttributeType::real, WireWriter().fixed32(2, value).view()));
}

NodeBuilder& NodeBuilder::string(std::string_view name, std::string_view value) {
  return attribute(attribute_message(name, AttributeType::string, WireWriter().bytes(4, value).view()));
}

NodeBuilder& NodeBuilder::integers(std::string_view name, std::span<const std::int64_t> values) {
  WireWriter writer;
  for (const std::int64_t value : values) writer.varint(8, value);
  return attribute(attribute_message(name, AttributeType::integers, writer.view()));
}

NodeBuilder& NodeBuilder::reals(std::string_view name, std::span<const float> values) {
  WireWriter writer;
  for (const float value : values) writer.fixed32(7, value);
  return attribute(attribute_message(name, AttributeType::reals, writer.view()));
}

NodeBuilder& NodeBuilder::strings(std::string_view name, std::span<const std::string> values) {
  WireWriter writer;
  for (const std::string& value : values) writer.bytes(9, value);
  return attribute(attribute_message(name, AttributeType::strings, writer.view()));
}

NodeBuilder& NodeBuilder::tensor(std::string_view name, std::string_view tensor_message) {
  return attribute(attribute_message(name, AttributeType::tensor, WireWriter().bytes(5, tensor_message).view()));
}

NodeBuilder& NodeBuilder::graph(std::string_view name, std::string_view graph_message) {
  return attribute(attribute_message(name, AttributeType::graph, WireWriter().bytes(6, graph_message).view()));
}

std::string NodeBuilder::message() const {
  WireWriter writer;
  for (const std::string& input : inputs_) writer.bytes(1, input);
  for (const std::string& output : outputs_) writer.bytes(2, output);
  if (!name_.empty()) writer.bytes(3, name_);
  writer.bytes(4, op_type_);
  for (const std::string& attribute : attributes_) writer.bytes(5, attribute);
  if (!doc_string_.empty()) writer.bytes(6, doc_string_);
  if (!domain_.empty()) writer.bytes(7, domain_);
  return writer.take();
}

std::string tensor_header(std::string_view name, ir::DataType type, std::span<const std::int64_t> dims, std::uint64_t raw_size) {
  WireWriter writer;
  for (const std::int64_t dim : dims) writer.varint(1, dim);
  writer.varint(2, static_cast<std::int64_t>(type));
  if (!name.empty()) writer.bytes(8, name);
  return writer.header(9, raw_size).take();
}

std::string tensor_message(std::string_view name, ir::DataType type, std::span<const std::int64_t> dims, std::string_view raw) {
  return tensor_header(name, type, dims, raw.size()).append(raw);
}

std::string value_info_message(std::string_view name, ir::DataType type, std::span<const Dimension> dims) {
  WireWriter shape;
  for (const Dimension& dim : dims) {
    WireWriter message;
    if (dim.kind == Dimension::Kind::value) message.varint(1, dim.value);
    if (dim.kind == Dimension::Kind::parameter) message.bytes(2, dim.parameter);
    shape.bytes(1, message.view());
  }
  const std::string tensor = WireWriter().varint(1, static_cast<std::int64_t>(type)).bytes(2, shape.view()).take();
  return WireWriter().bytes(1, name).bytes(2, WireWriter().bytes(1, tensor).view()).take();
}

std::string inlined_tensor(const TensorView& tensor) {
  constexpr std::uint32_t kRawData = 9;
  constexpr std::uint32_t kExternalData = 13;
  constexpr std::uint32_t kDataLocation = 14;
  WireWriter writer;
  WireReader reader(tensor.payload);
  for (WireField field; reader.next(field);) {
    if (field.number != kRawData && field.number != kExternalData && field.number != kDataLocation) writer.raw(field.whole);
  }
  return writer.bytes(kRawData, tensor.bytes).take();
}

std::string renamed_value_info(std::string_view info, std::string_view name) {
  WireWriter writer;
  writer.bytes(1, name);
  WireReader reader(info);
  for (WireField field; reader.next(field);) {
    if (!field.is_bytes(1)) writer.raw(field.whole);
  }
  return writer.take();
}

}  // namespace xflow::onnx_io
