// Rule text to tree: a recursive descent whose nesting is bounded.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/rules/lexer.h"
#include "src/rules/rule.h"

namespace xflow::rules {
namespace {

constexpr int kMaxNesting = 400;                // of the text, and of the tree: the height of a sum is the number of its operators
constexpr std::size_t kMaxApplications = 1000;  // operators in one rule
constexpr std::size_t kMaxTokens = 20'000;      // words, numbers and symbols of one rule

// The height of a tree whose subtrees have at most kMaxNesting.
int height(const Expression& e) {
  int most = -1;
  for (const Expression& argument : e.arguments) most = std::max(most, height(argument));
  return most + 1;
}
int height(const Term& term) {
  int most = -1;
  for (const Term& operand : term.operands) most = std::max(most, height(operand));
  for (const Term::NamedExpression& attribute : term.attributes) most = std::max(most, height(attribute.value));
  return most + 1;
}

constexpr std::array<std::string_view, 8> kReserved = {"rule", "with", "source", "target", "where", "and", "true", "false"};
bool is_reserved(std::string_view word) { return std::find(kReserved.begin(), kReserved.end(), word) != kReserved.end(); }

std::optional<ir::Real> fold(std::string_view op, const ir::Real& a, const ir::Real& b) {
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

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string_view file) : tokens_(std::move(tokens)), file_(file) {}

  Result<std::vector<Rule>> run() {
    std::vector<Rule> rules;
    for (;;) {
      std::vector<std::string> comment;
      while (is(Token::Kind::comment) || is(Token::Kind::newline)) {
        if (is(Token::Kind::comment)) {
          comment.push_back(peek().text);
          ++at_;
          if (is(Token::Kind::newline)) ++at_;
        } else {
          comment.clear();  // an empty line parts a comment from the rule
          ++at_;
        }
      }
      if (is(Token::Kind::end)) return rules;
      XFLOW_TRY(Rule rule, parse_rule());
      rule.comment = std::move(comment);
      rules.push_back(std::move(rule));
    }
  }

 private:
  const Token& peek() const { return tokens_[at_]; }
  bool is(Token::Kind kind) const { return peek().kind == kind; }
  bool is_symbol(std::string_view text) const { return is(Token::Kind::symbol) && peek().text == text; }
  bool is_word(std::string_view text) const { return is(Token::Kind::word) && peek().text == text; }
  bool take_symbol(std::string_view text) {
    if (!is_symbol(text)) return false;
    ++at_;
    return true;
  }
  std::string found() const {
    if (is(Token::Kind::end)) return "the end of the file";
    if (is(Token::Kind::newline)) return "the end of the line";
    return fmt::format("'{}'", peek().text);
  }
  Unexpected error(std::string message) const { return fail(ErrorCode::syntax, std::move(message), place_text(file_, peek().place)); }
  Unexpected expected(std::string_view what) const { return error(fmt::format("expected {}, found {}{}", what, found(), advice())); }
  // What is written instead of words and symbols of other languages.
  std::string_view advice() const {
    const bool again = at_ > 0 && tokens_[at_ - 1].kind == Token::Kind::symbol && tokens_[at_ - 1].text == peek().text;
    if (is_symbol("=") && again) return "; a guard is written N = M";
    if (is_symbol("^") || (is_symbol("*") && again)) return "; a power is written x * x or pow(x, 2)";
    if (is_word("true") || is_word("false")) return "; a flag is written 1 or 0";
    if (is_word("or")) return "; guards are joined by 'and', an alternative is a rule of its own";
    return {};
  }
  template <typename Tree>
  Result<void> bounded(const Tree& tree, Place place) const {
    if (height(tree) <= kMaxNesting) return {};
    return fail(ErrorCode::limit, fmt::format("nested more than {} deep; of a sum or product each operator counts", kMaxNesting),
                place_text(file_, place));
  }
  Result<void> expect(std::string_view symbol) {
    if (!take_symbol(symbol)) return expected(fmt::format("'{}'", symbol));
    return {};
  }
  Result<std::string> word(std::string_view what) {
    if (!is(Token::Kind::word) || is_reserved(peek().text)) return expected(what);
    return tokens_[at_++].text;
  }
  void skip_lines() {
    while (is(Token::Kind::newline) || is(Token::Kind::comment)) ++at_;
  }
  bool section_ends() const {
    return is(Token::Kind::end) || is_word("rule") || is_word("with") || is_word("source") || is_word("target") || is_word("where");
  }

  Result<Rule> parse_rule() {
    Rule rule;
    rule.file = file_;
    if (is_symbol("/")) return expected("'rule' or a comment, which begins with '#'");
    if (!is_word("rule")) return expected("'rule'");
    ++at_;
    rule.place = peek().place;
    if (!is(Token::Kind::word)) return expected("the name of the rule");
    rule.name = peek().text;
    const bool plain = std::all_of(rule.name.begin(), rule.name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    });
    if (!plain) return error("expected a name of letters, digits, '-', '_' and '.'");
    ++at_;
    applications_ = 0;
    const std::size_t begin = at_;
    if (is(Token::Kind::word) && !section_ends()) return expected("the end of the name, which is one word such as 'my-rule'");
    skip_lines();
    if (is_word("where")) return expected("'with' or 'source'; guards stand behind the target");
    if (is_word("with")) XFLOW_CHECK(parse_declarations(rule));
    if (!is_word("source")) return expected("'source'");
    XFLOW_CHECK(parse_statements(rule.source));
    if (!is_word("target")) return expected("'target'");
    XFLOW_CHECK(parse_statements(rule.target));
    if (is_word("where")) XFLOW_CHECK(parse_guards(rule));
    skip_comments_of_next_rule();
    if (at_ - begin > kMaxTokens) {
      return fail(ErrorCode::limit, fmt::format("a rule has at most {} words, numbers and symbols", kMaxTokens),
                  place_text(file_, rule.place));
    }
    if (!is(Token::Kind::end) && !is_word("rule") && !is(Token::Kind::comment) && !is(Token::Kind::newline)) {
      return expected("'where' or the next rule");
    }
    return rule;
  }

  // Sections leave the comment lines that belong to the next rule.
  void skip_comments_of_next_rule() {
    while (at_ > 0 && (tokens_[at_ - 1].kind == Token::Kind::comment || tokens_[at_ - 1].kind == Token::Kind::newline) &&
           (is_word("rule") || is(Token::Kind::end) || is(Token::Kind::comment) || is(Token::Kind::newline))) {
      --at_;
    }
  }

  Result<void> end_of_item() {
    if (section_ends()) return {};
    if (!is(Token::Kind::newline)) return expected("the end of the line");
    skip_lines();
    return {};
  }

  Result<void> parse_declarations(Rule& rule) {
    ++at_;
    skip_lines();
    while (!section_ends()) {
      Declaration declaration;
      declaration.place = peek().place;
      XFLOW_TRY(declaration.variable, word("a variable"));
      declaration.list = take_symbol("..");
      XFLOW_CHECK(expect(":"));
      if (is(Token::Kind::word)) {
        declaration.data_type = ir::data_type_from_name(peek().text);
        if (!declaration.data_type) return expected("a type such as [M, K] or float32[M, K]");
        ++at_;
      }
      XFLOW_CHECK(expect("["));
      while (!is_symbol("]")) {
        XFLOW_TRY(Expression dim, expression(0));
        declaration.dims.push_back(std::move(dim));
        if (!take_symbol(",")) break;
      }
      XFLOW_CHECK(expect("]"));
      rule.declarations.push_back(std::move(declaration));
      if (take_symbol(",")) {
        skip_lines();
        continue;
      }
      XFLOW_CHECK(end_of_item());
    }
    return {};
  }

  Result<void> parse_statements(std::vector<Statement>& statements) {
    ++at_;
    skip_lines();
    while (!section_ends()) {
      Statement statement;
      statement.place = peek().place;
      do {
        XFLOW_TRY(std::string output, word("the name of an output"));
        statement.outputs.push_back(std::move(output));
      } while (take_symbol(","));
      XFLOW_CHECK(expect("="));
      XFLOW_TRY(statement.term, term(0));
      statements.push_back(std::move(statement));
      XFLOW_CHECK(end_of_item());
    }
    if (statements.empty()) return expected("a statement such as 'y = relu(x)'");
    return {};
  }

  // term := product {('+' | '-') product}
  Result<Term> term(int depth) {
    XFLOW_TRY(Term left, product(depth));
    while (is_symbol("+") || is_symbol("-")) {
      XFLOW_CHECK(infix(left, depth, &Parser::product));
    }
    return left;
  }
  Result<Term> product(int depth) {
    XFLOW_TRY(Term left, factor(depth));
    while (is_symbol("*") || is_symbol("/")) {
      XFLOW_CHECK(infix(left, depth, &Parser::factor));
    }
    return left;
  }
  // Replaces `left` by (left op right); literals are folded.
  Result<void> infix(Term& left, int depth, Result<Term> (Parser::*operand)(int)) {
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
    XFLOW_CHECK(bounded(result, op.place));
    left = std::move(result);
    return {};
  }
  Result<void> start_application(Term& term, std::string_view name, Place place) {
    if (++applications_ > kMaxApplications) {
      return fail(ErrorCode::limit, fmt::format("a rule has at most {} operators", kMaxApplications), place_text(file_, place));
    }
    term.kind = Term::Kind::application;
    term.name = name;
    term.place = place;
    return {};
  }
  Result<Term> factor(int depth) {
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
      XFLOW_CHECK(bounded(result, place));
      return result;
    }
    if (is_word("_")) {
      ++at_;
      result.kind = Term::Kind::absent;
      return result;
    }
    // The operator `and` has the name of the word that joins guards.
    if (is_word("and") && tokens_[at_ + 1].kind == Token::Kind::symbol && tokens_[at_ + 1].text == "(") {
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
      if (is(Token::Kind::word) && at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == Token::Kind::symbol &&
          tokens_[at_ + 1].text == ":") {
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
    XFLOW_CHECK(bounded(result, place));
    return result;
  }

  Result<ir::Real> number() {
    const auto value = ir::Rational::parse(peek().text);
    if (!value) return error(fmt::format("the number {} does not fit 64 bits", peek().text));
    ++at_;
    return ir::Real(*value);
  }

  // expression := multiple {('+' | '-') multiple}
  Result<Expression> expression(int depth) {
    XFLOW_TRY(Expression left, multiple(depth));
    while (is_symbol("+") || is_symbol("-")) {
      Expression result;
      result.place = peek().place;
      result.kind = is_symbol("+") ? Expression::Kind::add : Expression::Kind::subtract;
      ++at_;
      XFLOW_TRY(Expression right, multiple(depth + 1));
      result.arguments.push_back(std::move(left));
      result.arguments.push_back(std::move(right));
      XFLOW_CHECK(bounded(result, result.place));
      left = std::move(result);
    }
    return left;
  }
  Result<Expression> multiple(int depth) {
    XFLOW_TRY(Expression left, signed_value(depth));
    while (is_symbol("*") || is_symbol("/")) {
      const Token op = tokens_[at_++];
      XFLOW_TRY(Expression right, signed_value(depth + 1));
      if (op.text == "/") {
        const bool numbers = left.kind == Expression::Kind::number && right.kind == Expression::Kind::number;
        const auto value = numbers ? fold("/", left.number, right.number) : std::nullopt;
        if (!value) {
          return fail(ErrorCode::syntax, "'/' stands between numbers only; use floor_div(a, b) for integers", place_text(file_, op.place));
        }
        left.number = *value;
        continue;
      }
      Expression result;
      result.place = op.place;
      result.kind = Expression::Kind::multiply;
      result.arguments.push_back(std::move(left));
      result.arguments.push_back(std::move(right));
      XFLOW_CHECK(bounded(result, result.place));
      left = std::move(result);
    }
    return left;
  }
  Result<Expression> signed_value(int depth) {
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
    XFLOW_CHECK(bounded(result, place));
    return result;
  }
  Result<Expression> indexed(int depth) {
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
      XFLOW_CHECK(bounded(result, result.place));
      value = std::move(result);
    }
    if (is_symbol("?")) {
      Expression result;
      result.kind = Expression::Kind::optional;
      result.place = value.place;
      ++at_;
      result.arguments.push_back(std::move(value));
      XFLOW_CHECK(bounded(result, result.place));
      return result;
    }
    return value;
  }
  Result<Expression> primary(int depth) {
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
      XFLOW_CHECK(bounded(result, result.place));
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
    XFLOW_CHECK(bounded(result, result.place));
    return result;
  }

  Result<void> parse_guards(Rule& rule) {
    ++at_;
    skip_lines();
    bool first = true;
    while (!section_ends()) {
      if (!first && is_word("and")) {
        ++at_;
        skip_lines();
      }
      first = false;
      XFLOW_TRY(Guard guard, parse_guard());
      rule.guards.push_back(std::move(guard));
      if (is_word("and")) continue;
      XFLOW_CHECK(end_of_item());
    }
    if (first) return expected("a guard such as 'const(w)'");
    return {};
  }

  static std::optional<Guard::Kind> predicate(std::string_view name) {
    if (name == "const") return Guard::Kind::is_constant;
    if (name == "scalar") return Guard::Kind::is_scalar;
    if (name == "equal") return Guard::Kind::equals_value;
    if (name == "nonzero") return Guard::Kind::is_nonzero;
    if (name == "positive") return Guard::Kind::is_positive;
    if (name == "nonnegative") return Guard::Kind::is_nonnegative;
    if (name == "finite") return Guard::Kind::is_finite;
    if (name == "in_range") return Guard::Kind::is_in_range;
    if (name == "uses") return Guard::Kind::uses_equal;
    return std::nullopt;
  }

  Result<Guard> parse_guard() {
    Guard guard;
    guard.place = peek().place;
    const bool call =
        is(Token::Kind::word) && at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == Token::Kind::symbol && tokens_[at_ + 1].text == "(";
    if (const auto kind = call ? predicate(peek().text) : std::nullopt) {
      guard.kind = *kind;
      at_ += 2;
      XFLOW_TRY(guard.value, word("a variable"));
      if (guard.kind == Guard::Kind::equals_value) {
        XFLOW_CHECK(expect(","));
        XFLOW_TRY(Expression value, expression(0));
        guard.arguments.push_back(std::move(value));
      }
      for (int bound = 0; guard.kind == Guard::Kind::is_in_range && bound < 2; ++bound) {
        XFLOW_CHECK(expect(","));
        XFLOW_TRY(Expression value, expression(0));
        guard.arguments.push_back(std::move(value));
      }
      XFLOW_CHECK(expect(")"));
      if (guard.kind == Guard::Kind::uses_equal) {
        XFLOW_CHECK(expect("="));
        XFLOW_TRY(Expression value, expression(0));
        guard.arguments.push_back(std::move(value));
      }
      return guard;
    }
    XFLOW_TRY(Expression left, expression(0));
    bool swapped = false;
    if (take_symbol("=")) {
      guard.kind = Guard::Kind::equal;
    } else if (take_symbol("!=")) {
      guard.kind = Guard::Kind::not_equal;
    } else if (take_symbol(">=")) {
      guard.kind = Guard::Kind::at_least;
    } else if (take_symbol(">")) {
      guard.kind = Guard::Kind::greater;
    } else if (take_symbol("<=")) {
      guard.kind = Guard::Kind::at_least;
      swapped = true;
    } else if (take_symbol("<")) {
      guard.kind = Guard::Kind::greater;
      swapped = true;
    } else {
      return expected("'=', '!=', '<', '<=', '>' or '>='");
    }
    XFLOW_TRY(Expression right, expression(0));
    if (swapped) std::swap(left, right);
    guard.arguments.push_back(std::move(left));
    guard.arguments.push_back(std::move(right));
    return guard;
  }

  std::vector<Token> tokens_;
  std::string file_;
  std::size_t at_ = 0;
  std::size_t applications_ = 0;
};

}  // namespace

Result<std::vector<Rule>> parse_rules(std::string_view text, std::string_view file) {
  XFLOW_TRY(std::vector<Token> tokens, tokenize(text, file));
  XFLOW_TRY(std::vector<Rule> rules, Parser(std::move(tokens), file).run());
  std::map<std::string_view, Place> seen;
  for (Rule& rule : rules) {
    const auto [other, fresh] = seen.emplace(rule.name, rule.place);
    if (!fresh) {
      return fail(ErrorCode::syntax, fmt::format("rule '{}' is already defined in line {}", rule.name, other->second.line),
                  place_text(file, rule.place));
    }
    XFLOW_CHECK(check(rule));
  }
  return rules;
}

}  // namespace xflow::rules
