// Solves facts that are equations for symbols. Substituting the solutions makes equal indices syntactically
// equal.
#pragma once

#include <vector>

#include "src/rules/instance.h"
#include "src/verifier/algebra/normal.h"

namespace xflow::verifier {

struct SolvedFacts {
  ir::Symbols::Substitution solved;  // symbol -> its value by the facts
  std::vector<Atom> facts;           // the facts over the remaining symbols, with the bounds of the replaced symbols
};

// Uses the facts and no other assumptions. An equation s = p (s not in p) replaces s by p, and keeps 1 <= p
// if s is a dimension. An equation s + r = q floor((s + r) / q) (q divides s + r) replaces s by q m - r for
// a new integer m. Two inequalities that together form an equation count as an equation.
SolvedFacts solve_facts(ir::Symbols& symbols, const std::vector<rules::Fact>& facts);

}  // namespace xflow::verifier
