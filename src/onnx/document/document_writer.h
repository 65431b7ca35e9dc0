// Writes a document with edits. Unedited parts are copied byte for byte; only the lengths of the messages
// around an edit change.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/document/output_files.h"
#include "xflow/error.h"

namespace xflow::onnx_io {

// One element of an edited list of a graph: an element of the original or a new message.
struct Entry {
  std::optional<std::uint32_t> kept;  // position of the element in the original list
  std::string message;                // payload of a new message (NodeBuilder, tensor_message, ...)
  // The elements of a TensorProto (tensor_header). They are not copied and must be valid until the document
  // is written.
  std::string_view tail;

  static Entry keep(std::uint32_t position) { return Entry{position, {}, {}}; }
  static Entry add(std::string message, std::string_view tail = {}) { return Entry{std::nullopt, std::move(message), tail}; }
};

// The new lists of one graph. A list that is not set is unchanged, as is everything else in the graph. An
// original element without an entry is dropped. If the kept elements keep their order, each keeps its place
// among the other fields of the graph.
struct GraphEdit {
  GraphId graph{};
  std::optional<std::vector<Entry>> nodes;  // for Document::nodes(graph): NodeProto
  // For Graph::initializers: TensorProto; a function has none.
  std::optional<std::vector<Entry>> initializers;
  // For Graph::sparse_initializers: SparseTensorProto; a function has none.
  std::optional<std::vector<Entry>> sparse_initializers;
  std::optional<std::vector<Entry>> value_infos;  // for Graph::value_infos: ValueInfoProto
};

// Edits of fields that are in none of these lists, and are neither graphs, functions nor attributes.
struct FieldEdits {
  std::optional<std::int64_t> ir_version;  // set: replaces that of the model
  // Fields that are left out, with their tags: views of the document, of fields of the model, of a graph or
  // of a node.
  std::vector<std::string_view> dropped;
  std::map<NodeId, std::string> nodes;  // encoded fields that are added at the end of a kept node
  std::string model;                    // encoded fields that are added at the end of the model
};

// Returns the model after the edits, at most one per graph. Without edits the result is the bytes of the
// document. An edit of a body takes effect if the node that holds the body is kept. Errors: invalid_argument
// for an edit that does not fit the document.
Result<std::string> write_bytes(const Document& document, std::span<const GraphEdit> edits, const FieldEdits& fields = {});

// How write_document writes external data.
struct SaveOptions {
  // A location relative to the folder of the model. If it is not empty, this file gets initializers and
  // constants of 1 KiB and more, and all external data. Constants of local functions stay in the model.
  std::string external_name;
  // External data at this location is written to the result's own file. Used by document_save.cpp.
  std::string moved_location;
};

// Writes the model to a file by ranges, without a copy of the model in memory. Copied weights do not stay in
// memory. The model and its external data are replaced atomically (see OutputFiles).
//
// External data:
// - If the output is in the folder of the document, the files stay where they are.
// - If the output is in another folder, the files that the result refers to are copied to the same locations
//   there, as a reflink if the file system supports it. If a different file is there or the location leads
//   out of the folder, their tensors are written to the result's own file.
// - If the document has external data, or would have 2 GiB or more, elements of new initializers (tails of 1
//   KiB and more) are written to the result's own file as well. It is NAME.HASH.data beside the model, where
//   HASH is a hash of its contents.
// - A model that is written to standard output or a pipe contains its new elements.
//
// Returns the paths of new files of external data. Errors: as write_bytes; io, with the reason of the
// operating system; unsupported for a result of 2 GiB or more, which protobuf cannot read, unless the
// document is as large; invalid_argument, see check_save_options. After an error every file is unchanged.
Result<std::vector<std::string>> write_document(const Document& document, std::span<const GraphEdit> edits, const std::string& path,
                                                const SaveOptions& options = {});

// The same for an output that was begun earlier. An output may be written once.
Result<void> write_document(const Document& document, std::span<const GraphEdit> edits, OutputFiles& files,
                            const SaveOptions& options = {});

// Copies the external data of the document to the folder of the output, so that several results can share
// it.
Result<void> copy_external_files(const Document& document, OutputFiles& files);

// Errors (invalid_argument): the output is external data of the document, or the name of the external data
// cannot be used.
Result<void> check_save_options(const Document& document, const OutputPlace& place, const SaveOptions& options);

}  // namespace xflow::onnx_io
