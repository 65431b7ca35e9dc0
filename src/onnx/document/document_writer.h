// Writes a document with edits: what is kept is copied byte for byte, only the lengths of the messages around an edit are new.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/document/output_files.h"
#include "xflow/error.h"

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

// How write_document writes external data.
struct SaveOptions {
  // A location relative to the folder of the model: initializers and constants of 1 KiB and more, and all external data, go to this file.
  // Constants of local functions stay in the model.
  std::string external_name;
  // External data at this location goes to the result's own file (for document_save.cpp).
  std::string moved_location;
};

// The same to a file, by ranges: no copy of the model is made in memory, and weights that are copied do not stay there. The model and its
// external data are replaced in one step (see OutputFiles).
//
// External data stays where it is if the file lies in the folder of the document. In another folder, the files that the result still
// refers to are copied to the same locations there (as a reflink where the file system has these); where that is not possible, since a
// different file is there or the location leads out of the folder, their tensors go to the result's own file. Where the document has
// external data, or would have 2 GiB or more, elements of new initializers (tails of 1 KiB and more) go to the result's own file as well:
// NAME.HASH.data beside the model, named after its content. A model that goes to standard output or a pipe has its new elements inside.
//
// Gives back the paths of files of external data that were not there before. Errors: as write_bytes; io, with the reason of the operating
// system; unsupported for a result of 2 GiB or more, which protobuf cannot read, unless the document itself is as large;
// invalid_argument, see check_save_options. After an error every file is as it was.
Result<std::vector<std::string>> write_document(const Document& document, std::span<const GraphEdit> edits, const std::string& path,
                                                const SaveOptions& options = {});

// The same where the files of the output were begun before. They may be written once.
Result<void> write_document(const Document& document, std::span<const GraphEdit> edits, OutputFiles& files,
                            const SaveOptions& options = {});

// Copies the external data that the document itself would need beside the output, so that several results can share it.
Result<void> copy_external_files(const Document& document, OutputFiles& files);

// Errors (invalid_argument): the output is external data of the document, or the name of the external data is none that can be used.
Result<void> check_save_options(const Document& document, const OutputPlace& place, const SaveOptions& options);

}  // namespace xflow::onnx_io
