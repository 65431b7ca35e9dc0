// Visits and replaces the tensors of a model after edits, wherever they are: initializers, attributes, bodies, sparse tensors.
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

// What holds a tensor.
enum class TensorPlace : std::uint8_t {
  initializer,
  constant,  // attribute `value` of a Constant of ONNX, outside local functions
  other,     // another attribute, or the values or indices of a sparse tensor
};

// Sees one TensorProto: `message`, followed by `tail` where an Entry keeps its elements apart. Gives back the message that takes its
// place, or nothing where it stays as it is. Both views live as long as the document and the edits.
using RewriteTensor = std::function<Result<std::optional<std::string>>(std::string_view message, std::string_view tail, TensorPlace place)>;

// Edits that do what `edits` do and replace tensors as `rewrite` says. It sees each tensor of the result once, in an order that the
// document and the edits determine. Errors: of `rewrite`; unsupported for a replaced tensor in an attribute of a node that also has
// bodies; limit for bodies that are nested too deep in a new node.
Result<std::vector<GraphEdit>> rewrite_tensors(const Document& document, std::span<const GraphEdit> edits, const RewriteTensor& rewrite);

}  // namespace xflow::onnx_io
