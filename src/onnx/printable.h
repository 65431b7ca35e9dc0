// Texts of a model in messages.
#pragma once

#include <string>
#include <string_view>

namespace xflow::onnx_io {

// `text` on one line: control characters are written as in C.
inline std::string printable(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
      result += "\\n";
    } else if (code < 0x20 || code == 0x7f) {
      result += "\\x";
      result += kDigits[code >> 4U];
      result += kDigits[code & 0xfU];
    } else {
      result += c;
    }
  }
  return result;
}

// A name in quotes.
inline std::string in_quotes(std::string_view name) { return "'" + printable(name) + "'"; }

}  // namespace xflow::onnx_io
