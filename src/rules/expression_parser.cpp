#include "src/rules/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace xflow::rules {

int ExpressionParser::height(const Expression& e) {
  int most = -1;
  for (const Expression& argument : e.arguments) most = std::max(most, height(argument));
  return most + 1;
}

std::optional<ir::Real> ExpressionParser::fold(std::string_view op, const ir::Real& a, const ir::Real& b) {
  const auto x = a.rational();
  const auto y = b.rational();
  if (!x || !y) return std::nullopt;
  std::optional<ir::Rational> result;
  if (op == "+") result = ir::add(*x, *y);
  if (op == "-") {
    if (const auto minus = ir::multiply(*y, ir::Rational(-1))) result = ir::add(*x, *minus);
  }
  if (op == "*") result = ir::multiply(*x, *y);
  if (op == "/") result = ir::divide(*x, *y);
  if (!result) return std::nullopt;
  return ir::Real(*result);
}

Result<ir::Real> ExpressionParser::number() {
  const auto value = ir::Rational::parse(peek().text);
  if (!value) return error(fmt::format("the number {} does not fit 64 bits", peek().text));
  ++at_;
  return ir::Real(*value);
}

Result<Expression> ExpressionParser::expression(int depth) {
  XFLOW_TRY(Expression left, multiple(depth));
  while (is_symbol("+") || is_symbol("-")) {
    Expression result;
    result.place = peek().place;
    result.kind = is_symbol("+") ? Expression::Kind::add : Expression::Kind::subtract;
    ++at_;
    XFLOW_TRY(Expression right, multiple(depth + 1));
    result.arguments.push_back(std::move(left));
    result.arguments.push_back(std::move(right));
    XFLOW_CHECK(bounded(height(result), result.place));
    left = std::move(result);
  }
  return left;
}

Result<Expression> ExpressionParser::multiple(int depth) {
  XFLOW_TRY(Expression left, signed_value(depth));
  while (is_symbol("*") || is_symbol("/")) {
    const Token op = tokens_[at_++];
    XFLOW_TRY(Expression right, signed_value(depth + 1));
    if (op.text == "/") {
      const bool numbers = left.kind == Expression::Kind::number && right.kind == Expression::Kind::number;
      const auto value = numbers ? fold("/", left.number, right.number) : std::nullopt;
      if (!value) {
        return fail(ErrorCode::syntax, "'/' is allowed between numbers only; use floor_div(a, b) for integers",
                    place_text(file_, op.place));
      }
      left.number = *value;
      continue;
    }
    Expression result;
    result.place = op.place;
    result.kind = Expression::Kind::multiply;
    result.arguments.push_back(std::move(left));
    result.arguments.push_back(std::move(right));
    XFLOW_CHECK(bounded(height(result), result.place));
    left = std::move(result);
  }
  return left;
}

Result<Expression> ExpressionParser::signed_value(int depth) {
  if (depth > kMaxNesting) return error(fmt::format("nested more than {} deep", kMaxNesting));
  const Place place = peek().place;
  if (!take_symbol("-")) return indexed(depth);
  XFLOW_TRY(Expression operand, signed_value(depth + 1));
  if (operand.kind == Expression::Kind::number) {
    if (const auto value = fold("-", ir::Real(0), operand.number)) {
      operand.number = *value;
    } else {
      operand.number = ir::Real::from_double(-operand.number.to_double());
    }
    operand.place = place;
    return operand;
  }
  Expression result;
  result.kind = Expression::Kind::negate;
  result.place = place;
  result.arguments.push_back(std::move(operand));
  XFLOW_CHECK(bounded(height(result), place));
  return result;
}

Result<Expression> ExpressionParser::indexed(int depth) {
  XFLOW_TRY(Expression value, primary(depth));
  while (is_symbol("[")) {
    Expression result;
    result.kind = Expression::Kind::index;
    result.place = peek().place;
    ++at_;
    XFLOW_TRY(Expression position, expression(depth + 1));
    XFLOW_CHECK(expect("]"));
    result.arguments.push_back(std::move(value));
    result.arguments.push_back(std::move(position));
    XFLOW_CHECK(bounded(height(result), result.place));
    value = std::move(result);
  }
  if (is_symbol("?")) {
    Expression result;
    result.kind = Expression::Kind::optional;
    result.place = value.place;
    ++at_;
    result.arguments.push_back(std::move(value));
    XFLOW_CHECK(bounded(height(result), result.place));
    return result;
  }
  return value;
}

Result<Expression> ExpressionParser::primary(int depth) {
  Expression result;
  result.place = peek().place;
  if (is(Token::Kind::number)) {
    XFLOW_TRY(result.number, number());
    if (!take_symbol("^")) return result;
    if (!(result.number == ir::Real(1))) {
      return fail(ErrorCode::syntax, "expected '1' before '^': 1^S is as many ones as S has dimensions", place_text(file_, result.place));
    }
    result.kind = Expression::Kind::ones;
    XFLOW_TRY(result.name, word("a sequence of dimensions"));
    return result;
  }
  if (take_symbol("(")) {
    XFLOW_TRY(Expression inner, expression(depth + 1));
    XFLOW_CHECK(expect(")"));
    return inner;
  }
  if (take_symbol("[")) {
    result.kind = Expression::Kind::list;
    while (!is_symbol("]")) {
      XFLOW_TRY(Expression element, expression(depth + 1));
      result.arguments.push_back(std::move(element));
      if (!take_symbol(",")) break;
    }
    XFLOW_CHECK(expect("]"));
    XFLOW_CHECK(bounded(height(result), result.place));
    return result;
  }
  XFLOW_TRY(result.name, word("a number, a name or a list"));
  if (result.name == "inf") {
    result.number = ir::positive_infinity();
    result.name.clear();
    return result;
  }
  result.kind = Expression::Kind::name;
  if (take_symbol("..")) {
    result.kind = Expression::Kind::sequence;
  } else if (take_symbol("(")) {
    result.kind = Expression::Kind::call;
    while (!is_symbol(")")) {
      XFLOW_TRY(Expression argument, expression(depth + 1));
      result.arguments.push_back(std::move(argument));
      if (!take_symbol(",")) break;
    }
    XFLOW_CHECK(expect(")"));
  }
  XFLOW_CHECK(bounded(height(result), result.place));
  return result;
}

}  // namespace xflow::rules
