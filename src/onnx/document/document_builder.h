// Builds messages of a model without protobuf classes: payloads for Entry::add and for attributes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/type.h"
#include "src/onnx/document/document_tensor.h"
#include "src/onnx/document/document_type.h"
#include "src/onnx/document/wire.h"

namespace xflow::onnx_io {

// Builds a NodeProto. Attributes are written in the order of the calls.
class NodeBuilder {
 public:
  // The domain is ONNX's own by default.
  explicit NodeBuilder(std::string_view op_type, std::string_view domain = {}) : op_type_(op_type), domain_(domain) {}

  NodeBuilder& name(std::string_view name);
  NodeBuilder& doc_string(std::string_view text);
  NodeBuilder& input(std::string_view value);  // "" for an omitted optional operand
  NodeBuilder& output(std::string_view value);
  NodeBuilder& integer(std::string_view name, std::int64_t value);
  NodeBuilder& real(std::string_view name, float value);
  NodeBuilder& string(std::string_view name, std::string_view value);
  NodeBuilder& integers(std::string_view name, std::span<const std::int64_t> values);
  NodeBuilder& reals(std::string_view name, std::span<const float> values);
  NodeBuilder& strings(std::string_view name, std::span<const std::string> values);
  NodeBuilder& tensor(std::string_view name, std::string_view tensor_message);
  NodeBuilder& graph(std::string_view name, std::string_view graph_message);
  // Adds an attribute of the original byte for byte; takes Attribute::payload.
  NodeBuilder& attribute(std::string_view attribute_message);

  std::string message() const;

 private:
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
  std::vector<std::string> attributes_;
  std::string name_;
  std::string doc_string_;
  std::string op_type_;
  std::string domain_;
};

// Returns a TensorProto with raw_data. `raw` has the layout of ONNX raw_data.
std::string tensor_message(std::string_view name, ir::DataType type, std::span<const std::int64_t> dims, std::string_view raw);

// Returns the same message without its last `raw_size` bytes, the elements. Pass the elements to Entry::add
// as the tail.
std::string tensor_header(std::string_view name, ir::DataType type, std::span<const std::int64_t> dims, std::uint64_t raw_size);

// Returns the TensorProto of external data with its elements in raw_data. Everything else is kept.
std::string inlined_tensor(const TensorView& tensor);

// Returns a ValueInfoProto of a tensor with a shape.
std::string value_info_message(std::string_view name, ir::DataType type, std::span<const Dimension> dims);

// Returns a ValueInfoProto with another name. `info` is ValueInfo::payload; everything but the name is kept.
std::string renamed_value_info(std::string_view info, std::string_view name);

}  // namespace xflow::onnx_io
