// Terms of rule text: operators on variables and numbers. Private to the parser.
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
  // Counts operators from here.
  void begin_rule() { applications_ = 0; }

 private:
  using ExpressionParser::height;
  static int height(const Term& term);
  Result<Term> product(int depth);
  // Replaces `left` by (left op right); literals are folded.
  Result<void> infix(Term& left, int depth, Result<Term> (TermParser::*operand)(int));
  Result<void> start_application(Term& term, std::string_view name, Place place);
  Result<Term> factor(int depth);

  std::size_t applications_ = 0;  // of this rule
};

}  // namespace xflow::rules
