// Models made by hand for tests, with the wire writer: every byte is under control.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "src/onnx/document/document.h"

namespace xflow::onnx_io::testing {

// Payloads of the messages in a GraphProto.
struct GraphParts {
  std::string name = "g";
  std::vector<std::string> nodes;
  std::vector<std::string> initializers;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> value_infos;
  std::string others;  // encoded fields
};

std::string graph_message(const GraphParts& parts);
// IR version 8, opset 17; `others` are encoded fields.
std::string model_message(std::string_view graph, std::string_view others = {});
std::string model_of(const GraphParts& parts);

// A ValueInfoProto of float32 with known dimensions.
std::string float_info(std::string_view name, std::vector<std::int64_t> dims = {2});
// The same with dimensions as text: numbers and names.
std::string dynamic_info(std::string_view name, const std::vector<std::string>& dims);
// A NodeProto without attributes.
std::string node(std::string_view op_type, std::string_view name, std::vector<std::string> inputs, std::vector<std::string> outputs);
// An If whose branches are `body` and a graph that gives back `condition`.
std::string if_node(std::string_view name, std::string_view condition, std::string_view body, std::string_view output);
// A float32 TensorProto with raw_data.
std::string float_tensor(std::string_view name, const std::vector<float>& values);
// A TensorProto in another file; negative numbers leave the entry out.
std::string external_tensor(std::string_view name, std::int64_t elements, std::string_view location, std::int64_t offset = -1,
                            std::int64_t length = -1);

// A small model with everything that the index knows: bodies, functions, attributes and tensors of many kinds, annotations, metadata.
std::string rich_model();

// The document or a failed expectation with its error.
Document parsed(std::string bytes);
// The text of the error; fails if there is none.
std::string error_of(std::string bytes);

// Everything that the index says but where it lies: names, types, decoded attributes and tensors.
std::string digest(const Document& document);

// The same model written another legal way: fields in another order (elements of a repeated field keep theirs), repeated numbers packed or
// not, unknown fields of all wire types in between, the graph in two pieces, lengths in more bytes than needed.
std::string shuffled(std::string_view model, std::mt19937& random);

// A folder that is removed with its content at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, std::string_view bytes) const;  // the path
  std::vector<std::string> list() const;                                     // names, sorted

 private:
  std::string path_;
};

std::string read_all(const std::string& path);

}  // namespace xflow::onnx_io::testing
