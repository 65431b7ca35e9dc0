// Helpers for operators that move data: copy kernels, and reading shapes, axes and fill values of ONNX
// nodes.
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

// A copy kernel with the operands, results and attributes of the operation. `words` names the word
// attributes in the order of the signature. Error::unsupported if a dimension or an integer attribute is not
// a known integer.
Result<KernelSpec> copy_kernel(const Operation& operation, std::initializer_list<const char*> words = {});

// The value of an axis attribute, which must be known.
std::size_t axis(const Operation& operation, std::string_view name = "axis");
// Checks the length of a list: "expected begins to have 4 elements, found 3".
Result<void> require_length(const std::vector<ir::Poly>& list, std::size_t length, std::string_view what);

// The shape of an input of an ONNX node. Error::unsupported if its rank is not known.
Result<ir::Shape> ranked_shape(const OnnxNode& node, std::size_t input);
// The elements of an integer input. Error::unsupported if they are not known; `what` names the input:
// "shape".
Result<std::vector<ir::Poly>> known_input(const OnnxNode& node, std::size_t input, std::string_view what);
// Axes as numbers in [0, rank), in the given order. Negative axes count from the end. Each axis must be a
// known integer and may occur only once.
Result<std::vector<std::size_t>> known_axes(std::span<const ir::Poly> axes, std::size_t rank);
Result<std::size_t> known_axis(std::int64_t axis, std::size_t rank);
// The axes from the integer input `input` if it is present, otherwise from the attribute "axes". Nothing if
// both are absent.
Result<std::optional<std::vector<std::size_t>>> axes_input_or_attribute(const OnnxNode& node, std::size_t input, std::size_t rank);

// The single element of a constant as an exact real. The constant may have any type with has_arithmetic.
Result<ir::Real> fill_value(const ir::Constant& constant);
// A constant of these dimensions with all elements equal to `value`, of any type with has_arithmetic.
Result<ir::Constant> fill_constant(ir::DataType type, std::vector<std::int64_t> dims, const ir::Real& value);
// True for floating, integer and boolean types, whose elements can be read from and written as real numbers.
bool has_arithmetic(ir::DataType type);

}  // namespace xflow::ops::movement
