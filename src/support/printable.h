// Texts of a model on a terminal and in messages.
#pragma once

#include <string>
#include <string_view>

namespace xflow::onnx_io {

// `text` on one line, without anything that a terminal obeys or that changes how the rest is shown: control characters of ASCII and of
// Unicode, bidirectional formatting and line separators are written as escapes of C (\n, \x1b, \u202e), and so are bytes that are not
// UTF-8.
std::string printable(std::string_view text);

// The same for a text of several lines: the ends of lines stay.
std::string printable_lines(std::string_view text);

// A name in quotes.
inline std::string in_quotes(std::string_view name) { return "'" + printable(name) + "'"; }

}  // namespace xflow::onnx_io
