// Formulas and guards made from their parts. Private to guards.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/rules/rule_parts.h"

namespace xflow::verifier {

using Formula = rules::Expression;

namespace formulas {

using rules::at_least;
using rules::both;
using rules::call;
using rules::equal;
using rules::named;
using rules::number;
using rules::relation;

inline Formula make(Formula::Kind kind, std::vector<Formula> arguments, std::string name = {}) {
  return rules::compound(kind, std::move(arguments), std::move(name));
}
inline Formula make(Formula::Kind kind, Formula a, Formula b) { return make(kind, both(std::move(a), std::move(b))); }

}  // namespace formulas
}  // namespace xflow::verifier
