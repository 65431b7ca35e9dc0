// Types and functions of programs as C. Private to src/codegen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/eval/source.h"
#include "src/ops/expr.h"

namespace xflow::eval {

// How elements are stored: "float", "unsigned short" for half precision. A number of the arithmetic is a double or a float.
std::string_view c_type(Format format, bool in_double);
std::size_t bytes_of(Format format, bool in_double);
bool is_of_integers(Format format);

// An integer expression in the range of an integer type.
std::string wrapped(const std::string& value, ir::DataType type);

// A function of real numbers, and of integers of a type, whose operands are these expressions.
std::string real_function(ops::Function function, const std::vector<std::string>& a, bool in_double);
std::string integer_function(ops::Function function, const std::vector<std::string>& a, ir::DataType type);

}  // namespace xflow::eval
