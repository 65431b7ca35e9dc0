#include "src/verifier/algebra/ranges.h"

#include <algorithm>
#include <numeric>

#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::SymbolKind;

Ranges::Ranges(const ir::Symbols& symbols, std::initializer_list<std::span<const Atom>> known) : symbols_(symbols) {
  std::size_t size = 0;
  for (const auto& list : known) size += list.size();
  known_.reserve(size);
  for (const auto& list : known) {
    for (const Atom& a : list) {
      if (a.relation == Relation::not_zero) continue;
      known_.push_back(&a);
      // symbol - c >= 0
      const auto terms = a.poly.terms();
      if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].monomial.size() != 1 || terms[0].monomial[0].power != 1) continue;
      if (const std::int64_t low = -a.poly.constant_term(); low >= 0) least_.push_back({terms[0].monomial[0].symbol, low, &a});
    }
  }
}

std::optional<std::int64_t> Ranges::least(SymbolId symbol) const {
  std::optional<std::int64_t> result;
  for (const Least& l : least_)
    if (l.symbol == symbol && l.from != left_out_) result = std::max(result.value_or(0), l.value);
  return result;
}

// True if replacing every dimension d by 1 + d' leaves no negative coefficient; d' and the sizes that are at
// least 0 are kept.
bool Ranges::obviously_at_least_zero(const Poly& p) const {
  if (p.is_poisoned()) return false;
  if (const auto c = p.constant()) return *c >= 0;
  bool shifts = p.constant_term() < 0;
  for (const ir::PolyTerm& t : p.terms()) {
    shifts = shifts || t.coefficient < 0;
    for (const ir::Power& power : t.monomial) {
      const ir::SymbolInfo& info = symbols_.info(power.symbol);
      if (broken(Fault::ranges_indices_from_zero)) continue;
      if (info.kind == SymbolKind::index || info.kind == SymbolKind::element) return false;
      if (info.kind == SymbolKind::dimension || least(power.symbol)) continue;
      if (info.kind != SymbolKind::floor_div || !obviously_at_least_zero(info.arguments[0])) return false;
    }
  }
  return !shifts || shifted_at_least_zero(p);
}

namespace {

bool divides(const ir::Monomial& a, const ir::Monomial& b) {
  return std::all_of(a.begin(), a.end(), [&](const ir::Power& x) {
    return std::any_of(b.begin(), b.end(), [&](const ir::Power& y) { return x.symbol == y.symbol && x.power <= y.power; });
  });
}

}  // namespace

bool Ranges::shifted_at_least_zero(const Poly& p) const {
  // A negative coefficient remains negative unless a product with a positive coefficient contains its
  // symbols.
  for (const ir::PolyTerm& t : p.terms()) {
    const auto helps = [&](const ir::PolyTerm& other) { return other.coefficient > 0 && divides(t.monomial, other.monomial); };
    if (t.coefficient < 0 && std::none_of(p.terms().begin(), p.terms().end(), helps)) return false;
  }
  Poly shifted(p.constant_term());
  for (const ir::PolyTerm& t : p.terms()) {
    Poly product(t.coefficient);
    for (const ir::Power& power : t.monomial) {
      std::int64_t low = least(power.symbol).value_or(0);
      if (symbols_.info(power.symbol).kind == SymbolKind::dimension)
        low = std::max<std::int64_t>(low, broken(Fault::ranges_dimensions_from_two) ? 2 : 1);
      const Poly value = Poly(power.symbol) + Poly(low);
      for (std::uint32_t k = 0; k < power.power; ++k) product *= value;
    }
    shifted += product;
  }
  if (shifted.is_poisoned() || (shifted.constant_term() < 0 && !broken(Fault::ranges_constant_ignored))) return false;
  return std::all_of(shifted.terms().begin(), shifted.terms().end(), [](const ir::PolyTerm& t) { return t.coefficient >= 0; });
}

namespace {

// Substitutes values for symbols; nullopt if such a symbol occurs inside a defined symbol.
std::optional<Poly> with_values(const ir::Symbols& symbols, const Poly& p, const ir::Symbols::Substitution& by) {
  Poly result(p.constant_term());
  for (const ir::PolyTerm& t : p.terms()) {
    Poly product(t.coefficient);
    for (const ir::Power& power : t.monomial) {
      const auto value = by.find(power.symbol);
      const auto inside = [&](const auto& entry) { return symbols.occurs(Poly(power.symbol), entry.first); };
      if (value == by.end() && std::any_of(by.begin(), by.end(), inside)) return std::nullopt;
      for (std::uint32_t k = 0; k < power.power; ++k) product *= value == by.end() ? Poly(power.symbol) : value->second;
    }
    result += product;
  }
  return result.is_poisoned() ? std::nullopt : std::optional(std::move(result));
}

}  // namespace

std::optional<Ranges::Elements> Ranges::Elements::at(const ir::Symbols& symbols, const std::vector<Poly>& index) const {
  if (all) return Elements{low, end, true, {}, {}, {}};
  if (index.size() != indices.size()) return std::nullopt;
  ir::Symbols::Substitution by;
  for (const SymbolId b : binders) {
    for (std::size_t k = 0; k < indices.size() && !by.contains(b); ++k) {
      // c b + r = index, for c = 1 or c = -1
      const auto linear = indices[k].linear_in(b);
      const auto c = linear ? linear->first.constant() : std::nullopt;
      if (c == 1 || c == -1) by.emplace(b, linear->first * (index[k] - linear->second));
    }
    if (!by.contains(b)) return std::nullopt;
  }
  Condition where = conditions;
  for (std::size_t k = 0; k < indices.size(); ++k) where.push_back({indices[k] - index[k], Relation::zero});
  const auto from = with_values(symbols, low, by);
  const auto to = with_values(symbols, end, by);
  if (!from || !to) return std::nullopt;
  Elements result{*from, *to, true, {}, {}, {}};
  for (const Atom& a : where) {
    const auto value = with_values(symbols, a.poly, by);
    if (!value) return std::nullopt;
    if (!value->is_zero() || a.relation == Relation::not_zero) result.conditions.push_back({*value, a.relation});
  }
  return result;
}

bool Ranges::holds(const Atom& atom) const {
  switch (atom.relation) {
    case Relation::at_least_zero:
      return at_least_zero(atom.poly);
    case Relation::zero:
      return at_least_zero(atom.poly) && at_least_zero(-atom.poly);
    case Relation::not_zero:
      break;
  }
  return at_least_zero(atom.poly - Poly(1)) || at_least_zero(-atom.poly - Poly(1));
}

void Ranges::add_element_bounds(SymbolId symbol, std::vector<Bound>& bounds) const {
  const ir::SymbolInfo& info = symbols_.info(symbol);
  const auto ranges = elements_->find(info.tensor);
  if (ranges == elements_->end()) return;
  for (const Elements& all : ranges->second) {
    const auto range = all.at(symbols_, info.arguments);
    const auto is_known = [&](const Atom& a) { return holds(a) || broken(Fault::source_ranges_of_all_elements); };
    if (!range || !std::all_of(range->conditions.begin(), range->conditions.end(), is_known)) continue;
    bounds.push_back({1, -range->low, false, true, nullptr});
    bounds.push_back({-1, range->end - Poly(broken(Fault::ranges_elements_below_end) ? 2 : 1), false, true, nullptr});
  }
}

const std::vector<Ranges::Bound>& Ranges::bounds(SymbolId symbol) const {
  const auto [at, added] = bounds_.try_emplace(symbol);
  std::vector<Bound>& list = at->second;  // references remain valid when other bounds are added
  if (!added) return list;
  if (elements_ != nullptr && symbols_.info(symbol).kind == SymbolKind::element) {
    std::vector<Bound> found;
    add_element_bounds(symbol, found);
    list = std::move(found);
  }
  for (const Atom* a : known_) {
    if (!a->poly.mentions(symbol)) continue;
    auto linear = a->poly.linear_in(symbol);
    if (!linear || !linear->first.is_constant()) continue;
    const std::int64_t c = *linear->first.constant();
    if ((c != 1 && c != -1) || symbols_.occurs(linear->second, symbol)) continue;
    const auto is_index = [&](const ir::Power& power) { return symbols_.info(power.symbol).kind == SymbolKind::index; };
    const auto terms = linear->second.terms();
    const bool of_sizes = std::none_of(terms.begin(), terms.end(),
                                       [&](const ir::PolyTerm& t) { return std::any_of(t.monomial.begin(), t.monomial.end(), is_index); });
    list.push_back({c, std::move(linear->second), a->relation == Relation::zero, of_sizes, a});
  }
  return list;
}

bool Ranges::at_least_zero(const Poly& p) const {
  int budget = 64;
  return at_least_zero(p, 6, budget);
}

bool Ranges::at_least_zero(const Poly& p, int depth, int& budget) const {
  if (p.is_poisoned()) return false;
  if (obviously_at_least_zero(p)) return true;
  if (p.is_constant() || depth == 0 || --budget <= 0) return false;
  if (std::any_of(known_.begin(), known_.end(), [&](const Atom* a) { return a != left_out_ && a->poly == p; })) return true;
  // Replaces one symbol x with p = c x + r by a bound: if c >= 0 by l from x - l >= 0, if -c >= 0 by u from
  // u - x >= 0.
  for (const SymbolId x : p.symbols()) {
    if (symbols_.info(x).kind == SymbolKind::dimension) continue;
    const auto linear = p.linear_in(x);
    if (!linear) continue;
    const bool up = obviously_at_least_zero(linear->first);
    const bool down = !up && obviously_at_least_zero(-linear->first);
    if ((!up && !down) || broken(Fault::ranges_bounds_unused)) continue;
    for (const Bound& b : bounds(x)) {
      // c x + rest >= 0: x >= -rest for c = 1, x <= rest for c = -1.
      const bool usable =
          b.equation || (b.coefficient == 1 && up) || (b.coefficient == -1 && down) || broken(Fault::ranges_bound_from_other_side);
      if (!usable || (!b.of_sizes && depth < 5) || (b.from != nullptr && b.from == left_out_)) continue;
      const Poly value = b.coefficient == 1 ? -b.rest : b.rest;
      if (at_least_zero(linear->first * value + linear->second, depth - 1, budget)) return true;
    }
    return false;  // one symbol at a time: the order does not matter for products of independent ranges
  }
  return false;
}

std::optional<Condition> tidy(const ir::Symbols& symbols, const Atom& atom) {
  Poly p = atom.poly;
  if (p.is_poisoned()) throw Stop{false, "cannot compute an index: it does not fit 64 bits"};
  if (const auto c = p.constant()) {
    const bool holds = atom.relation == Relation::at_least_zero ? *c >= 0 : atom.relation == Relation::zero ? *c == 0 : *c != 0;
    return holds ? std::optional(Condition{}) : std::nullopt;
  }
  // Divides by the dimensions that are common to all terms; they are at least 1.
  if (p.constant_term() == 0) {
    const ir::Monomial candidates = p.terms().front().monomial;
    for (const ir::Power& c : candidates) {
      if (symbols.info(c.symbol).kind != SymbolKind::dimension && !broken(Fault::ranges_divides_by_anything)) continue;
      while (auto quotient = ir::exact_divide(p, Poly(c.symbol))) p = *std::move(quotient);
    }
    if (p.is_constant()) return tidy(symbols, {p, atom.relation});
  }
  std::int64_t g = 0;
  for (const ir::PolyTerm& t : p.terms()) g = std::gcd(g, t.coefficient);
  if (g > 1) {
    const std::int64_t c = p.constant_term();
    if (atom.relation != Relation::at_least_zero && c % g != 0 && !broken(Fault::ranges_rounds_equations)) {
      return atom.relation == Relation::zero ? std::nullopt : std::optional(Condition{});
    }
    p = *ir::exact_divide(p - Poly(c), Poly(g)) + Poly(ir::floor_divide(broken(Fault::ranges_rounds_up) ? c + g - 1 : c, g));
  }
  if (atom.relation != Relation::at_least_zero && !p.terms().empty() && p.terms().front().coefficient < 0) p = -p;
  return Condition{{p, atom.relation}};
}

namespace {

// True if the value of the symbol depends on no index and no tensor.
bool is_size(const ir::Symbols& symbols, SymbolId s) {
  const SymbolKind kind = symbols.info(s).kind;
  if (kind == SymbolKind::dimension || kind == SymbolKind::parameter) return true;
  if (kind == SymbolKind::index || kind == SymbolKind::element) return false;
  const auto inside = symbols.all_symbols(Poly(s));
  return std::none_of(inside.begin(), inside.end(),
                      [&](SymbolId x) { return symbols.info(x).kind == SymbolKind::index || symbols.info(x).kind == SymbolKind::element; });
}

}  // namespace

std::vector<Poly> divisors(const ir::Symbols& symbols, const Poly& p) {
  std::vector<Poly> result;
  for (const ir::PolyTerm& t : p.terms()) {
    ir::Monomial sizes;
    for (const ir::Power& power : t.monomial)
      if (is_size(symbols, power.symbol)) sizes.push_back(power);
    for (const std::int64_t c : {std::int64_t{1}, t.coefficient < 0 ? -t.coefficient : t.coefficient}) {
      const Poly e(ir::PolyTerm{sizes, c});
      if (!e.is_one() && !e.is_poisoned() && std::find(result.begin(), result.end(), e) == result.end()) result.push_back(e);
    }
  }
  return result;
}

std::pair<Poly, Poly> split_by(const Poly& p, const Poly& e) {
  Poly quotient;
  Poly rest(p.constant_term());
  if (const auto c = e.constant()) {
    quotient += Poly(ir::floor_divide(p.constant_term(), *c));
    if (!broken(Fault::ranges_split_keeps_constant)) rest -= quotient * e;
  }
  for (const ir::PolyTerm& t : p.terms()) {
    const Poly term(t);
    if (const auto q = ir::exact_divide(term, e)) {
      quotient += *q;
    } else {
      rest += term;
    }
  }
  return {quotient, rest};
}

}  // namespace xflow::verifier
