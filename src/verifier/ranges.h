// Cheap sufficient tests on index polynomials, by the ranges of their symbols: no solver.
#pragma once

#include <optional>
#include <span>

#include "src/verifier/normal.h"

namespace xflow::verifier {

// What is known: conditions (and facts) under which the question is asked. Nothing is assumed of an index but these.
class Ranges {
 public:
  Ranges(const ir::Symbols& symbols, std::vector<Atom> known) : symbols_(symbols), known_(std::move(known)) {}

  // True only if p >= 0 wherever the known conditions hold: indices are replaced by their bounds, dimensions by 1 plus something.
  bool at_least_zero(const Poly& p) const { return at_least_zero(p, 6); }
  bool in_range(const Poly& p, const Poly& size) const { return at_least_zero(p) && at_least_zero(size - p - Poly(1)); }

 private:
  bool at_least_zero(const Poly& p, int depth) const;
  bool obviously_at_least_zero(const Poly& p) const;

  const ir::Symbols& symbols_;
  std::vector<Atom> known_;
};

// Divides an atom by the common content and dimensions of its polynomial; nothing where it is false, an empty condition where it is true.
std::optional<Condition> tidy(const ir::Symbols& symbols, const Atom& atom);

// The monomials of dimensions (with their coefficient, where positive) that may be taken out of `p`: candidates E of p = E a + r.
std::vector<Poly> divisors(const ir::Symbols& symbols, const Poly& p);
// p = e * first + second, term by term.
std::pair<Poly, Poly> split_by(const Poly& p, const Poly& e);

}  // namespace xflow::verifier
