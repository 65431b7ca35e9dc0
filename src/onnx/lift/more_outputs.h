// Adds outputs to a model.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

// Returns the bytes of the document with these values of the main graph as further outputs, in the order of
// `names`. They have no types, because runtimes infer them. The values must exist and must not be outputs
// yet.
std::string with_outputs(const Document& document, std::span<const std::string_view> names);

}  // namespace xflow::onnx_io
