// Sums of a few terms over tensors of which something is known, made by hand.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "src/ops/operator.h"
#include "src/verifier/algebra/simplify.h"

namespace xflow::verifier {

// The tensors, symbols, and a normaliser.
struct Form {
  static ir::ValueId tensor(int number) { return {static_cast<ir::NodeId>(number), 0}; }

  ir::Symbols symbols;
  Algebra algebra{symbols,
                  {{tensor(11), rules::ValueFact::Kind::positive},
                   {tensor(12), rules::ValueFact::Kind::nonnegative},
                   {tensor(13), rules::ValueFact::Kind::nonzero},
                   {tensor(13), rules::ValueFact::Kind::nonnegative}}};
  Solver solver{symbols, 20'000'000};
  Condition context;

  Poly n = symbols.named(ir::SymbolKind::dimension, "N");
  Poly m = symbols.named(ir::SymbolKind::dimension, "M");
  Poly s = symbols.named(ir::SymbolKind::parameter, "s");
  Poly t = symbols.named(ir::SymbolKind::parameter, "t");
  SymbolId i = symbols.fresh(ir::SymbolKind::index, "i");
  SymbolId j = symbols.fresh(ir::SymbolKind::index, "j");
  SymbolId k = symbols.fresh(ir::SymbolKind::index, "k");
  SymbolId l = symbols.fresh(ir::SymbolKind::index, "l");

  Expression read(int number, std::vector<Poly> indices, bool boolean = false, bool integral = false) const {
    Factor f;
    f.variable = tensor(number);
    f.indices = std::move(indices);
    f.boolean = boolean;
    f.integral = integral;
    return algebra.factor(std::make_shared<Factor>(std::move(f)));
  }
  Expression x(std::vector<Poly> indices = {}) const { return read(1, std::move(indices)); }
  Expression y(std::vector<Poly> indices = {}) const { return read(2, std::move(indices)); }
  Expression z(std::vector<Poly> indices = {}) const { return read(3, std::move(indices)); }
  Expression boolean(int number) const { return read(20 + number, {}, true); }
  Expression integer(int number) const { return read(30 + number, {}, false, true); }
  Expression positive(std::vector<Poly> indices = {}) const { return read(11, std::move(indices)); }
  Expression nonnegative() const { return read(12, {}); }
  Expression nonzero_and_nonnegative() const { return read(13, {}); }
  Expression number(std::int64_t value, std::int64_t below = 1) const { return algebra.constant(*Rational::make(value, below)); }

  Expression apply(Function f, Expression a) { return algebra.apply(f, {std::move(a)}); }
  Expression apply(Function f, Expression a, Expression b) { return algebra.apply(f, {std::move(a), std::move(b)}); }
  Expression product(const Expression& a, const Expression& b) { return algebra.multiply(a, b); }
  Expression quotient(const Expression& a, const Expression& b) { return algebra.apply(Function::divide, {a, b}); }
  Expression where(Condition condition, Expression e) const {
    for (NormalTerm& term : e.terms) term.conditions.insert(term.conditions.begin(), condition.begin(), condition.end());
    return e;
  }
  static Condition range(SymbolId index, const Poly& size) {
    return {{Poly(index), Relation::at_least_zero}, ops::less_than(Poly(index), size)};
  }
  // The sum of e over the binders wherever the condition holds.
  Expression over(const std::vector<SymbolId>& binders, Condition condition, Expression e) const {
    for (NormalTerm& term : e.terms) term.binders.insert(term.binders.begin(), binders.begin(), binders.end());
    return where(std::move(condition), std::move(e));
  }
  // The sum of e over 0 <= index < size.
  Expression sum(SymbolId index, const Poly& size, Expression e) const { return over({index}, range(index, size), std::move(e)); }
  // The maximum of e over 0 <= index < size.
  Expression maximum(SymbolId index, const Poly& size, Expression e) {
    return algebra.maximum({Piece{{index}, range(index, size), std::move(e)}});
  }

  // Whether the two have the same normal form.
  bool same(const Expression& a, const Expression& b) {
    for (const Atom& atom : context) solver.assume(atom);
    Normalizer normalizer(algebra, solver, {}, 100);
    return normalizer.simplify(algebra.sum(a, algebra.negate(b)), context).is_zero();
  }
};

}  // namespace xflow::verifier
