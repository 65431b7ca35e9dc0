// The checker, claim by claim. It trusts polynomials (src/ir), substitution and comparison of normal forms
// (normal.cpp), the signs of values (algebra.cpp), the bounds of ranges.cpp, and the solver for the
// claims that these do not show.
#include "src/verifier/checker/checker.h"

#include <algorithm>

#include "src/verifier/algebra/ranges.h"
#include "src/verifier/faults.h"
#include "src/verifier/proof/demands.h"

namespace xflow::verifier {

using ir::Symbols;

namespace {

Symbols::Substitution substitution(const std::vector<SymbolId>& binders, const std::vector<Poly>& maps) {
  Symbols::Substitution by;
  for (std::size_t k = 0; k < binders.size(); ++k) by.emplace(binders[k], maps[k]);
  return by;
}

bool contains(const std::vector<SymbolId>& list, SymbolId s) { return std::find(list.begin(), list.end(), s) != list.end(); }

// The determinant of an integer matrix by fraction-free elimination (Bareiss); every division is exact.
// nullopt on overflow.
std::optional<std::int64_t> determinant(std::vector<std::vector<std::int64_t>> m) {
  const std::size_t n = m.size();
  std::int64_t previous = 1;
  std::int64_t sign = 1;
  for (std::size_t k = 0; k + 1 < n; ++k) {
    std::size_t pivot = k;
    while (pivot < n && m[pivot][k] == 0) ++pivot;
    if (pivot == n || (pivot != k && broken(Fault::checker_determinant_without_pivot))) return 0;
    if (pivot != k) {
      std::swap(m[pivot], m[k]);
      sign = -sign;
    }
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = k + 1; j < n; ++j) {
        std::int64_t x = 0;
        std::int64_t y = 0;
        std::int64_t d = 0;
        const bool x_overflows = __builtin_mul_overflow(m[i][j], m[k][k], &x);
        const bool y_overflows = __builtin_mul_overflow(m[i][k], m[k][j], &y);
        const bool overflows = __builtin_sub_overflow(x, y, &d) || x_overflows || y_overflows;
        if (overflows && !broken(Fault::checker_determinant_overflow)) return std::nullopt;
        m[i][j] = broken(Fault::checker_determinant_without_division) ? d : d / previous;
      }
    }
    previous = m[k][k];
  }
  return n == 0 ? 1 : sign * m[n - 1][n - 1];
}

// c [P] + d [P] = (c + d) [P], and 0 [P] = 0. This leaves nothing of most clusters.
void add_equal(std::vector<Indicator>& indicators) {
  const auto contains_all = [](const Condition& a, const Condition& b) {
    return std::all_of(b.begin(), b.end(),
                       [&](const Atom& x) { return std::any_of(a.begin(), a.end(), [&](const Atom& y) { return same(x, y); }); });
  };
  std::vector<Indicator> sums;
  for (Indicator& i : indicators) {
    const auto equal = [&](const Indicator& s) {
      return (contains_all(i.condition, s.condition) && contains_all(s.condition, i.condition)) ||
             broken(Fault::checker_adds_any_indicators);
    };
    const auto at = std::find_if(sums.begin(), sums.end(), equal);
    if (at == sums.end()) {
      sums.push_back(std::move(i));
    } else {
      at->coefficient = plus(at->coefficient, i.coefficient);
    }
  }
  std::erase_if(sums, [](const Indicator& s) { return s.coefficient == Rational(0); });
  indicators = std::move(sums);
}

}  // namespace

// Maps beyond the binders belong to added binders u with the condition u = 0: f = Sum_u [u = 0] f.
NormalTerm over_space(Symbols& symbols, const NormalTerm& term, const std::vector<Poly>& maps) {
  NormalTerm result = substitute(symbols, term, substitution(term.binders, maps));
  result.binders.clear();
  if (broken(Fault::checker_added_binders_are_free)) return result;
  for (std::size_t k = term.binders.size(); k < maps.size(); ++k) result.conditions.push_back({maps[k], Relation::zero});
  return result;
}

Piece over_space(Symbols& symbols, const Piece& piece, const std::vector<Poly>& maps) {
  Piece result = substitute(symbols, piece, substitution(piece.binders, maps));
  result.binders.clear();
  return result;
}

std::vector<NormalTerm> difference(const Expression& a, const Expression& b) {
  std::vector<NormalTerm> terms = a.terms;
  for (NormalTerm t : b.terms) {
    t.coefficient = times(t.coefficient, Rational(-1));
    terms.push_back(std::move(t));
  }
  return terms;
}

bool same_but_for_names(Symbols& symbols, const NormalTerm& a, const NormalTerm& b) {
  return a.coefficient == b.coefficient && equal_but_for_coefficient(symbols, a, b);
}

// Sums of terms. -------------------------------------------------------------------------------------------------------------------

bool Checker::zero(const std::vector<NormalTerm>& terms, const Condition& context, const Certificate& certificate) {
  // Each term occurs exactly once: in a cluster or in the arithmetic.
  std::vector<int> seen(terms.size(), 0);
  for (const Cluster& c : certificate.clusters)
    for (const Member& m : c.members)
      if (m.term >= terms.size() || (seen[m.term]++ != 0 && !broken(Fault::checker_term_twice))) return false;
  for (const std::size_t t : certificate.arithmetic.terms)
    if (t >= terms.size() || (seen[t]++ != 0 && !broken(Fault::checker_arithmetic_of_a_term_twice))) return false;
  if (std::find(seen.begin(), seen.end(), 0) != seen.end() && !broken(Fault::checker_term_left_out)) return false;
  // Each group sums to 0 by itself.
  for (const Cluster& c : certificate.clusters)
    if (!cluster(terms, c, context)) return false;
  return arithmetic(terms, certificate.arithmetic, context);
}

// sum over members j of c_j Sum_b [P_j(b)] f_j(b)  =  Sum_z f_0(z) (sum over j of c_j [P_j(map_j z)])  if every map is a bijection and
// f_j(map_j z) = f_0(z) wherever P_j(map_j z).
bool Checker::cluster(const std::vector<NormalTerm>& terms, const Cluster& cluster, const Condition& context) {
  if (cluster.members.empty()) return true;
  // The space consists of new symbols without any facts: they range over all integers.
  for (const SymbolId z : cluster.space) {
    if (symbols_.info(z).kind != ir::SymbolKind::parameter && !broken(Fault::checker_space_of_dimensions)) return false;
    const auto is_used = [&](const auto& x) { return mentions(symbols_, x, z); };
    if (std::any_of(terms.begin(), terms.end(), is_used) && !broken(Fault::checker_space_in_terms)) return false;
    if (std::any_of(context.begin(), context.end(), is_used) && !broken(Fault::checker_space_in_context)) return false;
    if (std::any_of(solver_.facts().begin(), solver_.facts().end(), is_used) && !broken(Fault::checker_space_in_facts)) return false;
  }
  for (const Member& m : cluster.members) {
    // There is at least one map per binder, and one per symbol of the space. Together they are a bijection,
    // and nothing inside the terms captures them.
    if (m.maps.size() < terms[m.term].binders.size() || m.maps.size() != cluster.space.size()) return false;
    if (!unimodular(m.maps, cluster.space) || !speaks_of_free_symbols(m.maps, cluster.space, terms, context)) return false;
  }
  std::vector<NormalTerm> all;
  all.reserve(cluster.members.size());
  for (const Member& m : cluster.members) all.push_back(over_space(symbols_, terms[m.term], m.maps));
  const NormalTerm& first = all.front();
  for (std::size_t j = 0; j < all.size(); ++j) {
    const Member& m = cluster.members[j];
    const NormalTerm& mapped = all[j];
    // The dimensions as factors are equal, and the number of other factors, too.
    if (mapped.dimensions != first.dimensions && !broken(Fault::checker_other_dimensions)) return false;
    if (mapped.factors.size() < first.factors.size()) return false;
    if (mapped.factors.size() > first.factors.size() && !broken(Fault::checker_more_factors)) return false;
    if (m.pairing.size() != first.factors.size() && !m.pairing.empty()) return false;
    if (m.factors.size() != first.factors.size() && !m.factors.empty()) return false;
    // The pairing is a permutation, and paired factors are equal wherever the conditions of this member
    // hold.
    std::vector<int> used(mapped.factors.size(), 0);
    const Condition here = broken(Fault::checker_factors_without_conditions) ? context : joined(context, mapped.conditions);
    for (std::size_t k = 0; k < first.factors.size(); ++k) {
      const std::size_t with = m.pairing.empty() ? k : m.pairing[k];
      if (with >= mapped.factors.size() || (used[with]++ != 0 && !broken(Fault::checker_factor_paired_twice))) return false;
      const FactorPower& f = mapped.factors[with];
      if (f.power != first.factors[k].power && !broken(Fault::checker_other_power)) return false;
      const bool are_equal = equal(*f.factor, *first.factors[k].factor, here, m.factors.empty() ? FactorProof{} : m.factors[k]);
      if (!are_equal && !broken(Fault::checker_factors_differ)) return false;
    }
  }
  return cancels(all, context) || broken(Fault::checker_coefficients_do_not_cancel);
}

// maps = A space + rest, where A is an integer matrix of determinant 1 or -1 and the rest does not mention
// the space.
bool Checker::unimodular(const std::vector<Poly>& maps, const std::vector<SymbolId>& space) const {
  std::vector<std::vector<std::int64_t>> matrix;
  for (const Poly& p : maps) {
    if (p.is_poisoned()) return false;
    std::vector<std::int64_t> row;
    Poly rest = p;
    for (const SymbolId z : space) {
      const auto linear = rest.linear_in(z);
      if (!linear || (!linear->first.is_constant() && !broken(Fault::checker_symbolic_matrix))) return false;
      row.push_back(linear->first.constant().value_or(1));
      rest = linear->second;
    }
    for (const SymbolId z : space)
      if (symbols_.occurs(rest, z) && !broken(Fault::checker_rest_of_a_map)) return false;
    matrix.push_back(std::move(row));
  }
  const auto d = determinant(std::move(matrix));
  if (broken(Fault::checker_determinant_zero) && d == 0) return true;
  if (broken(Fault::checker_determinant_two) && d && std::abs(*d) == 2) return true;
  return d && (*d == 1 || *d == -1);
}

// Every symbol of the maps outside of the space occurs free in the terms or the context. A binder would be
// captured by its sum, and a symbol made for the purpose (a division by a value that may be 0) would add a
// false defining inequality.
bool Checker::speaks_of_free_symbols(const std::vector<Poly>& maps, const std::vector<SymbolId>& space,
                                     const std::vector<NormalTerm>& terms, const Condition& context) const {
  std::vector<SymbolId> others;
  for (const Poly& p : maps)
    for (const SymbolId s : symbols_.all_symbols(p))
      if (!contains(space, s)) others.push_back(s);
  if (others.empty()) return true;
  std::vector<SymbolId> bound;
  std::vector<Poly> polys;
  for (const NormalTerm& t : terms) {
    collect_binders(t, bound);
    collect_polys(t, polys);
  }
  for (const Atom& a : context) polys.push_back(a.poly);
  return std::all_of(others.begin(), others.end(), [&](SymbolId s) {
    const bool captured = contains(bound, s) && !broken(Fault::checker_captured_binder);
    const bool occurs = std::any_of(polys.begin(), polys.end(), [&](const Poly& p) { return symbols_.occurs(p, s); });
    return !captured && (occurs || broken(Fault::checker_made_symbol));
  });
}

bool Checker::cancels(const std::vector<NormalTerm>& terms, const Cluster& cluster, const Condition& context) {
  std::vector<NormalTerm> mapped;
  mapped.reserve(cluster.members.size());
  for (const Member& m : cluster.members) mapped.push_back(over_space(symbols_, terms[m.term], m.maps));
  return cancels(mapped, context);
}

bool Checker::cancels(const std::vector<NormalTerm>& mapped, const Condition& context) {
  std::vector<Indicator> indicators;
  indicators.reserve(mapped.size());
  for (const NormalTerm& t : mapped) {
    indicators.push_back({t.coefficient, t.conditions});
    if (broken(Fault::checker_indicators_without_conditions)) indicators.back().condition.clear();
  }
  add_equal(indicators);
  int splits = 16;
  return obviously_vanishes(context, indicators, Rational(0), {}, splits) || solver_.vanishes(context, indicators, Solver::Effort::full);
}

// Splits cases on conditions that are not decided. Once all are decided, the coefficients of the indicators
// that hold must sum to 0. Decisions remain valid in nested cases, so these receive the sum so far, the
// remaining indicators, and the undecided atoms of the first of them.
bool Checker::obviously_vanishes(const Condition& context, std::span<const Indicator> indicators, Rational sum, Condition known,
                                 int& splits) const {
  const Ranges ranges(symbols_, {solver_.facts(), context});
  const auto holds = [&](const Atom& a) {
    if (std::any_of(known.begin(), known.end(), [&](const Atom& x) { return same(x, a); })) return true;
    if (!obviously(context, ranges, a)) return false;
    known.push_back(a);
    return true;
  };
  for (std::size_t k = 0; k < indicators.size(); ++k) {
    bool is_false = false;
    Condition open;
    for (const Atom& a : indicators[k].condition) {
      if (holds(a)) continue;
      is_false = holds(negation(a));
      if (is_false) break;
      open.push_back(a);
    }
    if (is_false || (!open.empty() && broken(Fault::checker_undecided_is_false))) continue;
    if (open.empty() || broken(Fault::checker_undecided_is_true)) {
      sum = plus(sum, indicators[k].coefficient);
      continue;
    }
    if (--splits < 0) return false;
    const Atom split = open.back();
    std::vector<Indicator> left(indicators.begin() + static_cast<std::ptrdiff_t>(k), indicators.end());
    left.front().condition = std::move(open);
    return obviously_vanishes(joined(context, {split}), left, sum, known, splits) &&
           (obviously_vanishes(joined(context, {negation(split)}), left, sum, known, splits) || broken(Fault::checker_one_case_of_two));
  }
  return sum == Rational(0);
}

// Conditions. ----------------------------------------------------------------------------------------------------------------------

// For x = floor(a / b) with b >= 1: x + r >= 0 is a + b r >= 0, and r - x >= 0 is b r + b - 1 - a >= 0.
Poly Checker::without_division(const Poly& p) const {
  for (const SymbolId x : p.symbols()) {
    const ir::SymbolInfo& info = symbols_.info(x);
    const auto b = info.kind == ir::SymbolKind::floor_div ? info.arguments[1].constant() : std::nullopt;
    if (!b || *b < 1) continue;
    const auto linear = p.linear_in(x);
    if (!linear || !linear->first.is_constant() || symbols_.occurs(linear->second, x)) continue;
    const Poly& r = linear->second;
    if (linear->first.constant() == 1) return info.arguments[0] + (broken(Fault::checker_quotient_from_below) ? r : Poly(*b) * r);
    const std::int64_t last = broken(Fault::checker_quotient_from_above) ? *b : *b - 1;
    if (linear->first.constant() == -1) return Poly(*b) * r + Poly(last) - info.arguments[0];
  }
  return p;
}

// True by syntax, or because substituting bounds from the context for indices leaves a polynomial without
// negative coefficients: a linear combination of the context, found without the solver.
bool Checker::obviously(const Condition& context, const Atom& atom) const {
  return obviously(context, Ranges(symbols_, {solver_.facts(), context}), atom);
}

bool Checker::obviously(const Condition& context, const Ranges& ranges, const Atom& atom) const {
  if (atom.poly.is_poisoned()) return false;
  const auto is_atom = [&](const Atom& a) { return same(a, atom) || (broken(Fault::checker_relation_ignored) && a.poly == atom.poly); };
  if (std::any_of(context.begin(), context.end(), is_atom)) return true;
  const auto tidied = tidy(symbols_, atom);
  if (!tidied) return broken(Fault::checker_false_is_true);
  if (tidied->empty()) return true;
  const Atom& a = tidied->front();
  const auto at_least_zero = [&](const Poly& p) { return ranges.at_least_zero(p) || ranges.at_least_zero(without_division(p)); };
  switch (a.relation) {
    case Relation::at_least_zero:
      return at_least_zero(a.poly);
    case Relation::zero:
      return at_least_zero(a.poly) && (at_least_zero(-a.poly) || broken(Fault::checker_zero_from_one_side));
    case Relation::not_zero:
      break;
  }
  if (broken(Fault::checker_not_zero_from_zero) && at_least_zero(a.poly)) return true;
  return at_least_zero(a.poly - Poly(1)) || at_least_zero(-a.poly - Poly(1));
}

bool Checker::holds(const Condition& context, const Atom& atom) {
  if (obviously(context, atom)) return true;
  return !atom.poly.is_poisoned() && !broken(Fault::checker_asks_no_solver) && solver_.implies(context, atom, Solver::Effort::full);
}

bool Checker::one_holds(const Condition& context, const std::vector<Condition>& domains) {
  const Ranges ranges(symbols_, {solver_.facts(), context});
  for (const Condition& d : domains) {
    if (broken(Fault::checker_one_condition_of_a_domain) && !d.empty() && obviously(context, ranges, d.front())) return true;
    if (std::all_of(d.begin(), d.end(), [&](const Atom& a) { return obviously(context, ranges, a); })) return true;
  }
  return !broken(Fault::checker_domains_need_no_solver) && solver_.implies_one_of(context, domains, Solver::Effort::full);
}

// Factors. -------------------------------------------------------------------------------------------------------------------------

bool Checker::equal_indices(const std::vector<Poly>& a, const std::vector<Poly>& b, const Condition& context) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    const Poly d = a[k] - b[k];
    if (d.is_poisoned()) return false;
    if (d.is_constant()) {
      // The indices are never equal: accepted only if the context is contradictory.
      if (broken(Fault::checker_constant_difference)) continue;
      if (!solver_.contradictory(context, Solver::Effort::linear) || broken(Fault::checker_empty_range_unseen)) return false;
      continue;
    }
    if (!holds(context, {d, Relation::zero}) && !broken(Fault::checker_other_indices)) return false;
  }
  return true;
}

bool Checker::equal(const Factor& a, const Factor& b, const Condition& context, const FactorProof& proof) {
  if (a.kind != b.kind && !broken(Fault::checker_other_kind)) return false;
  switch (a.kind) {
    case FactorKind::read:
      return (a.variable == b.variable || broken(Fault::checker_other_variable)) && equal_indices(a.indices, b.indices, context);
    case FactorKind::integer:
      return equal_indices({a.integer}, {b.integer}, context);
    case FactorKind::real:
      return a.name == b.name || broken(Fault::checker_other_real);
    case FactorKind::predicate:
    case FactorKind::function: {
      if (a.name != b.name && !broken(Fault::checker_other_predicate)) return false;
      // Applications of the same function are equal if the arguments are.
      if (a.function != b.function && !broken(Fault::checker_other_function)) return false;
      if (a.data_type != b.data_type && !broken(Fault::checker_other_data_type)) return false;
      if (a.arguments.size() != b.arguments.size()) return false;
      if (proof.arguments.empty()) return equal_up_to_renaming(symbols_, a, b) || broken(Fault::checker_arguments_without_proof);
      if (proof.arguments.size() != a.arguments.size()) return false;
      for (std::size_t k = 0; k < a.arguments.size(); ++k) {
        const bool are_equal = zero(difference(a.arguments[k], b.arguments[k]), context, proof.arguments[k]);
        if (!are_equal && !broken(Fault::checker_arguments_differ)) return false;
      }
      return true;
    }
    case FactorKind::maximum:
      break;
  }
  // Maxima are equal if their sets of values are equal: each set contains the other.
  if (proof.forward.empty() && proof.backward.empty())
    return equal_up_to_renaming(symbols_, a, b) || broken(Fault::checker_maxima_without_proof);
  return (covers(a, b, proof.forward, context) || broken(Fault::checker_larger_maximum)) &&
         (covers(b, a, proof.backward, context) || broken(Fault::checker_smaller_maximum));
}

// True only if every value of the maximum `a` is a value of `b`.
bool Checker::covers(const Factor& a, const Factor& b, const std::vector<Cover>& proofs, const Condition& context) {
  if (proofs.size() > a.pieces.size()) return false;
  if (proofs.size() < a.pieces.size() && !broken(Fault::checker_piece_left_out)) return false;
  for (std::size_t k = 0; k < proofs.size(); ++k) {
    if (proofs[k].space.size() != a.pieces[k].binders.size()) return false;
    // The binders of the piece are replaced by different new symbols without any facts.
    std::vector<Poly> renamed;
    for (const SymbolId z : proofs[k].space) {
      const auto is_used = [&](const Atom& x) { return mentions(symbols_, x, z); };
      if (symbols_.info(z).kind != ir::SymbolKind::parameter && !broken(Fault::checker_cover_of_dimensions)) return false;
      if (mentions(symbols_, a, z) && !broken(Fault::checker_cover_in_covered)) return false;
      if (mentions(symbols_, b, z) && !broken(Fault::checker_cover_in_covering)) return false;
      if (std::any_of(context.begin(), context.end(), is_used) && !broken(Fault::checker_cover_in_context)) return false;
      if (std::any_of(solver_.facts().begin(), solver_.facts().end(), is_used) && !broken(Fault::checker_cover_in_facts)) return false;
      const bool repeated = std::find(renamed.begin(), renamed.end(), Poly(z)) != renamed.end();
      if (repeated && !broken(Fault::checker_cover_repeated)) return false;
      renamed.emplace_back(z);
    }
    if (!contained(over_space(symbols_, a.pieces[k], renamed), b.pieces, proofs[k], context)) return false;
  }
  return true;
}

// A property of all values of the covering demands holds for the value of the covered demand, which is among
// them. A demand with fewer guards is stronger.
bool Checker::demand(const Piece& wanted, const std::vector<Piece>& given, const Condition& context, const DemandProof& proof) {
  if (broken(Fault::checker_demands_hold)) return true;
  const auto kept = with_guards(wanted, proof.guards);
  if (!kept) return false;
  Factor covered;
  covered.kind = FactorKind::maximum;
  covered.pieces.push_back(*kept);
  Factor covering;
  covering.kind = FactorKind::maximum;
  covering.pieces = candidates_for(*kept, given);
  return covers(covered, covering, {proof.cover}, context);
}

bool Checker::contained(const Piece& covered, const std::vector<Piece>& pieces, const Cover& cover, const Condition& context) {
  const Condition here = joined(context, covered.conditions);
  std::vector<NormalTerm> bodies = covered.body.terms;
  std::vector<SymbolId> bound;
  for (const Piece& p : pieces) {
    bound.insert(bound.end(), p.binders.begin(), p.binders.end());
    bodies.insert(bodies.end(), p.body.terms.begin(), p.body.terms.end());
  }
  std::vector<Condition> domains;
  for (const Cover::By& by : cover.by) {
    if (by.piece >= pieces.size() || by.maps.size() != pieces[by.piece].binders.size()) return false;
    // The values of the covering piece's binders mention only the cover's space and free symbols, no binder.
    for (const Poly& p : by.maps) {
      if (p.is_poisoned()) return false;
      for (const SymbolId s : symbols_.all_symbols(p))
        if (contains(bound, s)) return false;
    }
    if (!speaks_of_free_symbols(by.maps, cover.space, bodies, here) && !broken(Fault::checker_cover_made_symbol)) return false;
    const Piece mapped = over_space(symbols_, pieces[by.piece], by.maps);
    // Where both are in range, the values are equal.
    const bool are_equal = zero(difference(mapped.body, covered.body), joined(here, mapped.conditions), by.body);
    if (!are_equal && !broken(Fault::checker_bodies_differ)) return false;
    domains.push_back(mapped.conditions);
  }
  // Wherever the covered piece is in range, one of the covering pieces is in range, too.
  return one_holds(here, domains) || broken(Fault::checker_domains_do_not_cover);
}

// Arithmetic on values. ------------------------------------------------------------------------------------------------------------

bool Checker::arithmetic(const std::vector<NormalTerm>& terms, const Arithmetic& proof, const Condition& context) {
  if (proof.terms.empty()) return proof.components.empty();
  std::vector<NormalTerm> chosen;
  chosen.reserve(proof.terms.size());
  for (const std::size_t t : proof.terms) chosen.push_back(terms[t]);
  // The components that the translation reaches are, in its order, those that the proof identifies.
  std::size_t next = 0;
  const Identify identify = [&](const std::vector<NormalTerm>& known, const NormalTerm& component) -> std::optional<std::size_t> {
    if (next >= proof.components.size()) return std::nullopt;
    const Component& said = proof.components[next++];
    if (said.number > known.size()) return std::nullopt;
    if (said.number == known.size()) return said.number;
    const NormalTerm& earlier = known[said.number];
    const bool equal = same_but_for_names(symbols_, earlier, component) ||
                       zero(difference(Expression{{earlier}}, Expression{{component}}), context, said.equal);
    return equal || broken(Fault::checker_components_differ) ? std::optional(said.number) : std::nullopt;
  };
  if (!zero_by_values(chosen, context, identify)) return broken(Fault::checker_values_do_not_cancel);
  return next == proof.components.size() || broken(Fault::checker_components_left);
}

}  // namespace xflow::verifier
