// Parses the terms of rule text: operators on variables and numbers. Private to the parser.
#pragma once

#include <cstddef>
#include <string_view>

#include "src/rules/expression_parser.h"

namespace xflow::rules {

class TermParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

 protected:
  // term := product {('+' | '-') product}
  Result<Term> term(int depth);
  // Resets the operator count; it is limited per rule.
  void begin_rule() { applications_ = 0; }

 private:
  using ExpressionParser::height;
  static int height(const Term& term);
  Result<Term> product(int depth);
  // Replaces `left` by (left op right) and folds literals.
  Result<void> infix(Term& left, int depth, Result<Term> (TermParser::*operand)(int));
  Result<void> start_application(Term& term, std::string_view name, Place place);
  Result<Term> factor(int depth);

  std::size_t applications_ = 0;  // operators of the current rule
};

}  // namespace xflow::rules
