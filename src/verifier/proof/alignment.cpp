#include "src/verifier/proof/alignment.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "src/verifier/algebra/ranges.h"
#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::Symbols;

std::vector<std::vector<std::size_t>> pairings(const NormalTerm& a, const NormalTerm& b, std::size_t limit) {
  std::vector<std::vector<std::size_t>> result;
  if (a.factors.size() != b.factors.size()) return result;
  std::vector<std::string> heads_a;
  std::vector<std::string> heads_b;
  heads_a.reserve(a.factors.size());
  for (const FactorPower& f : a.factors) heads_a.push_back(signature(*f.factor));
  heads_b.reserve(b.factors.size());
  for (const FactorPower& f : b.factors) heads_b.push_back(signature(*f.factor));
  std::vector<std::size_t> chosen;
  std::vector<bool> used(b.factors.size(), false);
  const auto extend = [&](const auto& self) -> void {
    if (result.size() >= limit) return;
    const std::size_t k = chosen.size();
    if (k == a.factors.size()) {
      result.push_back(chosen);
      return;
    }
    for (std::size_t j = 0; j < b.factors.size(); ++j) {
      if (used[j] || (heads_a[k] != heads_b[j] && !broken(Fault::alignment_of_any_factors)) || a.factors[k].power != b.factors[j].power)
        continue;
      used[j] = true;
      chosen.push_back(j);
      self(self);
      chosen.pop_back();
      used[j] = false;
    }
  };
  extend(extend);
  return result;
}

namespace {

// Pairs the terms of two expressions with equal signatures, in order.
void equations_of(const Expression& a, const Expression& b, std::vector<Poly>& result, std::vector<SymbolId>& inner) {
  std::map<std::string, std::vector<const NormalTerm*>> open;
  for (const NormalTerm& t : b.terms) open[signature(t)].push_back(&t);
  for (const NormalTerm& t : a.terms) {
    auto& candidates = open[signature(t)];
    if (candidates.empty()) continue;
    const NormalTerm& u = *candidates.front();
    candidates.erase(candidates.begin());
    if (!broken(Fault::alignment_without_inner_binders)) inner.insert(inner.end(), u.binders.begin(), u.binders.end());
    const auto pairs = pairings(t, u, 1);
    if (pairs.empty()) continue;
    for (std::size_t k = 0; k < t.factors.size(); ++k) equations(*t.factors[k].factor, *u.factors[pairs[0][k]].factor, result, inner);
  }
}

// Divides the polynomial by its content and by dimensions common to all terms.
Poly primitive(const Symbols& symbols, Poly p) {
  if (p.is_constant() || p.is_poisoned() || broken(Fault::alignment_keeps_common_factors)) return p;
  if (p.constant_term() == 0) {
    for (const SymbolId s : p.symbols()) {
      if (symbols.info(s).kind != ir::SymbolKind::dimension) continue;
      while (const auto q = ir::exact_divide(p, Poly(s))) p = *q;
    }
  }
  std::int64_t g = p.constant_term() < 0 ? -p.constant_term() : p.constant_term();
  for (const ir::PolyTerm& t : p.terms()) g = std::gcd(g, t.coefficient);
  return g > 1 ? *ir::exact_divide(p, Poly(g)) : p;
}

bool speaks_of(const Symbols& symbols, const Poly& p, const std::vector<SymbolId>& list) {
  return std::any_of(list.begin(), list.end(), [&](SymbolId s) { return symbols.occurs(p, s); });
}

// Splits e a + r = 0 into a = 0 and r = 0 if both mention unknowns: digits of a mixed radix.
void split_digits(const Symbols& symbols, const std::vector<SymbolId>& unknown, std::vector<Poly>& list) {
  for (std::size_t k = 0; k < list.size(); ++k) {
    for (const Poly& e : divisors(symbols, list[k])) {
      const auto [a, r] = split_by(list[k], e);
      if (a.is_poisoned() || r.is_poisoned() || !speaks_of(symbols, a, unknown) || !speaks_of(symbols, r, unknown)) continue;
      list[k] = a;
      list.push_back(r);
      break;
    }
  }
}

// The unknowns that a polynomial mentions directly, in the order of the unknowns.
class Unknowns {
 public:
  explicit Unknowns(const std::vector<SymbolId>& unknown) : unknown_(unknown) {
    for (std::size_t k = 0; k < unknown.size(); ++k) number_.emplace(unknown[k], k);
  }
  std::vector<SymbolId> in(const Poly& p) const {
    std::vector<std::size_t> numbers;
    for (const SymbolId s : p.symbols())
      if (const auto found = number_.find(s); found != number_.end()) numbers.push_back(found->second);
    std::sort(numbers.begin(), numbers.end());
    std::vector<SymbolId> result;
    result.reserve(numbers.size());
    for (const std::size_t k : numbers) result.push_back(unknown_[k]);
    return result;
  }

 private:
  const std::vector<SymbolId>& unknown_;
  std::unordered_map<SymbolId, std::size_t> number_;
};

Symbols::Substitution eliminate(Symbols& symbols, std::vector<Poly> open, const std::vector<SymbolId>& unknown, bool digits) {
  Symbols::Substitution solution;
  const Unknowns unknowns(unknown);
  for (bool progress = true; progress;) {
    progress = false;
    for (Poly& p : open) p = primitive(symbols, p);
    if (digits && !broken(Fault::alignment_without_digits)) split_digits(symbols, unknown, open);
    for (Poly& p : open) p = primitive(symbols, p);
    for (std::size_t k = 0; k < open.size() && !progress; ++k) {
      for (const SymbolId u : unknowns.in(open[k])) {
        const auto linear = open[k].linear_in(u);
        if (!linear || !linear->first.is_constant()) continue;
        const std::int64_t c = *linear->first.constant();
        if ((c != 1 && c != -1) || symbols.occurs(linear->second, u)) continue;
        const Poly value = (c == 1) != broken(Fault::alignment_of_other_sign) ? -linear->second : linear->second;
        const Symbols::Substitution by = {{u, value}};
        if (!broken(Fault::alignment_keeps_unknowns))
          for (auto& [symbol, v] : solution) v = symbols.substitute(v, by);
        solution.emplace(u, value);
        for (Poly& p : open) p = symbols.substitute(p, by);
        progress = true;
        break;
      }
    }
  }
  return solution;
}

}  // namespace

void equations(const Factor& a, const Factor& b, std::vector<Poly>& result, std::vector<SymbolId>& inner) {
  if (a.kind != b.kind) return;
  for (std::size_t k = 0; k < std::min(a.indices.size(), b.indices.size()); ++k) result.push_back(b.indices[k] - a.indices[k]);
  if (a.kind == FactorKind::integer) result.push_back(b.integer - a.integer);
  for (std::size_t k = 0; k < std::min(a.arguments.size(), b.arguments.size()); ++k)
    equations_of(a.arguments[k], b.arguments[k], result, inner);
  for (std::size_t k = 0; k < std::min(a.pieces.size(), b.pieces.size()); ++k) {
    inner.insert(inner.end(), b.pieces[k].binders.begin(), b.pieces[k].binders.end());
    equations_of(a.pieces[k].body, b.pieces[k].body, result, inner);
  }
}

std::vector<std::vector<Poly>> solve(Symbols& symbols, const std::vector<Poly>& list, const std::vector<SymbolId>& unknown,
                                     const std::vector<SymbolId>& inner, const std::vector<SymbolId>& space, std::size_t limit) {
  std::vector<std::vector<Poly>> result;
  if (unknown.empty()) return {{}};
  std::vector<SymbolId> all = unknown;
  all.insert(all.end(), inner.begin(), inner.end());
  for (const bool digits : {true, false}) {
    Symbols::Substitution solution = eliminate(symbols, list, all, digits);
    // Undetermined unknowns are assigned the unused symbols of the space.
    std::vector<SymbolId> open;
    for (const SymbolId u : unknown)
      if (!solution.contains(u)) open.push_back(u);
    std::vector<SymbolId> unused;
    for (const SymbolId z : space) {
      const bool used = std::any_of(unknown.begin(), unknown.end(), [&](SymbolId u) {
        const auto found = solution.find(u);
        return found != solution.end() && symbols.occurs(found->second, z);
      });
      if (!used) unused.push_back(z);
    }
    if (open.size() > unused.size() || (!open.empty() && broken(Fault::alignment_without_free_unknowns))) continue;
    std::sort(unused.begin(), unused.end());
    do {
      Symbols::Substitution rest;
      for (std::size_t k = 0; k < open.size(); ++k) rest.emplace(open[k], Poly(unused[k]));
      std::vector<Poly> values;
      bool closed = true;
      for (const SymbolId u : unknown) {
        const auto found = solution.find(u);
        values.push_back(symbols.substitute(found != solution.end() ? found->second : Poly(u), rest));
        closed = closed && !values.back().is_poisoned() && !speaks_of(symbols, values.back(), all);
      }
      if (closed && std::find(result.begin(), result.end(), values) == result.end()) result.push_back(std::move(values));
    } while (result.size() < limit && std::next_permutation(unused.begin(), unused.end()));
    if (result.size() >= limit) break;
  }
  return result;
}

}  // namespace xflow::verifier
