// Texts of a model on a terminal and in messages.
#pragma once

#include <xflow/export.h>

#include <string>
#include <string_view>

namespace xflow {

// `text` on one line, without anything that a terminal obeys or that changes how the rest is shown: control characters of ASCII and of
// Unicode, bidirectional formatting and line separators are written as escapes of C (\n, \x1b, \u202e), and so are bytes that are not
// UTF-8.
XFLOW_API std::string printable(std::string_view text);

// The same for a text of several lines: the ends of lines stay.
XFLOW_API std::string printable_lines(std::string_view text);

}  // namespace xflow
