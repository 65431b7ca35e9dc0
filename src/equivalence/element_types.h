// Types of elements that follow from the operators alone, where no shape is known.
#pragma once

#include <string_view>

#include "src/ir/type.h"
#include "src/onnx/document/document.h"

namespace xflow::equivalence {

// The type of the elements of a value that a graph or one around it defines: the declared one of an input or
// an initializer; of the result of a node what its operator says, whatever the sizes are, from the types of
// its operands and the branches of an If. undefined: the operator says nothing, or the value is nested too
// deep.
ir::DataType element_type(const onnx_io::Document& document, onnx_io::GraphId graph, std::string_view name);

}  // namespace xflow::equivalence
