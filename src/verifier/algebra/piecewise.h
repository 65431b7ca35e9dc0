// Case analysis of expressions in one real variable, without a solver.
#pragma once

#include "src/verifier/proof/solver.h"

namespace xflow::verifier {

// True only if `e` is 0 for every value of its variable for which all `clauses` hold. Sums, products and
// maxima of literals and the variable are continuous, and polynomial between finitely many points: the
// maximum of two polynomials whose difference is linear changes at the zero of the difference. So `e` is 0
// everywhere if each of its polynomials is the zero polynomial. A variable that a clause restricts to a few
// numbers (a boolean) takes each of them in turn. The signs of the other clauses change at the zeros of
// linear functions, too.
//
// False if `e` is not 0, or if the method does not decide: several variables, conditions, maxima of
// polynomials whose difference is not linear, rationals that do not fit 64 bits. A clause that is not
// decided is dropped, which strengthens the claim.
bool is_zero_by_cases(const RealExpr& e, std::span<const RealClause> clauses = {});

}  // namespace xflow::verifier
