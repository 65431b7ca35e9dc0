#include "src/rules/lexer.h"

#include <fmt/format.h>

#include <array>

namespace xflow::rules {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "'x'", or the number of the byte if it is not printable.
std::string describe(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 32 && byte < 127 ? fmt::format("'{}'", c) : fmt::format("byte {}", static_cast<int>(byte));
}

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file, std::span<const std::uint32_t> lines) : text_(text), file_(file), lines_(lines) {}

  Result<std::vector<Token>> run() {
    bool line_has_token = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        if (depth_ == 0) add(Token::Kind::newline, "\n");
        advance(1);
        ++line_;
        line_start_ = at_;
        line_has_token = false;
        continue;
      }
      if (c == ' ' || c == '\t' || c == '\r') {
        advance(1);
        continue;
      }
      if (c == '#') {
        take_comment(line_has_token);
        continue;
      }
      line_has_token = true;
      if (after_rule()) {
        take_rule_name();
      } else if (is_letter(c)) {
        take_word();
      } else if (is_digit(c)) {
        take_number();
      } else if (!take_symbol()) {
        return fail(ErrorCode::syntax,
                    fmt::format("unexpected {}{}", describe(c), c == '@' ? "; a product of matrices is written matmul(x, a)" : ""),
                    place_text(file_, place()));
      }
    }
    add(Token::Kind::newline, "\n");
    add(Token::Kind::end, "");
    return std::move(tokens_);
  }

 private:
  Place place() const {
    const std::uint32_t line = line_ <= lines_.size() ? lines_[line_ - 1] : line_;
    return {line, static_cast<std::uint32_t>(at_ - line_start_ + 1)};
  }
  void advance(std::size_t n) { at_ += n; }
  void add(Token::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), place()}); }
  // True after the word `rule`. Rule names can contain dashes, so they are read as a whole.
  bool after_rule() const {
    if (tokens_.empty() || tokens_.back().kind != Token::Kind::word || tokens_.back().text != "rule") return false;
    return tokens_.size() == 1 || tokens_[tokens_.size() - 2].kind == Token::Kind::newline ||
           tokens_[tokens_.size() - 2].kind == Token::Kind::comment;
  }

  void take(Token::Kind kind, std::size_t length) {
    add(kind, std::string(text_.substr(at_, length)));
    advance(length);
  }

  void take_comment(bool line_has_token) {
    std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) end = text_.size();
    std::string_view line = text_.substr(at_ + 1, end - at_ - 1);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (!line_has_token && depth_ == 0) add(Token::Kind::comment, std::string(line));
    advance(end - at_);
  }

  void take_rule_name() {
    std::size_t length = 0;
    while (at_ + length < text_.size()) {
      const char c = text_[at_ + length];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '#') break;
      ++length;
    }
    take(Token::Kind::word, length);
  }

  void take_word() {
    std::size_t length = 0;
    while (at_ + length < text_.size() && (is_letter(text_[at_ + length]) || is_digit(text_[at_ + length]))) ++length;
    take(Token::Kind::word, length);
  }

  // Digits, optionally a fraction and an exponent; "1.." is the number 1 and the symbol "..".
  void take_number() {
    std::size_t length = 0;
    const auto digits = [&] {
      while (at_ + length < text_.size() && is_digit(text_[at_ + length])) ++length;
    };
    const auto at = [&](std::size_t k) { return at_ + k < text_.size() ? text_[at_ + k] : '\0'; };
    digits();
    if (at(length) == '.' && is_digit(at(length + 1))) {
      ++length;
      digits();
    }
    if (at(length) == 'e' || at(length) == 'E') {
      const std::size_t sign = at(length + 1) == '-' || at(length + 1) == '+' ? 1 : 0;
      if (is_digit(at(length + 1 + sign))) {
        length += 1 + sign;
        digits();
      }
    }
    take(Token::Kind::number, length);
  }

  bool take_symbol() {
    static constexpr std::array<std::string_view, 20> kSymbols = {"..", ">=", "<=", "!=", "=", ">", "<", "(", ")", "[",
                                                                  "]",  ",",  ":",  "+",  "-", "*", "/", "^", "?", "|"};
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_, symbol.size()) != symbol) continue;
      if (symbol == "(" || symbol == "[") ++depth_;
      if ((symbol == ")" || symbol == "]") && depth_ > 0) --depth_;
      take(Token::Kind::symbol, symbol.size());
      return true;
    }
    return false;
  }

  std::string_view text_;
  std::string_view file_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::span<const std::uint32_t> lines_;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
  std::size_t depth_ = 0;
};

}  // namespace

std::string place_text(std::string_view file, Place place) { return fmt::format("{}:{}:{}", file, place.line, place.column); }

Result<std::vector<Token>> tokenize(std::string_view text, std::string_view file, std::span<const std::uint32_t> lines) {
  return Lexer(text, file, lines).run();
}

}  // namespace xflow::rules
