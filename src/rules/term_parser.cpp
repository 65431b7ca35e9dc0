#include "src/rules/term_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace xflow::rules {
namespace {

constexpr std::size_t kMaxApplications = 1000;  // limit for the operators of one rule

}  // namespace

int TermParser::height(const Term& term) {
  int most = -1;
  for (const Term& operand : term.operands) most = std::max(most, height(operand));
  for (const Term::NamedExpression& attribute : term.attributes) most = std::max(most, height(attribute.value));
  return most + 1;
}

Result<Term> TermParser::term(int depth) {
  XFLOW_TRY(Term left, product(depth));
  while (is_symbol("+") || is_symbol("-")) {
    XFLOW_CHECK(infix(left, depth, &TermParser::product));
  }
  return left;
}

Result<Term> TermParser::product(int depth) {
  XFLOW_TRY(Term left, factor(depth));
  while (is_symbol("*") || is_symbol("/")) {
    XFLOW_CHECK(infix(left, depth, &TermParser::factor));
  }
  return left;
}

Result<void> TermParser::infix(Term& left, int depth, Result<Term> (TermParser::*operand)(int)) {
  const Token op = tokens_[at_++];
  XFLOW_TRY(Term right, (this->*operand)(depth + 1));
  if (left.kind == Term::Kind::literal && right.kind == Term::Kind::literal) {
    const auto value = fold(op.text, left.literal, right.literal);
    if (!value) return fail(ErrorCode::syntax, "the value is not a number that fits 64 bits", place_text(file_, op.place));
    left.literal = *value;
    return {};
  }
  const std::string_view name = op.text == "+" ? "add" : op.text == "-" ? "sub" : op.text == "*" ? "mul" : "div";
  Term result;
  XFLOW_CHECK(start_application(result, name, op.place));
  result.operands.push_back(std::move(left));
  result.operands.push_back(std::move(right));
  XFLOW_CHECK(bounded(height(result), op.place));
  left = std::move(result);
  return {};
}

Result<void> TermParser::start_application(Term& term, std::string_view name, Place place) {
  if (++applications_ > kMaxApplications) {
    return fail(ErrorCode::limit, fmt::format("a rule has at most {} operators", kMaxApplications), place_text(file_, place));
  }
  term.kind = Term::Kind::application;
  term.name = name;
  term.place = place;
  return {};
}

Result<Term> TermParser::factor(int depth) {
  if (depth > kMaxNesting) return error(fmt::format("nested more than {} deep", kMaxNesting));
  const Place place = peek().place;
  if (take_symbol("-")) {
    XFLOW_TRY(Term operand, factor(depth + 1));
    if (operand.kind == Term::Kind::literal) {
      if (const auto value = fold("-", ir::Real(0), operand.literal)) {
        operand.literal = *value;
        operand.place = place;
        return operand;
      }
    }
    Term result;
    XFLOW_CHECK(start_application(result, "neg", place));
    result.operands.push_back(std::move(operand));
    return result;
  }
  if (take_symbol("(")) {
    XFLOW_TRY(Term inner, term(depth + 1));
    XFLOW_CHECK(expect(")"));
    return inner;
  }
  Term result;
  result.place = place;
  if (is(Token::Kind::number)) {
    XFLOW_TRY(result.literal, number());
    result.kind = Term::Kind::literal;
    XFLOW_CHECK(bounded(height(result), place));
    return result;
  }
  if (is_word("_")) {
    ++at_;
    result.kind = Term::Kind::absent;
    return result;
  }
  // The operator `and` has the same name as the keyword that joins guards.
  if (is_word("and") && is_before_symbol("(")) {
    result.name = tokens_[at_++].text;
  } else {
    XFLOW_TRY(result.name, word("an operator, a variable or a number"));
  }
  if (take_symbol("..")) {
    result.kind = Term::Kind::list;
    return result;
  }
  if (!take_symbol("(")) return result;
  const std::string name = result.name;
  XFLOW_CHECK(start_application(result, name, place));
  while (!is_symbol(")")) {
    if (is(Token::Kind::word) && is_before_symbol(":")) {
      Term::NamedExpression attribute;
      attribute.place = peek().place;
      attribute.name = peek().text;
      at_ += 2;
      XFLOW_TRY(attribute.value, expression(depth + 1));
      result.attributes.push_back(std::move(attribute));
    } else {
      XFLOW_TRY(Term operand, term(depth + 1));
      result.operands.push_back(std::move(operand));
    }
    if (!take_symbol(",")) break;
  }
  XFLOW_CHECK(expect(")"));
  XFLOW_CHECK(bounded(height(result), place));
  return result;
}

}  // namespace xflow::rules
