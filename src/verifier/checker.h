// Accepts or rejects certificates. No search here: each claim is a syntactic comparison or one query.
#pragma once

#include <functional>
#include <vector>

#include "src/verifier/certificate.h"
#include "src/verifier/solver.h"

namespace xflow::verifier {

class Checker {
 public:
  // Decides whether the listed terms sum to 0 by arithmetic on their values; see scalar.h.
  using Scalar = std::function<bool(const std::vector<Term>& terms, const Condition& context)>;
  Checker(ir::Symbols& symbols, Solver& solver, Scalar scalar) : symbols_(symbols), solver_(solver), scalar_(std::move(scalar)) {}

  // True only if the terms sum to 0 wherever `context` (and the solver's facts) hold.
  bool zero(const std::vector<Term>& terms, const Condition& context, const Certificate& certificate);

  // The single claims, which the matcher asks too.
  // The factors are equal wherever `context` holds.
  bool equal(const Factor& a, const Factor& b, const Condition& context, const FactorProof& proof);
  bool equal_indices(const std::vector<Poly>& a, const std::vector<Poly>& b, const Condition& context);
  // maps is a bijection of the integers: linear in `space` with integer coefficients of determinant 1 or -1.
  bool unimodular(const std::vector<Poly>& maps, const std::vector<SymbolId>& space) const;
  // The sum of coefficient * [conditions] of the members over the space is 0 wherever `context` holds.
  bool cancels(const std::vector<Term>& terms, const Cluster& cluster, const Condition& context);
  // The pieces `by` together contain piece `covered` (whose binders are the cover's space already).
  bool contained(const Piece& covered, const std::vector<Piece>& pieces, const Cover& cover, const Condition& context);

 private:
  bool cluster(const std::vector<Term>& terms, const Cluster& cluster, const Condition& context);
  bool covers(const Factor& a, const Factor& b, const std::vector<Cover>& proofs, const Condition& context);

  ir::Symbols& symbols_;
  Solver& solver_;
  Scalar scalar_;
};

// The term over the space of its cluster, without binders.
Term over_space(ir::Symbols& symbols, const Term& term, const std::vector<Poly>& maps);
Piece over_space(ir::Symbols& symbols, const Piece& piece, const std::vector<Poly>& maps);
// The terms of a - b.
std::vector<Term> difference(const Expression& a, const Expression& b);

}  // namespace xflow::verifier
