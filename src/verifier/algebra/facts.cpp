#include "src/verifier/algebra/facts.h"

#include <algorithm>

#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::SymbolKind;
using ir::Symbols;

namespace {

struct Solution {
  SymbolId symbol;
  Poly value;
};

bool replaceable(const Symbols& symbols, SymbolId s) {
  const SymbolKind kind = symbols.info(s).kind;
  return kind == SymbolKind::dimension || kind == SymbolKind::parameter;
}

std::optional<Solution> solve_equation(Symbols& symbols, const Poly& p) {
  // Divisibility: a = q floor(a / q).
  for (const SymbolId d : p.symbols()) {
    const ir::SymbolInfo& info = symbols.info(d);
    if (info.kind != SymbolKind::floor_div || broken(Fault::facts_divisibility_stays)) continue;
    const Poly a = info.arguments[0];
    const Poly q = info.arguments[1];
    const Poly remainder = a - q * Poly(d);
    if (!(remainder == p) && !(-remainder == p)) continue;
    for (const SymbolId s : a.symbols()) {
      const auto linear = a.linear_in(s);
      if (!replaceable(symbols, s) || !linear || !linear->first.is_one() || symbols.occurs(linear->second, s) || symbols.occurs(q, s))
        continue;
      // If a >= 1 and q >= 1, the quotient is at least 1.
      const bool positive = linear->second.is_zero() && symbols.info(s).kind == SymbolKind::dimension;
      const SymbolId m = symbols.fresh(positive ? SymbolKind::dimension : SymbolKind::parameter, symbols.info(s).name + "/");
      return Solution{s, broken(Fault::facts_remainder_is_lost) ? q * Poly(m) : q * Poly(m) - linear->second};
    }
  }
  for (const SymbolId s : p.symbols()) {
    const auto linear = p.linear_in(s);
    if (!replaceable(symbols, s) || !linear || !linear->first.is_constant() || symbols.occurs(linear->second, s)) continue;
    const std::int64_t c = *linear->first.constant();
    if (broken(Fault::facts_equations_stay)) continue;
    if (c == 1) return Solution{s, broken(Fault::facts_other_sign) ? linear->second : -linear->second};
    if (c == -1) return Solution{s, linear->second};
  }
  return std::nullopt;
}

}  // namespace

namespace {

// True if an inequality is an equation: 1 - s >= 0 for a dimension s, or -p >= 0 together with p >= 0.
bool is_equation(const Symbols& symbols, const std::vector<Atom>& facts, const Atom& atom) {
  if (atom.relation == Relation::zero) return true;
  if (atom.relation != Relation::at_least_zero) return false;
  if (broken(Fault::facts_bounds_are_equations)) return true;
  if (broken(Fault::facts_bounds_stay)) return false;
  if (const auto s = (Poly(1) - atom.poly).as_symbol(); s && symbols.info(*s).kind == SymbolKind::dimension) return true;
  return std::any_of(facts.begin(), facts.end(),
                     [&](const Atom& other) { return other.relation == Relation::at_least_zero && (other.poly + atom.poly).is_zero(); });
}

}  // namespace

SolvedFacts solve_facts(Symbols& symbols, const std::vector<rules::Fact>& facts) {
  SolvedFacts result;
  std::vector<Atom> open;
  open.reserve(facts.size());
  for (const rules::Fact& f : facts) open.push_back(f.atom);
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t k = 0; k < open.size(); ++k) {
      if (open[k].poly.is_constant() || !is_equation(symbols, open, open[k])) continue;
      const auto solution = solve_equation(symbols, open[k].poly);
      if (!solution || solution->value.is_poisoned()) continue;
      const Symbols::Substitution by = {{solution->symbol, solution->value}};
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(k));
      if (!broken(Fault::facts_others_keep_symbols))
        for (Atom& a : open) a.poly = symbols.substitute(a.poly, by);
      if (symbols.info(solution->symbol).kind == SymbolKind::dimension && !broken(Fault::facts_bound_is_lost)) {
        open.push_back({solution->value - Poly(1), Relation::at_least_zero});
      }
      if (!broken(Fault::facts_values_keep_symbols))
        for (auto& [s, value] : result.solved) value = symbols.substitute(value, by);
      result.solved.emplace(solution->symbol, solution->value);
      progress = true;
      break;
    }
  }
  for (const Atom& a : open) {
    const bool trivial =
        a.relation == Relation::zero ? a.poly.is_zero() : a.relation == Relation::at_least_zero && a.poly.constant().value_or(-1) >= 0;
    if (!trivial) result.facts.push_back(a);
  }
  return result;
}

}  // namespace xflow::verifier
