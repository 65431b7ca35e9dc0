// Common factors of the terms of an expression, and logarithms, which take them out.
#include <algorithm>

#include "src/verifier/algebra/algebra.h"
#include "src/verifier/faults.h"

namespace xflow::verifier {

NormalTerm Algebra::common(const std::vector<const NormalTerm*>& terms, const std::vector<SymbolId>& bound, const Usable& usable) const {
  NormalTerm result;
  for (const DimensionPower& d : terms[0]->dimensions) {
    int least = d.power;
    for (const NormalTerm* t : terms) {
      const auto at = std::find_if(t->dimensions.begin(), t->dimensions.end(), [&](const auto& x) { return x.dimension == d.dimension; });
      const int here = at == t->dimensions.end() ? 0 : at->power;
      least = (here > 0) == (least > 0) && here != 0 ? (std::abs(here) < std::abs(least) ? here : least) : 0;
      if (least == 0) break;
    }
    if (least != 0) result.dimensions.push_back({d.dimension, least});
  }
  for (const FactorPower& f : terms[0]->factors) {
    if (std::any_of(bound.begin(), bound.end(), [&](SymbolId b) { return mentions(symbols_, *f.factor, b); }) &&
        !broken(Fault::common_takes_bound_factors))
      continue;
    int least = f.power;
    for (const NormalTerm* t : terms) {
      int here = 0;
      for (const FactorPower& g : t->factors)
        if ((g.power > 0) == (f.power > 0) && equal_up_to_renaming(symbols_, *f.factor, *g.factor)) here = g.power;
      if (std::abs(here) < std::abs(least) && !broken(Fault::common_takes_the_first_power)) least = here;
    }
    if (least != 0) least = usable({f.factor, least});
    if (least != 0) result.factors.push_back({f.factor, least});
  }
  return result;
}

NormalTerm Algebra::without(NormalTerm term, const NormalTerm& common) const {
  term.coefficient = times(term.coefficient, inverse(common.coefficient));
  for (const DimensionPower& d : common.dimensions) {
    for (auto& x : term.dimensions)
      if (x.dimension == d.dimension) x.power -= d.power;
  }
  std::erase_if(term.dimensions, [](const DimensionPower& d) { return d.power == 0; });
  for (const FactorPower& f : common.factors) {
    for (FactorPower& g : term.factors) {
      if ((g.power > 0) != (f.power > 0) || !equal_up_to_renaming(symbols_, *f.factor, *g.factor)) continue;
      g.power -= f.power;
      break;
    }
    std::erase_if(term.factors, [](const FactorPower& g) { return g.power == 0; });
  }
  return term;
}

// log(c d p^n t) = log(c) + log(d) + n log(p) + log(t) for a positive rational c, dimensions d and positive
// p; log(exp(t)) = t.
Expression Algebra::logarithm(const Expression& e) {
  if (e.is_zero()) return function(Function::log, {e});
  std::vector<const NormalTerm*> terms;
  std::vector<SymbolId> bound;
  for (const NormalTerm& t : e.terms) {
    terms.push_back(&t);
    bound.insert(bound.end(), t.binders.begin(), t.binders.end());
  }
  NormalTerm outer = common(terms, bound, [&](const FactorPower& f) {
    return positive(*f.factor) || broken(Fault::common_logarithm_of_any_factor) ? f.power : 0;
  });
  outer.coefficient = content({&e});
  Expression rest;
  for (const NormalTerm& t : e.terms) rest.terms.push_back(without(t, outer));
  Expression result;
  if (!(outer.coefficient == Rational(1)) && !broken(Fault::common_logarithm_without_coefficient))
    result = function(Function::log, {constant(outer.coefficient)});
  for (const DimensionPower& d : outer.dimensions) {
    result = sum(std::move(result), scale(function(Function::log, {integer(Poly(d.dimension))}), Rational(d.power)));
  }
  for (const FactorPower& f : outer.factors) {
    const bool is_exponential =
        f.factor->kind == FactorKind::function && f.factor->function == Function::exp && f.factor->data_type == ir::DataType::undefined;
    const Expression one = is_exponential ? refresh(symbols_, f.factor->arguments[0]) : function(Function::log, {factor(f.factor)});
    result = sum(std::move(result), scale(one, Rational(broken(Fault::common_logarithm_without_power) ? 1 : f.power)));
  }
  if (const auto one = constant_value(rest); one && *one == Rational(1)) return result;
  return sum(std::move(result), function(Function::log, {std::move(rest)}));
}

}  // namespace xflow::verifier
