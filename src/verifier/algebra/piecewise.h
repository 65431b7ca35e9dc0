// Expressions of one real variable by cases, without a solver.
#pragma once

#include "src/verifier/proof/solver.h"

namespace xflow::verifier {

// True only if `e` is 0 wherever its variable is and all `clauses` hold. Sums, products and maxima of literals and the variable are
// continuous and, between finitely many points, polynomials of it: the maximum of two that differ by a line changes at the zero of that
// line. So `e` is 0 everywhere if each of its polynomials is the zero polynomial. A variable that a clause bounds to a few numbers (a
// boolean) is each of them in turn; the signs of the other clauses change at the zeros of lines, too.
//
// False where that is not so, and where the method does not decide: several variables, conditions, maxima of polynomials that
// differ by more than a line, numbers whose parts do not fit 64 bits. A clause that is not decided is left out, so that more is asked.
bool is_zero_by_cases(const RealExpr& e, std::span<const RealClause> clauses = {});

}  // namespace xflow::verifier
