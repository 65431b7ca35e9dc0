// Any bytes are a document or a clean error. A document that nobody edits is written as the same bytes, with the same lists of nodes it is
// read again, and what its nodes hold is decoded or a clean error.
#include "src/onnx/document/device_annotations.h"
#include "src/onnx/document/document.h"
#include "src/onnx/document/document_writer.h"
#include "tests/fuzz/fuzz.h"

namespace {

using xflow::fuzz::expect;
namespace onnx_io = xflow::onnx_io;

template <class T>
void decode(const xflow::Result<T>& result) {
  if (!result) xflow::fuzz::expect_message(result.error().message);
}

void decode(const onnx_io::Document& document) {
  for (const auto& node : document.nodes()) {
    expect(!describe(document, node.id).empty(), "a node can be named in a message");
    for (const auto& attribute : node.attributes) {
      decode(attribute.integer());
      decode(attribute.real());
      decode(attribute.string());
      decode(attribute.integers());
      decode(attribute.reals());
      decode(attribute.strings());
      decode(attribute.declared_type());
      decode(document.tensor(attribute));
      decode(document.tensors(attribute));
    }
  }
  for (const auto& graph : document.graphs())
    for (const auto& initializer : graph.initializers) {
      decode(integers(initializer.tensor));
      decode(doubles(initializer.tensor));
      decode(strings(initializer.tensor));
      decode(document.constant(initializer.tensor));
    }
}

// Annotations that are written can be read, and their configurations are those that were written.
void annotate(const onnx_io::Document& document) {
  const auto annotations = read_device_annotations(document);
  decode(annotations);
  if (!annotations) return;
  const auto bytes = with_device_annotations(document, *annotations);
  decode(bytes);
  if (!bytes) return;
  const auto annotated = onnx_io::Document::parse(*bytes);
  expect(annotated.has_value(), "a document with annotations is read again");
  const auto read = read_device_annotations(*annotated);
  expect(read.has_value() && read->configurations == annotations->configurations, "written configurations are read");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(xflow::fuzz::text_of(data, size));
  const auto document = onnx_io::Document::parse(bytes);
  if (!document) {
    xflow::fuzz::expect_message(document.error().message);
    return 0;
  }
  const auto same = write_bytes(*document, {});
  expect(same.has_value() && *same == bytes, "a document that nobody edits is written as the same bytes");
  decode(*document);
  annotate(*document);

  onnx_io::GraphEdit keep;
  keep.nodes.emplace();
  for (std::uint32_t k = 0; k < document->main().node_count; ++k) keep.nodes->push_back(onnx_io::Entry::keep(k));
  const auto kept = write_bytes(*document, {&keep, 1});
  expect(kept.has_value(), "a document whose nodes are all kept can be written");
  const auto reparsed = onnx_io::Document::parse(*kept);
  expect(reparsed.has_value() && reparsed->nodes().size() == document->nodes().size(), "a document that was written is read again");
  return 0;
}
