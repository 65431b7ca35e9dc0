// The output of write_bytes and write_document as byte ranges. Private to document_*.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/onnx/document/document_writer.h"

namespace xflow::onnx_io {

// The chunks are views of the document, of the edits and of `headers`.
struct OutputBytes {
  std::vector<std::string_view> chunks;
  std::deque<std::string> headers;  // new tags and lengths
  std::uint64_t size = 0;
};

Result<OutputBytes> output_bytes(const Document& document, std::span<const GraphEdit> edits, const FieldEdits& fields = {});

}  // namespace xflow::onnx_io
