#include "src/onnx/lift/more_outputs.h"

#include "src/onnx/document/fields.h"
#include "src/onnx/document/wire.h"

namespace xflow::onnx_io {

std::string with_outputs(const Document& document, std::span<const std::string_view> names) {
  constexpr std::uint32_t kName = 1;  // ValueInfoProto.name
  WireWriter graph;
  for (const std::string_view name : names) graph.bytes(graph_fields::kOutput, WireWriter().bytes(kName, name).view());
  // protobuf merges two pieces of a message: the lists of both are concatenated.
  return WireWriter().raw(document.bytes()).bytes(model_fields::kGraph, graph.view()).take();
}

}  // namespace xflow::onnx_io
