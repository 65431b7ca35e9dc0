// Makes texts of a model safe for terminals and messages.
#pragma once

#include <xflow/export.h>

#include <string>
#include <string_view>

namespace xflow {

// Returns `text` on one line, with C escapes (\n, \x1b, \u202e) for characters that a terminal obeys or that
// change the display of other text: control characters of ASCII and Unicode, bidirectional formatting, line
// separators. Bytes that are not UTF-8 are escaped as well.
XFLOW_API std::string printable(std::string_view text);

// The same for a text of several lines. Line ends stay.
XFLOW_API std::string printable_lines(std::string_view text);

// Returns JSON with the same meaning in which the characters that printable() escapes are written as \uXXXX.
// `json` must be valid.
XFLOW_API std::string printable_json(std::string_view json);

}  // namespace xflow
