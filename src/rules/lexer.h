// The lexer of rule files.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/rules/rule.h"

namespace xflow::rules {

// A token and its place in the file.
struct Token {
  enum class Kind { word, number, symbol, newline, comment, end };
  Kind kind = Kind::end;
  std::string text;  // a word, a number ("12", "0.5"), a symbol ("..", ">=", "("), or a comment without '#'
  Place place;
};

// Returns the tokens of a file; the last one has kind end. Newlines inside parentheses and brackets, and
// comments that do not begin their line, are left out. Error::syntax with the place of the first character
// that begins no token. `lines`: the number in the file of each line of the text, if it is not that of the
// text.
Result<std::vector<Token>> tokenize(std::string_view text, std::string_view file, std::span<const std::uint32_t> lines = {});

}  // namespace xflow::rules
