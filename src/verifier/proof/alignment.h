// Candidates for changes of summation indices: which binders of one term correspond to which indices of
// another. Candidates are guesses; all are checked later.
#pragma once

#include <vector>

#include "src/verifier/algebra/normal.h"

namespace xflow::verifier {

// All ways (up to `limit`) to pair the factors of `a` with those of `b` so that signatures and powers agree:
// result[k] is the factor of `b` for factor k of `a`.
std::vector<std::vector<std::size_t>> pairings(const NormalTerm& a, const NormalTerm& b, std::size_t limit);

// Appends the polynomials over the unknown and other symbols that must all be 0 for the factors to be equal.
// Adds the binders inside `b`, which are unknown too, to `inner`.
void equations(const Factor& a, const Factor& b, std::vector<Poly>& result, std::vector<SymbolId>& inner);

// Finds values for `unknown` that solve as many equations as can be solved with coefficients 1 and -1.
// Unknowns that remain open are assigned the symbols of `space` that no value uses, in every order (up to
// `limit` solutions). Values mention only `space` and free symbols.
std::vector<std::vector<Poly>> solve(ir::Symbols& symbols, const std::vector<Poly>& equations, const std::vector<SymbolId>& unknown,
                                     const std::vector<SymbolId>& inner, const std::vector<SymbolId>& space, std::size_t limit);

}  // namespace xflow::verifier
