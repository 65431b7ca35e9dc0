// Facts that are equations determine symbols: replacing these makes equal indices equal by syntax.
#pragma once

#include <vector>

#include "src/rules/instance.h"
#include "src/verifier/algebra/normal.h"

namespace xflow::verifier {

struct SolvedFacts {
  ir::Symbols::Substitution solved;  // symbol -> what the facts say it is
  std::vector<Atom> facts;           // the facts in the symbols that stay, with the bounds of those that were replaced
};

// Only facts are used, nothing is assumed: an equation s = p (s not in p) replaces s by p and keeps 1 <= p for a dimension s; an equation
// s + r = q floor((s + r) / q) (q divides s + r) replaces s by q m - r for a new integer m.
// Two inequalities that are an equation count as one.
SolvedFacts solve_facts(ir::Symbols& symbols, const std::vector<rules::Fact>& facts);

}  // namespace xflow::verifier
