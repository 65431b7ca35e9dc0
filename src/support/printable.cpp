#include "src/support/printable.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace xflow::onnx_io {

namespace {

// A decoded UTF-8 character: code and length. Length 0: the bytes are not UTF-8 (includes overlong forms and
// surrogates).
struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xc2 && first < 0xe0 ? 2 : 0;
  if (length == 0 || length > text.size()) return {};
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, length};
}

// Control characters of ASCII and Latin-1, marks and overrides of text direction, line separators, and the
// invisible U+FEFF.
bool is_unsafe(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

std::string escaped(const char* format, unsigned value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string made_printable(std::string_view text, bool lines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t length = character.length == 0 ? 1 : character.length;
    if (character.length == 0) {
      result += escaped("\\x%02x", static_cast<unsigned char>(text[0]));
    } else if (character.code == '\n') {
      result += lines ? "\n" : "\\n";
    } else if (is_unsafe(character.code)) {
      result += escaped(character.code < 0x80 ? "\\x%02x" : "\\u%04x", character.code);
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace

std::string printable_json(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  while (!json.empty()) {
    const Character character = first_character(json);
    const std::size_t length = character.length == 0 ? 1 : character.length;
    // Below 0x20, strings of JSON have escapes already.
    if (character.length != 0 && character.code >= 0x20 && is_unsafe(character.code)) {
      result += escaped("\\u%04x", character.code);
    } else {
      result += json.substr(0, length);
    }
    json.remove_prefix(length);
  }
  return result;
}

std::string printable(std::string_view text) { return made_printable(text, false); }
std::string printable_lines(std::string_view text) { return made_printable(text, true); }

}  // namespace xflow::onnx_io
