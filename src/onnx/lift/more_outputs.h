// A model that gives back more of its values.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

// The bytes of the document with these values of the main graph as further outputs, in their order, without types: a runtime infers them.
// The values must exist and be no outputs yet.
std::string with_outputs(const Document& document, std::span<const std::string_view> names);

}  // namespace xflow::onnx_io
