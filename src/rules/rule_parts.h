// Constructors of expressions, terms and guards, for code that builds rules.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/rules/rule.h"

namespace xflow::rules {

inline Expression number(const ir::Rational& value) {
  Expression e;
  e.number = ir::Real(value);
  return e;
}
inline Expression number(std::int64_t value) { return number(ir::Rational(value)); }
// An expression that is only a name: kind `name`, `sequence` or `ones`.
inline Expression named(Expression::Kind kind, std::string name) {
  Expression e;
  e.kind = kind;
  e.name = std::move(name);
  return e;
}
inline Expression named(std::string name) { return named(Expression::Kind::name, std::move(name)); }
inline Expression sequence(std::string name) { return named(Expression::Kind::sequence, std::move(name)); }
// A vector of two expressions. An initializer list would copy them.
inline std::vector<Expression> both(Expression a, Expression b) {
  std::vector<Expression> arguments;
  arguments.reserve(2);
  arguments.push_back(std::move(a));
  arguments.push_back(std::move(b));
  return arguments;
}
inline Expression compound(Expression::Kind kind, std::vector<Expression> arguments, std::string name = {}) {
  Expression e = named(kind, std::move(name));
  e.arguments = std::move(arguments);
  return e;
}
inline Expression call(std::string function, std::vector<Expression> arguments) {
  return compound(Expression::Kind::call, std::move(arguments), std::move(function));
}
inline Expression list(std::vector<Expression> elements) { return compound(Expression::Kind::list, std::move(elements)); }
inline Expression optional(Expression dim) { return compound(Expression::Kind::optional, {std::move(dim)}); }
inline Expression add(Expression a, Expression b) { return compound(Expression::Kind::add, both(std::move(a), std::move(b))); }

inline Term variable(std::string name) {
  Term term;
  term.name = std::move(name);
  return term;
}
inline Term literal(const ir::Rational& value) {
  Term term;
  term.kind = Term::Kind::literal;
  term.literal = ir::Real(value);
  return term;
}
inline Term::NamedExpression attribute(std::string name, Expression value) { return {std::move(name), std::move(value), {}}; }
inline Term application(std::string op, std::vector<Term> operands, std::vector<Term::NamedExpression> attributes = {}) {
  Term term;
  term.kind = Term::Kind::application;
  term.name = std::move(op);
  term.operands = std::move(operands);
  term.attributes = std::move(attributes);
  return term;
}

// Guards: a relation between two expressions, or a predicate on a variable.
inline Guard relation(Guard::Kind kind, Expression a, Expression b) { return {kind, both(std::move(a), std::move(b)), {}, {}}; }
inline Guard equal(Expression a, Expression b) { return relation(Guard::Kind::equal, std::move(a), std::move(b)); }
inline Guard at_least(Expression a, Expression b) { return relation(Guard::Kind::at_least, std::move(a), std::move(b)); }
inline Guard predicate(Guard::Kind kind, std::string variable) { return {kind, {}, std::move(variable), {}}; }

// Type-checks a rule. Errors are those of check().
inline Result<Rule> checked(Rule rule) {
  XFLOW_CHECK(check(rule));
  return rule;
}

}  // namespace xflow::rules
