#include "src/equivalence/rest_groups.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace xflow::equivalence {
namespace {

using ir::Poly;
using ir::SymbolId;
using verifier::Atom;
using verifier::Condition;
using verifier::FactorKind;
using verifier::FactorPower;
using verifier::NormalTerm;
using verifier::Relation;

struct Group {
  std::vector<FactorPower> others;         // factors that are not known, of the first term
  std::vector<std::vector<Poly>> indices;  // of such factors, by term
  RestGroup rest;
};

// sign * (an index of the others) + rest >= 0
struct RangeAtom {
  std::size_t index = 0;
  int sign = 1;
  Poly rest;

  Poly at(const std::vector<Poly>& indices) const { return (sign > 0 ? indices[index] : -indices[index]) + rest; }
};

bool is_free_of(const ir::Symbols& symbols, const Poly& poly, const std::vector<SymbolId>& binders) {
  return std::ranges::none_of(symbols.all_symbols(poly),
                              [&](SymbolId symbol) { return std::ranges::find(binders, symbol) != binders.end(); });
}

bool same_variables(const std::vector<FactorPower>& a, const std::vector<FactorPower>& b) {
  return std::ranges::equal(a, b, [](const FactorPower& x, const FactorPower& y) {
    return x.factor->variable == y.factor->variable && x.power == y.power && x.factor->indices.size() == y.factor->indices.size();
  });
}

class Grouping {
 public:
  Grouping(const ir::Symbols& symbols, const Condition& context, const KnownVariables& known)
      : symbols_(symbols), context_(context), known_(known) {}

  bool add(const NormalTerm& term) {
    if (!term.dimensions.empty()) return false;
    KnownPart part{term, term.conditions, {}};
    part.term.factors.clear();
    std::vector<FactorPower> others;
    for (const FactorPower& factor : term.factors) {
      if (factor.factor->kind != FactorKind::read) return false;
      (known_.contains(factor.factor->variable) ? part.term.factors : others).push_back(factor);
    }
    std::ranges::stable_sort(others, [](const FactorPower& x, const FactorPower& y) { return x.factor->variable < y.factor->variable; });
    std::vector<Poly> indices;
    for (const FactorPower& other : others) indices.insert(indices.end(), other.factor->indices.begin(), other.factor->indices.end());
    if (std::ranges::any_of(indices, &Poly::is_poisoned)) return false;
    auto group = std::ranges::find_if(groups_, [&](const Group& known) { return same_variables(known.others, others); });
    if (group == groups_.end()) group = groups_.insert(groups_.end(), Group{std::move(others), {}, {}});
    group->indices.push_back(std::move(indices));
    group->rest.terms.push_back(std::move(part));
    return true;
  }

  std::vector<RestGroup> take() {
    std::vector<RestGroup> result;
    for (Group& group : groups_) {
      set_positions(group);
      drop_ranges(group);
      result.push_back(std::move(group.rest));
    }
    return result;
  }

 private:
  void set_positions(Group& group) const {
    for (std::size_t k = 0; k < group.indices[0].size(); ++k) {
      const Poly base = base_of(group, k);
      for (std::size_t t = 0; t < group.indices.size(); ++t) group.rest.terms[t].position.push_back(group.indices[t][k] - base);
    }
  }

  // What an index is in all terms: symbols that are no binders, and have the same coefficient in each term.
  Poly base_of(const Group& group, std::size_t index) const {
    Poly base(0);
    for (const SymbolId symbol : group.indices[0][index].symbols()) {
      std::optional<Poly> common;
      bool is_common = true;
      for (std::size_t t = 0; t < group.indices.size() && is_common; ++t) {
        const auto split = group.indices[t][index].linear_in(symbol);
        is_common = split && split->first.is_constant() && (!common || *common == split->first) &&
                    is_free_of(symbols_, Poly(symbol), group.rest.terms[t].term.binders);
        if (is_common) common = split->first;
      }
      if (is_common) base += Poly(common->constant_term()) * Poly(symbol);
    }
    return base;
  }

  static bool has(const Condition& conditions, const Poly& poly) {
    return std::ranges::any_of(conditions, [&](const Atom& atom) { return atom.relation == Relation::at_least_zero && atom.poly == poly; });
  }

  // The least value of a polynomial within the bounds of the term's binders and the free symbols; nothing if
  // it is not linear, or has no least value.
  std::optional<std::int64_t> least(Poly poly, const NormalTerm& term) const {
    std::int64_t sum = 0;
    if (poly.is_poisoned()) return std::nullopt;
    for (const SymbolId symbol : poly.symbols()) {
      const auto split = poly.linear_in(symbol);
      const auto coefficient = split ? split->first.constant() : std::nullopt;
      if (!coefficient) return std::nullopt;
      const bool is_binder = std::ranges::find(term.binders, symbol) != term.binders.end();
      const auto bounds = bounds_of(symbols_, symbol, is_binder ? term.conditions : context_);
      if (bounds) {
        if (bounds->count() <= 0) return std::nullopt;
        sum += *coefficient * (*coefficient > 0 ? bounds->low : bounds->high);
      } else {
        const auto low = symbols_.lower_bound(Poly(symbol));
        if (*coefficient < 0 || !low) return std::nullopt;
        sum += *coefficient * *low;
      }
      poly = split->second;
    }
    return sum + poly.constant_term();
  }

  // The ranges of indices that a condition of this term may state. Conditions on binders alone are none:
  // they give the bounds of binders.
  std::vector<RangeAtom> ranges_of(const Atom& atom, const std::vector<Poly>& indices, const NormalTerm& term) const {
    std::vector<RangeAtom> ranges;
    if (atom.relation != Relation::at_least_zero || atom.poly.is_poisoned() || is_free_of(symbols_, atom.poly, term.binders)) return ranges;
    const std::vector<SymbolId> mentioned = symbols_.all_symbols(atom.poly);
    if (std::ranges::all_of(mentioned, [&](SymbolId s) { return std::ranges::find(term.binders, s) != term.binders.end(); })) return ranges;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      for (const int sign : {1, -1}) {
        RangeAtom range{k, sign, sign > 0 ? atom.poly - indices[k] : atom.poly + indices[k]};
        if (!range.rest.is_poisoned() && is_free_of(symbols_, range.rest, term.binders)) ranges.push_back(std::move(range));
      }
    }
    return ranges;
  }

  void drop_ranges(Group& group) const {
    std::vector<KnownPart>& terms = group.rest.terms;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      for (const Atom& atom : Condition(terms[k].conditions)) {
        for (const RangeAtom& range : ranges_of(atom, group.indices[k], terms[k].term)) {
          std::size_t with = 0;
          while (with < terms.size() && holds(range, group.indices[with], terms[with].term)) ++with;
          if (with < terms.size()) continue;
          for (std::size_t t = 0; t < terms.size(); ++t)
            std::erase_if(terms[t].conditions, [&](const Atom& other) {
              return other.relation == Relation::at_least_zero && other.poly == range.at(group.indices[t]);
            });
          break;
        }
      }
    }
  }

  // Whether all points of a term are in a range.
  bool holds(const RangeAtom& range, const std::vector<Poly>& indices, const NormalTerm& term) const {
    const Poly poly = range.at(indices);
    return has(term.conditions, poly) || least(poly, term).value_or(-1) >= 0;
  }

  const ir::Symbols& symbols_;
  const Condition& context_;
  const KnownVariables& known_;
  std::vector<Group> groups_;
};

}  // namespace

std::optional<IndexBounds> bounds_of(const ir::Symbols& symbols, SymbolId symbol, const Condition& conditions) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  if (symbols.info(symbol).kind != ir::SymbolKind::index) return std::nullopt;
  IndexBounds bounds{0, kNone};
  for (const Atom& atom : conditions) {
    const auto split = atom.poly.is_poisoned() ? std::nullopt : atom.poly.linear_in(symbol);
    if (!split) continue;
    const auto coefficient = split->first.constant();
    const auto rest = split->second.constant();
    if (!coefficient || *coefficient == 0 || !rest || atom.relation == Relation::not_zero) continue;
    // coefficient * symbol + rest >= 0, or = 0
    const std::int64_t bound = ir::floor_divide(*rest, std::abs(*coefficient));
    if (*coefficient > 0) bounds.low = std::max(bounds.low, -bound);
    if (*coefficient < 0) bounds.high = std::min(bounds.high, bound);
    if (atom.relation == Relation::zero && *coefficient > 0) bounds.high = std::min(bounds.high, ir::floor_divide(-*rest, *coefficient));
    if (atom.relation == Relation::zero && *coefficient < 0) bounds.low = std::max(bounds.low, -ir::floor_divide(-*rest, -*coefficient));
  }
  return bounds.high == kNone ? std::nullopt : std::optional(bounds);
}

std::optional<std::vector<RestGroup>> group_rest(const ir::Symbols& symbols, std::span<const NormalTerm> terms, const Condition& context,
                                                 const KnownVariables& known) {
  Grouping grouping(symbols, context, known);
  for (const NormalTerm& term : terms)
    if (!grouping.add(term)) return std::nullopt;
  return grouping.take();
}

}  // namespace xflow::equivalence
