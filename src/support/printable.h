// Makes text from a model safe for terminals and messages.
#pragma once

#include <string>
#include <string_view>

namespace xflow::onnx_io {

// `text` on one line. Control characters of ASCII and Unicode, bidirectional formatting, line separators and
// bytes that are not UTF-8 are written as C escapes (\n, \x1b, \u202e), so that a terminal neither obeys
// them nor shows the rest differently.
std::string printable(std::string_view text);

// The same for a text of several lines: newlines are kept.
std::string printable_lines(std::string_view text);

// JSON text that says the same: the characters that printable() escapes are written as \uXXXX. Control
// characters outside of strings, newlines among them, are kept. `json` is valid UTF-8.
std::string printable_json(std::string_view json);

// A name in quotes.
inline std::string in_quotes(std::string_view name) { return "'" + printable(name) + "'"; }

}  // namespace xflow::onnx_io
