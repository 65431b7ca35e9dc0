// Visits and replaces the tensors of a model after edits: initializers, attributes, bodies, sparse tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/onnx/document/document_writer.h"

namespace xflow::onnx_io {

// The owner of a tensor.
enum class TensorPlace : std::uint8_t {
  initializer,
  constant,  // attribute `value` of an ONNX Constant outside local functions
  other,     // another attribute, or the values or indices of a sparse tensor
};

// Gets one TensorProto: `message`, followed by `tail` if an Entry stores its elements separately. Returns
// the message that replaces it, or nothing to keep it. Both views are valid as long as the document and the
// edits.
using RewriteTensor = std::function<Result<std::optional<std::string>>(std::string_view message, std::string_view tail, TensorPlace place)>;

// Returns edits that do the same as `edits` and also replace tensors by `rewrite`. `rewrite` sees each
// tensor of the result once, in an order determined by the document and the edits. Errors: of `rewrite`;
// unsupported for a replaced tensor in an attribute of a node that also has bodies; limit for bodies that
// are nested too deep in a new node.
Result<std::vector<GraphEdit>> rewrite_tensors(const Document& document, std::span<const GraphEdit> edits, const RewriteTensor& rewrite);

}  // namespace xflow::onnx_io
