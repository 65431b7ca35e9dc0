// Formulas and guards made from their parts. Private to guards.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/rules/rule.h"

namespace xflow::verifier {

using Formula = rules::Expression;

namespace formulas {

inline Formula number(std::int64_t value) {
  Formula e;
  e.kind = Formula::Kind::number;
  e.number = ir::Real(value);
  return e;
}
inline Formula named(std::string name) {
  Formula e;
  e.kind = Formula::Kind::name;
  e.name = std::move(name);
  return e;
}
inline Formula make(Formula::Kind kind, std::vector<Formula> arguments, std::string name = {}) {
  Formula e;
  e.kind = kind;
  e.arguments = std::move(arguments);
  e.name = std::move(name);
  return e;
}
// Two arguments, moved where a list in braces would copy them.
inline std::vector<Formula> both(Formula a, Formula b) {
  std::vector<Formula> arguments;
  arguments.reserve(2);
  arguments.push_back(std::move(a));
  arguments.push_back(std::move(b));
  return arguments;
}
inline Formula make(Formula::Kind kind, Formula a, Formula b) { return make(kind, both(std::move(a), std::move(b))); }
inline Formula call(std::string function, std::vector<Formula> arguments) {
  return make(Formula::Kind::call, std::move(arguments), std::move(function));
}
inline rules::Guard relation(rules::Guard::Kind kind, Formula a, Formula b) {
  rules::Guard g;
  g.kind = kind;
  g.arguments = both(std::move(a), std::move(b));
  return g;
}
inline rules::Guard equal(Formula a, Formula b) { return relation(rules::Guard::Kind::equal, std::move(a), std::move(b)); }
inline rules::Guard at_least(Formula a, Formula b) { return relation(rules::Guard::Kind::at_least, std::move(a), std::move(b)); }

}  // namespace formulas
}  // namespace xflow::verifier
