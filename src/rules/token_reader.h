// Reads the tokens of rule text in sequence. Private to the parser.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/rules/lexer.h"

namespace xflow::rules {

class TokenReader {
 public:
  TokenReader(std::vector<Token> tokens, std::string_view file) : tokens_(std::move(tokens)), file_(file) {}

 protected:
  static constexpr int kMaxNesting = 400;  // of the text and of the tree; the height of a sum is the number of its operators

  const Token& peek() const { return tokens_[at_]; }
  bool is(Token::Kind kind) const { return peek().kind == kind; }
  bool is_symbol(std::string_view text) const { return is(Token::Kind::symbol) && peek().text == text; }
  bool is_word(std::string_view text) const { return is(Token::Kind::word) && peek().text == text; }
  // True if the token after the next one is this symbol.
  bool is_before_symbol(std::string_view text) const;
  bool take_symbol(std::string_view text) {
    if (!is_symbol(text)) return false;
    ++at_;
    return true;
  }
  Unexpected error(std::string message) const;
  Unexpected expected(std::string_view what) const;
  // Error::limit for a tree of more than kMaxNesting levels.
  Result<void> bounded(int height, Place place) const;
  Result<void> expect(std::string_view symbol);
  Result<std::string> word(std::string_view what);
  void skip_lines() {
    while (is(Token::Kind::newline) || is(Token::Kind::comment)) ++at_;
  }
  bool section_ends() const;

  std::vector<Token> tokens_;
  std::string file_;
  std::size_t at_ = 0;

 private:
  std::string found() const;
  // Advice for words and symbols of other languages: what to write instead.
  std::string_view advice() const;
};

}  // namespace xflow::rules
