// Cheap sufficient tests on index polynomials, by the ranges of their symbols: no solver.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/verifier/algebra/normal.h"

namespace xflow::verifier {

// What is known: conditions (and facts) under which the question is asked. Nothing is assumed of an index but these.
class Ranges {
 public:
  // Keeps pointers to the atoms of the lists.
  Ranges(const ir::Symbols& symbols, std::initializer_list<std::span<const Atom>> known);
  // One atom of the lists is not known from now on.
  void leave_out(const Atom* atom) { left_out_ = atom; }

  // True only if p >= 0 wherever the known conditions hold: indices are replaced by their bounds, dimensions by 1 plus something.
  bool at_least_zero(const Poly& p) const;
  // Every element of the listed integer tensors (by their numbers) is in its range.
  struct Elements {
    Poly low;
    Poly end;  // exclusive
  };
  using ElementRanges = std::unordered_map<std::uint32_t, Elements>;
  void know(const ElementRanges& elements) { elements_ = &elements; }
  bool in_range(const Poly& p, const Poly& size) const { return at_least_zero(p) && at_least_zero(size - p - Poly(1)); }

 private:
  // One way to bound a symbol: coefficient * symbol + rest >= 0 (or = 0), coefficient 1 or -1.
  struct Bound {
    std::int64_t coefficient;
    Poly rest;
    bool equation;
    bool of_sizes;  // rest speaks of no index
    const Atom* from;
  };
  struct Least {
    SymbolId symbol;
    std::int64_t value;  // at least 0
    const Atom* from;
  };
  bool at_least_zero(const Poly& p, int depth, int& budget) const;
  bool obviously_at_least_zero(const Poly& p) const;
  bool shifted_at_least_zero(const Poly& p) const;
  std::optional<std::int64_t> least(SymbolId symbol) const;
  const std::vector<Bound>& bounds(SymbolId symbol) const;

  const ir::Symbols& symbols_;
  std::vector<const Atom*> known_;
  std::vector<Least> least_;  // symbol - c >= 0 for a c of at least 0
  const Atom* left_out_ = nullptr;
  const ElementRanges* elements_ = nullptr;
  mutable std::unordered_map<SymbolId, std::vector<Bound>> bounds_;
};

// Divides an atom by the common content and dimensions of its polynomial; nothing where it is false, an empty condition where it is true.
std::optional<Condition> tidy(const ir::Symbols& symbols, const Atom& atom);

// The monomials of dimensions (with their coefficient, where positive) that may be taken out of `p`: candidates E of p = E a + r.
std::vector<Poly> divisors(const ir::Symbols& symbols, const Poly& p);
// p = e * first + second, term by term.
std::pair<Poly, Poly> split_by(const Poly& p, const Poly& e);

}  // namespace xflow::verifier
