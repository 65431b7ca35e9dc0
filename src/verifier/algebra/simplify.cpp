#include "src/verifier/algebra/simplify.h"

#include <algorithm>

#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::SymbolKind;
using ir::Symbols;

Normalizer::Normalizer(Algebra& algebra, Solver& solver, std::vector<Atom> facts, std::uint64_t step_limit)
    : algebra_(algebra), solver_(solver), facts_(std::move(facts)), step_limit_(step_limit) {}

void Normalizer::step() {
  if (++steps_ > step_limit_) throw Stop{true, "the limit of rewriting steps was reached"};
  if (deadline_.is_over()) throw Stop{true, "the time limit was reached"};
}

Condition Normalizer::joined(const Condition& a, const Condition& b) const {
  Condition result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

Expression Normalizer::simplify(const Expression& expression, const Condition& context) {
  std::vector<NormalTerm> work(expression.terms.rbegin(), expression.terms.rend());
  std::vector<NormalTerm> done;
  ++nesting_;
  while (!work.empty()) {
    step();
    NormalTerm next = std::move(work.back());
    work.pop_back();
    simplify_term(std::move(next), context, work, done);
  }
  --nesting_;
  return Expression{combine(std::move(done))};
}

void Normalizer::simplify_term(NormalTerm term, const Condition& context, std::vector<NormalTerm>& work, std::vector<NormalTerm>& done) {
  if (term.coefficient.numerator() == 0) return;
  // First binders and conditions.
  for (;;) {
    step();
    std::vector<Poly> inner;
    for (const FactorPower& f : term.factors) collect_polys(*f.factor, inner);
    Symbols::Substitution by;
    const Step result = scope_step(term.binders, term.conditions, inner, context, by);
    if (result == Step::empty) return;
    if (result == Step::none) break;
    if (!by.empty()) term = substitute(symbols(), term, by);
  }
  if (!broken(Fault::simplify_unused_binders_stay) && replace_unused_binder(term, context, work)) return;
  if (!broken(Fault::simplify_empty_terms_stay) && is_empty(term.binders, term.conditions, context)) return;
  // Then the factors, under these conditions.
  const Condition here = broken(Fault::simplify_factors_without_conditions) ? context : joined(context, term.conditions);
  Expression product;
  product.terms.push_back(term);
  product.terms.back().factors.clear();
  bool changed = false;
  // Where a boolean factor is 0, the other factors do not matter: they are simplified where it is 1.
  KnownBooleans booleans = algebra_.knows_signs() ? algebra_.booleans() : KnownBooleans();
  for (const FactorPower& f : term.factors)
    if (f.factor->boolean && algebra_.knows_signs()) booleans.push_back({f.factor, true});
  const Algebra::Under under(algebra_, here, booleans);
  for (const FactorPower& f : term.factors) {
    const Expression value = simplify_factor(f.factor, here, f.factor->boolean ? KnownBooleans() : booleans);
    const bool is_itself = value.terms.size() == 1 && value.terms[0].factors.size() == 1 && value.terms[0].factors[0].power == 1 &&
                           value.terms[0].binders.empty() && value.terms[0].conditions.empty() && value.terms[0].dimensions.empty() &&
                           value.terms[0].coefficient == Rational(1) && same(*value.terms[0].factors[0].factor, *f.factor);
    changed = changed || !is_itself;
    if (is_itself) {
      for (NormalTerm& t : product.terms) {
        const std::size_t before = t.factors.size();
        algebra_.multiply_factor(t, f.factor, f.power);
        changed = changed || t.factors.size() != before + 1;
      }
    } else {
      product = algebra_.multiply(product, algebra_.power(value, broken(Fault::simplify_powers_are_lost) ? 1 : f.power));
    }
  }
  if (changed) {
    work.insert(work.end(), product.terms.rbegin(), product.terms.rend());
    return;
  }
  term.factors = product.terms[0].factors;
  if (const auto expanded = broken(Fault::simplify_roots_stay) ? std::nullopt : algebra_.expand_roots(term)) {
    work.insert(work.end(), expanded->terms.rbegin(), expanded->terms.rend());
    return;
  }
  std::optional<Atom> atom = wrapped_division(term, context);
  for (std::size_t k = 0; k < term.factors.size() && !atom; ++k) atom = liftable(*term.factors[k].factor);
  if (atom) {
    NormalTerm otherwise = refresh(symbols(), term);
    // The copy has renamed binders, so the atom's binders are renamed, too.
    Symbols::Substitution by;
    for (std::size_t k = 0; k < term.binders.size(); ++k) by.emplace(term.binders[k], Poly(otherwise.binders[k]));
    const Atom negated = negation(*atom);
    otherwise.conditions.push_back({symbols().substitute(negated.poly, by), negated.relation});
    term.conditions.push_back(*atom);
    if (!broken(Fault::simplify_lifted_case_is_lost)) work.push_back(std::move(otherwise));
    work.push_back(std::move(term));
    return;
  }
  done.push_back(std::move(term));
}

bool Normalizer::replace_unused_binder(NormalTerm& term, const Condition& context, std::vector<NormalTerm>& work) {
  for (std::size_t k = 0; k < term.binders.size(); ++k) {
    const SymbolId b = term.binders[k];
    if (std::any_of(term.factors.begin(), term.factors.end(), [&](const FactorPower& f) { return mentions(symbols(), *f.factor, b); }))
      continue;
    const auto n = count(b, term.conditions, context);
    if (!n) continue;
    NormalTerm rest = term;
    rest.binders.erase(rest.binders.begin() + static_cast<std::ptrdiff_t>(k));
    std::erase_if(rest.conditions, [&](const Atom& a) { return mentions(symbols(), a, b); });
    const Expression product = algebra_.multiply(Expression{{std::move(rest)}}, algebra_.integer(*n));
    work.insert(work.end(), product.terms.rbegin(), product.terms.rend());
    return true;
  }
  return false;
}

Expression Normalizer::simplify_factor(const FactorPtr& factor, const Condition& context, KnownBooleans booleans) {
  step();
  const Algebra::Under under(algebra_, context, std::move(booleans));
  switch (factor->kind) {
    case FactorKind::read:
    case FactorKind::real:
      return algebra_.factor(factor);
    case FactorKind::integer:
      return algebra_.integer(factor->integer);
    case FactorKind::function: {
      std::vector<Expression> arguments;
      for (const Expression& a : factor->arguments) arguments.push_back(simplify(a, context));
      if (factor->data_type != ir::DataType::undefined) return algebra_.convert(factor->data_type, std::move(arguments[0]));
      if (factor->boolean && factor->function == Function::less) {
        // less(d) is 0 < d.
        if (broken(Fault::simplify_less_is_swapped)) return algebra_.apply(Function::less, {std::move(arguments[0]), Expression{}});
        return algebra_.apply(Function::less, {Expression{}, std::move(arguments[0])});
      }
      if (factor->boolean && factor->function == Function::equal) return algebra_.apply(Function::equal, {std::move(arguments[0]), {}});
      return algebra_.apply(factor->function, std::move(arguments));
    }
    case FactorKind::predicate: {
      auto result = std::make_shared<Factor>(*factor);
      for (Expression& a : result->arguments) a = simplify(a, context);
      return algebra_.factor(std::move(result));
    }
    case FactorKind::maximum:
      break;
  }
  return algebra_.maximum(simplify_pieces(factor->pieces, context));
}

std::vector<Piece> Normalizer::simplify_pieces(const std::vector<Piece>& pieces, const Condition& context) {
  std::vector<Piece> work(pieces.rbegin(), pieces.rend());
  std::vector<Piece> done;
  while (!work.empty()) {
    step();
    Piece next = std::move(work.back());
    work.pop_back();
    simplify_piece(std::move(next), context, work, done);
  }
  return done;
}

void Normalizer::simplify_piece(Piece piece, const Condition& context, std::vector<Piece>& work, std::vector<Piece>& done) {
  for (;;) {
    step();
    std::vector<Poly> inner;
    collect_polys(piece.body, inner);
    Symbols::Substitution by;
    const Step result = scope_step(piece.binders, piece.conditions, inner, context, by);
    if (result == Step::empty) return;
    if (result == Step::none && !merge_sums(piece.binders, piece.conditions, inner, context, by)) break;
    if (!by.empty()) piece = substitute(symbols(), piece, by);
  }
  if (!broken(Fault::simplify_empty_pieces_stay) && is_empty(piece.binders, piece.conditions, context)) return;
  piece.body = simplify(piece.body, joined(context, piece.conditions));
  // Removes an unused binder: its range has at least one value, so the maximum does not depend on it.
  for (std::size_t k = 0; k < piece.binders.size(); ++k) {
    const SymbolId b = piece.binders[k];
    if (std::any_of(piece.body.terms.begin(), piece.body.terms.end(), [&](const NormalTerm& t) { return mentions(symbols(), t, b); }))
      continue;
    const auto n = count(b, piece.conditions, context);
    if (!n) continue;
    const bool occurs = solver_.implies(context, ops::at_least(*n, Poly(1)), Solver::Effort::linear);
    if ((!occurs && !broken(Fault::simplify_maximum_over_nothing)) || broken(Fault::simplify_binders_of_maxima_stay)) continue;
    piece.binders.erase(piece.binders.begin() + static_cast<std::ptrdiff_t>(k));
    std::erase_if(piece.conditions, [&](const Atom& a) { return mentions(symbols(), a, b); });
    work.push_back(std::move(piece));
    return;
  }
  // A condition of a term that mentions none of the term's own binders splits the piece.
  for (const NormalTerm& t : piece.body.terms) {
    for (const Atom& a : t.conditions) {
      if (std::any_of(t.binders.begin(), t.binders.end(), [&](SymbolId b) { return mentions(symbols(), a, b); })) continue;
      if (broken(Fault::simplify_pieces_stay_whole)) continue;
      Piece otherwise = piece;
      otherwise.conditions.push_back(negation(a));
      otherwise = refresh(symbols(), otherwise);
      piece.conditions.push_back(a);
      if (!broken(Fault::simplify_piece_is_lost)) work.push_back(std::move(otherwise));
      work.push_back(std::move(piece));
      return;
    }
  }
  done.push_back(std::move(piece));
}

std::optional<Atom> Normalizer::liftable(const Factor& factor) const {
  if (broken(Fault::simplify_conditions_stay_inside)) return std::nullopt;
  std::vector<SymbolId> own;
  collect_binders(factor, own);
  const auto uses_own = [&](const Atom& a) {
    return std::any_of(own.begin(), own.end(), [&](SymbolId b) { return mentions(algebra_.symbols(), a, b); }) &&
           !broken(Fault::simplify_bound_conditions_move_out);
  };
  for (const Expression& e : factor.arguments) {
    for (const NormalTerm& t : e.terms) {
      for (const Atom& a : t.conditions)
        if (!uses_own(a)) return a;
    }
  }
  for (const Piece& p : factor.pieces) {
    for (const Atom& a : p.conditions)
      if (!uses_own(a)) return a;
    for (const NormalTerm& t : p.body.terms) {
      for (const Atom& a : t.conditions)
        if (!uses_own(a)) return a;
    }
  }
  return std::nullopt;
}

// Merges like terms.
std::vector<NormalTerm> Normalizer::combine(std::vector<NormalTerm> terms) {
  if (terms.size() == 1 && terms[0].coefficient.numerator() != 0) return terms;
  std::vector<NormalTerm> result;
  std::vector<std::string> signatures;
  for (NormalTerm& t : terms) {
    std::string s = signature(t);
    bool merged = false;
    for (std::size_t k = 0; k < result.size() && !merged; ++k) {
      if (signatures[k] != s) continue;
      if (!equal_but_for_coefficient(symbols(), result[k], t) && !broken(Fault::simplify_unlike_terms_join)) continue;
      if (!broken(Fault::simplify_like_terms_are_lost)) result[k].coefficient = plus(result[k].coefficient, t.coefficient);
      merged = true;
    }
    if (!merged) {
      result.push_back(std::move(t));
      signatures.push_back(std::move(s));
    }
  }
  std::erase_if(result, [](const NormalTerm& t) { return t.coefficient.numerator() == 0 && !broken(Fault::simplify_zero_terms_stay); });
  return result;
}

bool Normalizer::is_empty(const std::vector<SymbolId>& binders, const Condition& conditions, const Condition& context) {
  // Ranges of binders alone are treated as not empty: keeping a term with an empty range is harmless.
  const auto is_range = [&](const Atom& a) {
    if (a.relation != Relation::at_least_zero) return false;
    return std::any_of(binders.begin(), binders.end(), [&](SymbolId b) {
      if (a.poly == Poly(b)) return true;
      const Poly size = a.poly + Poly(b);
      const auto inside = symbols().all_symbols(size);
      return std::none_of(inside.begin(), inside.end(), [&](SymbolId s) { return symbols().info(s).kind == SymbolKind::index; });
    });
  };
  if (std::all_of(conditions.begin(), conditions.end(), is_range)) return false;
  const Condition all = joined(context, conditions);
  std::vector<EmptinessEntry>& entries = emptiness_[hash_of(all)];
  for (const EmptinessEntry& e : entries)
    if (same(e.condition, all)) return e.empty;
  // Empty if an atom contradicts the others, or if the solver finds a contradiction.
  Ranges ranges(symbols(), {facts_, context, conditions});
  ranges.know(solver_.element_ranges());
  const bool contradicts = std::any_of(conditions.begin(), conditions.end(), [&](const Atom& a) {
    ranges.leave_out(&a);
    return a.relation == Relation::at_least_zero && ranges.at_least_zero(Poly(-1) - a.poly);
  });
  const bool empty =
      contradicts || solver_.contradictory(all, Solver::Effort::linear) || broken(Fault::simplify_every_condition_contradicts);
  entries.push_back({all, empty});
  return empty;
}

}  // namespace xflow::verifier
