// C types and functions for programs. Private to src/codegen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/eval/source.h"
#include "src/ops/expr.h"

namespace xflow::eval {

// The C type of a stored element: "float", "unsigned short" for half precision. A number of the arithmetic
// is a double or a float.
std::string_view c_type(Format format, bool in_double);
std::size_t bytes_of(Format format, bool in_double);
bool is_of_integers(Format format);

// The C expression that wraps an integer expression to the range of an integer type.
std::string wrapped(const std::string& value, ir::DataType type);

// The C expression that applies a function of real numbers, or of integers of a type, to the expressions
// `a`.
std::string real_function(ops::Function function, const std::vector<std::string>& a, bool in_double);
std::string integer_function(ops::Function function, const std::vector<std::string>& a, ir::DataType type);

}  // namespace xflow::eval
