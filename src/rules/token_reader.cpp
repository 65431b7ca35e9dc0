#include "src/rules/token_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/rules/rule.h"

namespace xflow::rules {
namespace {

constexpr std::array<std::string_view, 8> kReserved = {"rule", "with", "source", "target", "where", "and", "true", "false"};
bool is_reserved(std::string_view word) { return std::find(kReserved.begin(), kReserved.end(), word) != kReserved.end(); }

}  // namespace

bool TokenReader::is_before_symbol(std::string_view text) const {
  return at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == Token::Kind::symbol && tokens_[at_ + 1].text == text;
}

Unexpected TokenReader::error(std::string message) const {
  return fail(ErrorCode::syntax, std::move(message), place_text(file_, peek().place));
}

Unexpected TokenReader::expected(std::string_view what) const {
  return error(fmt::format("expected {}, found {}{}", what, found(), advice()));
}

Result<void> TokenReader::bounded(int height, Place place) const {
  if (height <= kMaxNesting) return {};
  return fail(ErrorCode::limit, fmt::format("nested more than {} deep; each operator of a sum or product counts", kMaxNesting),
              place_text(file_, place));
}

Result<void> TokenReader::expect(std::string_view symbol) {
  if (!take_symbol(symbol)) return expected(fmt::format("'{}'", symbol));
  return {};
}

Result<std::string> TokenReader::word(std::string_view what) {
  if (!is(Token::Kind::word) || is_reserved(peek().text)) return expected(what);
  return tokens_[at_++].text;
}

bool TokenReader::section_ends() const {
  return is(Token::Kind::end) || is_word("rule") || is_word("with") || is_word("source") || is_word("target") || is_word("where");
}

std::string TokenReader::found() const {
  if (is(Token::Kind::end)) return "the end of the file";
  if (is(Token::Kind::newline)) return "the end of the line";
  return fmt::format("'{}'", peek().text);
}

std::string_view TokenReader::advice() const {
  const bool is_repeated = at_ > 0 && tokens_[at_ - 1].kind == Token::Kind::symbol && tokens_[at_ - 1].text == peek().text;
  if (is_symbol("=") && is_repeated) return "; a guard is written N = M";
  if (is_symbol("^") || (is_symbol("*") && is_repeated)) return "; a power is written x * x or pow(x, 2)";
  if (is_word("true") || is_word("false")) return "; a flag is written 1 or 0";
  if (is_word("or")) return "; guards are joined by 'and', an alternative is a rule of its own";
  return {};
}

}  // namespace xflow::rules
