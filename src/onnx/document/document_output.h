// The bytes that DocumentWriter makes, as ranges; for the files document_*.cpp alone.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/onnx/document/document_writer.h"

namespace xflow::onnx_io {

// Views of the document, of the edits and of `headers`.
struct OutputBytes {
  std::vector<std::string_view> chunks;
  std::deque<std::string> headers;  // tags and lengths that are new
  std::uint64_t size = 0;
};

Result<OutputBytes> output_bytes(const Document& document, std::span<const GraphEdit> edits);

}  // namespace xflow::onnx_io
