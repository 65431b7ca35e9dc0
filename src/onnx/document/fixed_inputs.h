// Gives dynamic inputs of a model fixed sizes.
#pragma once

#include <xflow/error.h>
#include <xflow/input_shape.h>

#include <span>
#include <string>

#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

// Returns the model with these sizes declared for inputs of its main graph; everything else is copied. An
// input without a declared shape gets one. Errors: invalid_argument for an input that the model does not
// have or that is no tensor, and for sizes that contradict the declared ones.
Result<std::string> with_fixed_inputs(const Document& document, std::span<const InputShape> shapes);

// Replaces a document by the one with these sizes; without any it stays. Errors: as with_fixed_inputs.
Result<void> fix_inputs(Document& document, std::span<const InputShape> shapes);

}  // namespace xflow::onnx_io
