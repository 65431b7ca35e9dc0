// Words, numbers and punctuation of rule files.
#pragma once

#include <xflow/error.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/rules/rule.h"

namespace xflow::rules {

struct Token {
  enum class Kind { word, number, symbol, newline, comment, end };
  Kind kind = Kind::end;
  std::string text;  // of a word, a number ("12", "0.5"), a symbol ("..", ">=", "("), a comment without '#'
  Place place;
};

// The tokens of a file, ended by one of kind end. Newlines inside parentheses and brackets are left out, and so are comments that do not
// begin their line. Error::syntax names the place of the first character that no token begins with.
Result<std::vector<Token>> tokenize(std::string_view text, std::string_view file);

}  // namespace xflow::rules
