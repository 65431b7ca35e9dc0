// Writes a document with edits: what is kept is copied byte for byte, only the lengths of the messages around an edit are new.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/onnx/document.h"
#include "xflow/result.h"

namespace xflow::onnx_io {

// One element of a list of a graph after an edit: one of the original, or a new message.
struct Entry {
  std::optional<std::uint32_t> kept;  // its position in the original list of that graph
  std::string message;                // otherwise the payload of the new message (NodeBuilder, tensor_message, ...)
  std::string_view tail;              // of a TensorProto (tensor_header): its elements, not copied; valid until the document is written

  static Entry keep(std::uint32_t position) { return Entry{position, {}, {}}; }
  static Entry add(std::string message, std::string_view tail = {}) { return Entry{std::nullopt, std::move(message), tail}; }
};

// The new lists of one graph. A list that is not set stays as it is, and so does everything else in the graph. An element that is neither
// kept nor added is dropped. Where the kept elements stay in their order, each stays where it was among the other fields of the graph.
struct GraphEdit {
  GraphId graph{};
  std::optional<std::vector<Entry>> nodes;                // of Document::nodes(graph), NodeProto
  std::optional<std::vector<Entry>> initializers;         // of Graph::initializers, TensorProto; a function has none
  std::optional<std::vector<Entry>> sparse_initializers;  // of Graph::sparse_initializers, SparseTensorProto; a function has none
  std::optional<std::vector<Entry>> value_infos;          // of Graph::value_infos, ValueInfoProto
};

// The model after the edits, at most one for each graph; without edits the bytes of the document. Edits of a body take effect where the
// node that holds it is kept. Errors: invalid_argument for an edit that does not fit the document.
Result<std::string> write_bytes(const Document& document, std::span<const GraphEdit> edits);

// The same to a file, by ranges: no copy of the model is made in memory. The file is replaced in one step (see write_file).
//
// External data: if the file lies in another folder than the document, the files that the result still refers to are copied beside it; a
// different file of the same name there is an error, and nothing is written. Where the document has external data, or would have 2 GiB or
// more, elements of new initializers (tails of 1 KiB and more) go to a file NAME.HASH.data beside it, named after its content.
//
// Gives back the paths of files of external data that were not there before. Errors: as write_bytes; io, with the reason of the operating
// system; unsupported for a result of 2 GiB or more, which protobuf cannot read, unless the document itself is as large. After an error
// every file is as it was.
Result<std::vector<std::string>> write_document(const Document& document, std::span<const GraphEdit> edits, const std::string& path);

}  // namespace xflow::onnx_io
