// Fresh names, and nodes of the document with other names.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

// Hands out names that no value or node of the document has, in any of its graphs.
class FreshNames {
 public:
  // Nor any graph of `around`, unless it is null.
  FreshNames(const Document& document, const Document* around, std::string prefix);
  // With the prefix "xflow_": "xflow_Conv_1", "xflow_Conv_2", ...
  std::string next(std::string_view hint);

 private:
  std::unordered_set<std::string> taken_;
  std::string prefix_;
  std::size_t count_ = 0;
};

// The NodeProto of `node` with other names of inputs and outputs (as many as it has); everything else as it is in the file.
std::string renamed_node(const Node& node, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

}  // namespace xflow::onnx_io
