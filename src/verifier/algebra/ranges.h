// Cheap sufficient tests on index polynomials by the ranges of their symbols, without a solver.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/verifier/algebra/normal.h"

namespace xflow::verifier {

// The known conditions (and facts) under which questions are answered. Nothing else is assumed of an index.
class Ranges {
 public:
  // Stores pointers to the atoms of the lists.
  Ranges(const ir::Symbols& symbols, std::initializer_list<std::span<const Atom>> known);
  // Ignores one atom of the lists from now on.
  void leave_out(const Atom* atom) {
    left_out_ = atom;
    if (elements_ != nullptr && !elements_->empty()) bounds_.clear();  // the atom may decide which elements have a range
  }

  // True only if p >= 0 wherever the known conditions hold. Replaces indices by their bounds, and dimensions
  // by 1 plus a nonnegative number.
  bool at_least_zero(const Poly& p) const;
  // A range of elements of an integer tensor: of all elements, or of those at `indices` for all binders that
  // satisfy the conditions.
  struct Elements {
    Poly low;
    Poly end;  // exclusive
    bool all = true;
    std::vector<SymbolId> binders;  // each occurs in one of the indices with the coefficient 1 or -1
    std::vector<Poly> indices;
    Condition conditions;
    // The range of the element at `index`, valid where the conditions of the result hold. nullopt if `index`
    // does not determine the binders.
    std::optional<Elements> at(const ir::Symbols& symbols, const std::vector<Poly>& index) const;
  };
  using ElementRanges = std::unordered_map<std::uint32_t, std::vector<Elements>>;  // by the number of the tensor
  void know(const ElementRanges& elements) {
    elements_ = &elements;
    bounds_.clear();
  }
  bool holds(const Atom& atom) const;
  bool in_range(const Poly& p, const Poly& size) const { return at_least_zero(p) && at_least_zero(size - p - Poly(1)); }

 private:
  // One bound of a symbol: coefficient * symbol + rest >= 0 (or = 0). The coefficient is 1 or -1.
  struct Bound {
    std::int64_t coefficient;
    Poly rest;
    bool equation;
    bool of_sizes;  // rest mentions no index
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
  void add_element_bounds(SymbolId symbol, std::vector<Bound>& bounds) const;

  const ir::Symbols& symbols_;
  std::vector<const Atom*> known_;
  std::vector<Least> least_;  // symbol - c >= 0 for a c of at least 0
  const Atom* left_out_ = nullptr;
  const ElementRanges* elements_ = nullptr;
  mutable std::unordered_map<SymbolId, std::vector<Bound>> bounds_;
};

// Divides an atom by the common content and dimensions of its polynomial. nullopt if the atom is false; an
// empty condition if it is true.
std::optional<Condition> tidy(const ir::Symbols& symbols, const Atom& atom);

// The monomials of dimensions (with their coefficient if it is positive) that may be factored out of `p`:
// candidates e for p = e a + r.
std::vector<Poly> divisors(const ir::Symbols& symbols, const Poly& p);
// Splits p = e * first + second, term by term.
std::pair<Poly, Poly> split_by(const Poly& p, const Poly& e);

}  // namespace xflow::verifier
