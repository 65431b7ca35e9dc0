// Parses the integer and number expressions of rule text: dimensions, attributes, sides of guards. Private
// to the parser.
#pragma once

#include <optional>
#include <string_view>

#include "src/rules/rule.h"
#include "src/rules/token_reader.h"

namespace xflow::rules {

class ExpressionParser : public TokenReader {
 public:
  using TokenReader::TokenReader;

 protected:
  // The height of the expression tree; 0 for a leaf.
  static int height(const Expression& expression);
  // Folds an operator on two numbers. Nothing if the result does not fit 64 bits or does not exist.
  static std::optional<ir::Real> fold(std::string_view op, const ir::Real& a, const ir::Real& b);

  Result<ir::Real> number();
  // expression := multiple {('+' | '-') multiple}
  Result<Expression> expression(int depth);

 private:
  Result<Expression> multiple(int depth);
  Result<Expression> signed_value(int depth);
  Result<Expression> indexed(int depth);
  Result<Expression> primary(int depth);
};

}  // namespace xflow::rules
