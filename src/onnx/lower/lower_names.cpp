#include "src/onnx/lower/lower_names.h"

#include <utility>

#include "src/onnx/document/fields.h"
#include "src/onnx/document/wire.h"

namespace xflow::onnx_io {

FreshNames::FreshNames(const Document& document, const Document* around, std::string prefix) : prefix_(std::move(prefix)) {
  for (const Document* each : {&document, around}) {
    if (each == nullptr) continue;
    for (const Graph& graph : each->graphs())
      for (const auto& [name, definition] : graph.definitions) taken_.emplace(name);
    for (const Node& node : each->nodes()) taken_.emplace(node.name);
  }
}

std::string FreshNames::next(std::string_view hint) {
  while (true) {
    std::string name = prefix_ + std::string(hint) + "_" + std::to_string(++count_);
    if (taken_.insert(name).second) return name;
  }
}

std::string renamed_node(const Node& node, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  WireWriter writer;
  WireReader reader(node.payload);
  WireField field;
  std::size_t input = 0;
  std::size_t output = 0;
  while (reader.next(field)) {
    if (field.is_bytes(node_fields::kInput) && input < inputs.size()) {
      writer.bytes(node_fields::kInput, inputs[input++]);
    } else if (field.is_bytes(node_fields::kOutput) && output < outputs.size()) {
      writer.bytes(node_fields::kOutput, outputs[output++]);
    } else {
      writer.raw(field.whole);
    }
  }
  return writer.take();
}

}  // namespace xflow::onnx_io
