#include "src/verifier/checker.h"

#include <algorithm>

namespace xflow::verifier {

using ir::Symbols;

namespace {

Symbols::Substitution substitution(const std::vector<SymbolId>& binders, const std::vector<Poly>& maps) {
  Symbols::Substitution by;
  for (std::size_t k = 0; k < binders.size(); ++k) by.emplace(binders[k], maps[k]);
  return by;
}

Condition joined(const Condition& a, const Condition& b) {
  Condition result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

// The determinant of an integer matrix by fraction-free elimination; nothing on overflow.
std::optional<std::int64_t> determinant(std::vector<std::vector<std::int64_t>> m) {
  const std::size_t n = m.size();
  std::int64_t previous = 1;
  std::int64_t sign = 1;
  for (std::size_t k = 0; k + 1 < n; ++k) {
    std::size_t pivot = k;
    while (pivot < n && m[pivot][k] == 0) ++pivot;
    if (pivot == n) return 0;
    if (pivot != k) {
      std::swap(m[pivot], m[k]);
      sign = -sign;
    }
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = k + 1; j < n; ++j) {
        std::int64_t x = 0;
        std::int64_t y = 0;
        std::int64_t d = 0;
        if (__builtin_mul_overflow(m[i][j], m[k][k], &x) || __builtin_mul_overflow(m[i][k], m[k][j], &y) ||
            __builtin_sub_overflow(x, y, &d)) {
          return std::nullopt;
        }
        m[i][j] = d / previous;
      }
    }
    previous = m[k][k];
  }
  return n == 0 ? 1 : sign * m[n - 1][n - 1];
}

}  // namespace

Term over_space(Symbols& symbols, const Term& term, const std::vector<Poly>& maps) {
  Term result = substitute(symbols, term, substitution(term.binders, maps));
  result.binders.clear();
  return result;
}

Piece over_space(Symbols& symbols, const Piece& piece, const std::vector<Poly>& maps) {
  Piece result = substitute(symbols, piece, substitution(piece.binders, maps));
  result.binders.clear();
  return result;
}

std::vector<Term> difference(const Expression& a, const Expression& b) {
  std::vector<Term> terms = a.terms;
  for (Term t : b.terms) {
    t.coefficient = times(t.coefficient, Rational(-1));
    terms.push_back(std::move(t));
  }
  return terms;
}

bool Checker::zero(const std::vector<Term>& terms, const Condition& context, const Certificate& certificate) {
  // Each term is spoken of exactly once.
  std::vector<int> seen(terms.size(), 0);
  for (const Cluster& c : certificate.clusters)
    for (const Member& m : c.members)
      if (m.term >= terms.size() || seen[m.term]++ != 0) return false;
  std::vector<Term> rest;
  for (const std::size_t t : certificate.scalar) {
    if (t >= terms.size() || seen[t]++ != 0) return false;
    rest.push_back(terms[t]);
  }
  if (std::find(seen.begin(), seen.end(), 0) != seen.end()) return false;
  for (const Cluster& c : certificate.clusters)
    if (!cluster(terms, c, context)) return false;
  return rest.empty() || scalar_(rest, context);
}

// sum over members j of c_j Sum_b [P_j(b)] f_j(b)  =  Sum_z f_0(z) (sum over j of c_j [P_j(map_j z)])  if every map is a bijection and
// f_j(map_j z) = f_0(z) wherever P_j(map_j z).
bool Checker::cluster(const std::vector<Term>& terms, const Cluster& cluster, const Condition& context) {
  if (cluster.members.empty()) return true;
  for (const SymbolId z : cluster.space) {
    if (symbols_.info(z).kind != ir::SymbolKind::parameter) return false;
    const auto is_used = [&](const auto& x) { return mentions(symbols_, x, z); };
    if (std::any_of(terms.begin(), terms.end(), is_used) || std::any_of(context.begin(), context.end(), is_used)) return false;
  }
  const Term first = over_space(symbols_, terms[cluster.members[0].term], cluster.members[0].maps);
  for (const Member& m : cluster.members) {
    const Term& original = terms[m.term];
    if (m.maps.size() != original.binders.size() || m.maps.size() != cluster.space.size() || !unimodular(m.maps, cluster.space))
      return false;
    const Term mapped = over_space(symbols_, original, m.maps);
    if (mapped.dimensions != first.dimensions || mapped.factors.size() != first.factors.size()) return false;
    if (m.pairing.size() != first.factors.size() || m.factors.size() != first.factors.size()) return false;
    std::vector<int> used(mapped.factors.size(), 0);
    const Condition here = joined(context, mapped.conditions);
    for (std::size_t k = 0; k < first.factors.size(); ++k) {
      if (m.pairing[k] >= mapped.factors.size() || used[m.pairing[k]]++ != 0) return false;
      const FactorPower& f = mapped.factors[m.pairing[k]];
      if (f.power != first.factors[k].power || !equal(*f.factor, *first.factors[k].factor, here, m.factors[k])) return false;
    }
  }
  return cancels(terms, cluster, context);
}

bool Checker::unimodular(const std::vector<Poly>& maps, const std::vector<SymbolId>& space) const {
  std::vector<std::vector<std::int64_t>> matrix;
  for (const Poly& p : maps) {
    std::vector<std::int64_t> row;
    Poly rest = p;
    for (const SymbolId z : space) {
      const auto linear = rest.linear_in(z);
      if (!linear || !linear->first.is_constant()) return false;
      row.push_back(*linear->first.constant());
      rest = linear->second;
    }
    for (const SymbolId z : space)
      if (symbols_.occurs(rest, z)) return false;
    matrix.push_back(std::move(row));
  }
  const auto d = determinant(std::move(matrix));
  return d && (*d == 1 || *d == -1);
}

bool Checker::cancels(const std::vector<Term>& terms, const Cluster& cluster, const Condition& context) {
  std::vector<Indicator> indicators;
  for (const Member& m : cluster.members) {
    const Term& t = terms[m.term];
    indicators.push_back({t.coefficient, substitute(symbols_, t.conditions, substitution(t.binders, m.maps))});
  }
  if (indicators.size() == 2 && plus(indicators[0].coefficient, indicators[1].coefficient) == Rational(0)) {
    // The same atoms on both sides.
    const auto within = [](const Condition& a, const Condition& b) {
      return std::all_of(a.begin(), a.end(),
                         [&](const Atom& x) { return std::any_of(b.begin(), b.end(), [&](const Atom& y) { return same(x, y); }); });
    };
    if (within(indicators[0].condition, indicators[1].condition) && within(indicators[1].condition, indicators[0].condition)) return true;
  }
  return solver_.vanishes(context, indicators, Solver::Effort::full);
}

bool Checker::equal_indices(const std::vector<Poly>& a, const std::vector<Poly>& b, const Condition& context) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    const Poly d = a[k] - b[k];
    if (d.is_poisoned()) return false;
    if (d.is_constant()) {
      // Never equal: only where nothing is.
      if (!solver_.contradictory(context, Solver::Effort::linear)) return false;
      continue;
    }
    if (!solver_.implies(context, {d, Relation::zero}, Solver::Effort::full)) return false;
  }
  return true;
}

bool Checker::equal(const Factor& a, const Factor& b, const Condition& context, const FactorProof& proof) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case FactorKind::read:
      return a.variable == b.variable && equal_indices(a.indices, b.indices, context);
    case FactorKind::integer:
      return equal_indices({a.integer}, {b.integer}, context);
    case FactorKind::real:
      return a.name == b.name;
    case FactorKind::function: {
      if (a.function != b.function || a.data_type != b.data_type || a.arguments.size() != b.arguments.size()) return false;
      if (proof.arguments.size() != a.arguments.size()) return false;
      for (std::size_t k = 0; k < a.arguments.size(); ++k)
        if (!zero(difference(a.arguments[k], b.arguments[k]), context, proof.arguments[k])) return false;
      return true;
    }
    case FactorKind::maximum:
      break;
  }
  return covers(a, b, proof.forward, context) && covers(b, a, proof.backward, context);
}

bool Checker::covers(const Factor& a, const Factor& b, const std::vector<Cover>& proofs, const Condition& context) {
  if (proofs.size() != a.pieces.size()) return false;
  for (std::size_t k = 0; k < proofs.size(); ++k) {
    if (proofs[k].space.size() != a.pieces[k].binders.size()) return false;
    std::vector<Poly> renamed;
    for (const SymbolId z : proofs[k].space) {
      const auto is_used = [&](const Atom& x) { return mentions(symbols_, x, z); };
      if (symbols_.info(z).kind != ir::SymbolKind::parameter || mentions(symbols_, a, z) || mentions(symbols_, b, z) ||
          std::any_of(context.begin(), context.end(), is_used) || std::find(renamed.begin(), renamed.end(), Poly(z)) != renamed.end()) {
        return false;
      }
      renamed.emplace_back(z);
    }
    if (!contained(over_space(symbols_, a.pieces[k], renamed), b.pieces, proofs[k], context)) return false;
  }
  return true;
}

bool Checker::contained(const Piece& covered, const std::vector<Piece>& pieces, const Cover& cover, const Condition& context) {
  const Condition here = joined(context, covered.conditions);
  std::vector<Condition> domains;
  for (const Cover::By& by : cover.by) {
    if (by.piece >= pieces.size() || by.maps.size() != pieces[by.piece].binders.size()) return false;
    const Piece mapped = over_space(symbols_, pieces[by.piece], by.maps);
    if (!zero(difference(mapped.body, covered.body), joined(here, mapped.conditions), by.body)) return false;
    domains.push_back(mapped.conditions);
  }
  return solver_.implies_one_of(here, domains, Solver::Effort::full);
}

}  // namespace xflow::verifier
