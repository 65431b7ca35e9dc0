// The parser of rule text: recursive descent with bounded nesting.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/rules/families.h"
#include "src/rules/lexer.h"
#include "src/rules/open_family.h"
#include "src/rules/rule.h"
#include "src/rules/term_parser.h"
#include "src/rules/uniform.h"

namespace xflow::rules {
namespace {

constexpr std::size_t kMaxTokens = 20'000;  // limit for the words, numbers and symbols of one rule

class RuleParser final : public TermParser {
 public:
  using TermParser::TermParser;

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
          comment.clear();  // an empty line separates a comment from the rule
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
    begin_rule();
    const std::size_t begin = at_;
    if (is(Token::Kind::word) && !section_ends()) return expected("the end of the name, which is one word such as 'my-rule'");
    skip_lines();
    if (is_word("numbers")) XFLOW_CHECK(parse_numbers(rule));
    if (is_word("where")) return expected("'with' or 'source'; write guards after the target");
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

  // Sections skip trailing comment lines; this moves back to those that belong to the next rule.
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

  // numbers rounding
  Result<void> parse_numbers(Rule& rule) {
    ++at_;
    if (!is_word("rounding")) return expected("'rounding': the only class that a rule can claim");
    ++at_;
    rule.claims_rounding = true;
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
    if (name == "varies") return Guard::Kind::is_varying;
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
    const bool call = is(Token::Kind::word) && is_before_symbol("(");
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
};

// Gives the members of each family without a last number their family, which must be uniform.
Result<void> add_families(std::vector<FamilyText> families, std::vector<Rule>& rules) {
  for (FamilyText& text : families) {
    const auto member = [&](int n) { return std::ranges::find(rules, member_name(text, n), &Rule::name); };
    const Rule& largest = *member(text.to);
    XFLOW_CHECK(check_uniform(largest, indexed_names(text)));
    const int from = text.from;
    const auto family = std::make_shared<const OpenFamily>(std::move(text), largest);
    for (int n = from; n <= family->last_in_file(); ++n) std::ranges::find(rules, family->name_of(n), &Rule::name)->family = family;
  }
  return {};
}

}  // namespace

Result<Rule> parse_member(const FamilyText& family, int n, const std::string& file, const Rule& classified) {
  const ExpandedText text = member_text(family, n);
  XFLOW_TRY(std::vector<Token> tokens, tokenize(text.text, file, text.lines));
  XFLOW_TRY(std::vector<Rule> rules, RuleParser(std::move(tokens), file).run());
  if (rules.size() != 1) return fail(ErrorCode::syntax, "a family is one rule", place_text(file, {family.line, 1}));
  XFLOW_CHECK(check_as(classified, rules[0]));
  return std::move(rules[0]);
}

Result<std::vector<Rule>> parse_rules(std::string_view text, std::string_view file, std::span<const ClassifiedRule> classified) {
  XFLOW_TRY(ExpandedText expanded, expand_families(text, file));
  XFLOW_TRY(std::vector<Token> tokens, tokenize(expanded.text, file, expanded.lines));
  XFLOW_TRY(std::vector<Rule> rules, RuleParser(std::move(tokens), file).run());
  std::map<std::string_view, Place> seen;
  for (Rule& rule : rules) {
    const auto [other, fresh] = seen.emplace(rule.name, rule.place);
    if (!fresh) {
      return fail(ErrorCode::syntax, fmt::format("rule '{}' is already defined in line {}", rule.name, other->second.line),
                  place_text(file, rule.place));
    }
    XFLOW_CHECK(check(rule, classified));
  }
  XFLOW_CHECK(add_families(std::move(expanded.open_families), rules));
  return rules;
}

}  // namespace xflow::rules
