// What the operators that move data share: copies as kernels, and reading shapes, axes and fill values of ONNX nodes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/ops/common.h"

namespace xflow::ops::movement {

Unexpected ill_typed(std::string message);
Unexpected cannot(const std::string& message);  // Error::unsupported: "cannot MESSAGE"

// A kernel that reads the operands and writes the outputs, with all attributes; `words` are those that are words, in the order of the
// signature. Error::unsupported while a dimension or attribute is not a known integer.
Result<KernelSpec> copy_kernel(const Operation& operation, std::initializer_list<const char*> words = {});

// The value of an attribute that is a known axis of operand 0.
std::size_t axis(const Operation& operation, std::string_view name = "axis");
// "expected begins to have 4 elements, found 3".
Result<void> require_length(const std::vector<ir::Poly>& list, std::size_t length, std::string_view what);

// The shape of an ONNX node's input, if its rank is known.
Result<ir::Shape> ranked_shape(const OnnxNode& node, std::size_t input);
// The elements of an integer input, if they are known; `what` names it: "shape".
Result<std::vector<ir::Poly>> known_input(const OnnxNode& node, std::size_t input, std::string_view what);
// Axes that must be known integers, counted from the end where negative, each once, in the given order.
Result<std::vector<std::size_t>> known_axes(std::span<const ir::Poly> axes, std::size_t rank);
Result<std::size_t> known_axis(std::int64_t axis, std::size_t rank);
// Axes given by the integer input `input` where it is there, or else by the attribute "axes". Nothing where neither is there.
Result<std::optional<std::vector<std::size_t>>> axes_input_or_attribute(const OnnxNode& node, std::size_t input, std::size_t rank);

// The one element of a small constant input or tensor as an exact real: numbers and booleans.
Result<ir::Real> fill_value(const ir::Constant& constant);
// A constant of one element, of any type that fill_value reads.
Result<ir::Constant> fill_constant(ir::DataType type, std::vector<std::int64_t> dims, const ir::Real& value);
// True for types that a real number can fill: floating, integer, boolean.
bool has_arithmetic(ir::DataType type);

// An index e in [-d, d) that counts from the end where it is negative: e mod d. 0 where d = 0 and there is no element to ask for.
ir::Poly wrapped_index(ir::Symbols& symbols, const ir::Poly& e, const ir::Poly& d);

}  // namespace xflow::ops::movement
