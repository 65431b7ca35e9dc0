// Accepts or rejects certificates, without search. Each claim is decided by a syntactic comparison, by
// substituting bounds for symbols, or by one quantifier-free query.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "src/verifier/algebra/algebra.h"
#include "src/verifier/checker/certificate.h"
#include "src/verifier/proof/solver.h"

namespace xflow::verifier {

class Checker {
 public:
  // `solver` must have assumed the facts. `algebra` must know the signs of values.
  Checker(Solver& solver, Algebra& algebra, ir::Symbols& symbols) : symbols_(symbols), solver_(solver), algebra_(algebra) {}

  // True only if the terms sum to 0 wherever `context` (and the solver's facts) hold.
  bool zero(const std::vector<NormalTerm>& terms, const Condition& context, const Certificate& certificate);

  // The single claims. The search checks them, too.
  // True only if the factors are equal wherever `context` holds.
  bool equal(const Factor& a, const Factor& b, const Condition& context, const FactorProof& proof);
  bool equal_indices(const std::vector<Poly>& a, const std::vector<Poly>& b, const Condition& context);
  // True only if `maps` is a bijection of the integers: linear in `space`, with integer coefficients of
  // determinant 1 or -1.
  bool unimodular(const std::vector<Poly>& maps, const std::vector<SymbolId>& space) const;
  // True only if the sum of coefficient * [conditions] of the members over the space is 0 wherever `context`
  // holds.
  bool cancels(const std::vector<NormalTerm>& terms, const Cluster& cluster, const Condition& context);
  // True only if one of the conjunctions holds wherever `context` holds.
  bool one_holds(const Condition& context, const std::vector<Condition>& domains);
  // True only if the demand `wanted` holds wherever `context` and the demands of `given` hold.
  bool demand(const Piece& wanted, const std::vector<Piece>& given, const Condition& context, const DemandProof& proof);
  // True only if the pieces of `cover.by` together contain `covered`, whose binders already are the cover's
  // space.
  bool contained(const Piece& covered, const std::vector<Piece>& pieces, const Cover& cover, const Condition& context);
  // True only if the terms sum to 0 by arithmetic on the values of their components. `identify` returns the
  // number of the known component that the next one equals, or the next number for a new one. nullopt
  // rejects the proof.
  using Identify = std::function<std::optional<std::size_t>(const std::vector<NormalTerm>& known, const NormalTerm& component)>;
  bool zero_by_values(const std::vector<NormalTerm>& terms, const Condition& context, const Identify& identify);

 private:
  class Translation;
  bool cluster(const std::vector<NormalTerm>& terms, const Cluster& cluster, const Condition& context);
  bool cancels(const std::vector<NormalTerm>& mapped, const Condition& context);  // the members, mapped to the space
  bool arithmetic(const std::vector<NormalTerm>& terms, const Arithmetic& proof, const Condition& context);
  bool covers(const Factor& a, const Factor& b, const std::vector<Cover>& proofs, const Condition& context);
  bool speaks_of_free_symbols(const std::vector<Poly>& maps, const std::vector<SymbolId>& space, const std::vector<NormalTerm>& terms,
                              const Condition& context) const;
  Poly without_division(const Poly& p) const;
  bool obviously(const Condition& context, const Atom& atom) const;
  bool obviously(const Condition& context, const Ranges& ranges, const Atom& atom) const;  // `ranges`: of the facts and the context
  // `sum`: of the indicators that are known to hold; `known`: atoms that the context implies.
  bool obviously_vanishes(const Condition& context, std::span<const Indicator> indicators, Rational sum, Condition known,
                          int& splits) const;
  bool holds(const Condition& context, const Atom& atom);

  ir::Symbols& symbols_;
  Solver& solver_;
  Algebra& algebra_;
};

// Writes the term over the space of its cluster, without binders.
NormalTerm over_space(ir::Symbols& symbols, const NormalTerm& term, const std::vector<Poly>& maps);
Piece over_space(ir::Symbols& symbols, const Piece& piece, const std::vector<Poly>& maps);
// The terms of a - b.
std::vector<NormalTerm> difference(const Expression& a, const Expression& b);
// True if the terms are equal up to the names of binders; such terms need no certificate.
bool same_but_for_names(ir::Symbols& symbols, const NormalTerm& a, const NormalTerm& b);

}  // namespace xflow::verifier
