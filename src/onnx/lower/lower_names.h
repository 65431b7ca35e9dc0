// Fresh names, and renamed nodes of the document.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

// Generates names that no value or node in any graph of the document has.
class FreshNames {
 public:
  // Names of `around`, unless null, are taken as well.
  FreshNames(const Document& document, const Document* around, std::string prefix);
  // Returns "xflow_Conv_1", "xflow_Conv_2", ... for the prefix "xflow_".
  std::string next(std::string_view hint);

 private:
  std::unordered_set<std::string> taken_;
  std::string prefix_;
  std::size_t count_ = 0;
};

// Returns the NodeProto of `node` with other names of inputs and outputs, as many as it has. Everything else
// is unchanged.
std::string renamed_node(const Node& node, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

}  // namespace xflow::onnx_io
