// Binders and conditions: the part of the normaliser that the terms of sums and the pieces of maxima share.
#include <algorithm>

#include "src/verifier/algebra/simplify.h"
#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::SymbolKind;
using ir::Symbols;

Normalizer::Step Normalizer::scope_step(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& inner,
                                        const Condition& context, Symbols::Substitution& by) {
  if (const Step tidied = tidy_conditions(binders, conditions, context); tidied != Step::none) return tidied;
  if (eliminate_binder(binders, conditions, by)) return Step::changed;
  std::vector<Poly> polys = inner;
  for (const Atom& a : conditions) polys.push_back(a.poly);
  const Condition known = joined(context, conditions);
  reduce_defined(polys, known, by);
  if (!by.empty()) return Step::changed;
  if (split_binder(binders, conditions, polys, known, by)) return Step::changed;
  if (merge_binders(binders, conditions, inner, context, by)) return Step::changed;
  return Step::none;
}

Normalizer::Step Normalizer::tidy_conditions(const std::vector<SymbolId>& binders, Condition& conditions, const Condition& context) {
  // Outside of functions the result depends only on the conditions and the context. Terms are revisited with
  // conditions that are known to be tidy.
  bool is_final = false;
  if (nesting_ > 1) return tidy_all_conditions(binders, conditions, context, is_final);
  const auto tidied = [&]() -> std::vector<Tidied>& { return tidied_[hash_of(context) * 1000003 + hash_of(conditions)]; };
  for (const Tidied& t : tidied())
    if (same(t.conditions, conditions) && same(t.context, context)) return Step::none;
  const Step result = tidy_all_conditions(binders, conditions, context, is_final);
  if (is_final) tidied().push_back({conditions, context});
  return result;
}

namespace {

// Splits digits. If 0 <= r < e, e a + r >= 0 becomes a >= 0; if -e <= r < 0, it becomes a >= 1. If |r| < e,
// e a + r = 0 becomes a = 0 and r = 0. Returns false if condition k has none of these forms.
bool divide_condition(const Symbols& symbols, const Ranges& ranges, Condition& conditions, std::size_t k) {
  for (const Poly& e : divisors(symbols, conditions[k].poly)) {
    const auto [a, r] = split_by(conditions[k].poly, e);
    if (a.is_zero() || r.is_zero() || a.is_poisoned() || r.is_poisoned()) continue;
    if (conditions[k].relation == Relation::at_least_zero && (ranges.in_range(r, e) || broken(Fault::scope_digit_with_any_rest))) {
      conditions[k].poly = a;
      return true;
    }
    if (conditions[k].relation == Relation::at_least_zero && ranges.in_range(r + e, e)) {
      conditions[k].poly = broken(Fault::scope_negative_rest) ? a : a - Poly(1);
      return true;
    }
    if (conditions[k].relation == Relation::zero && !r.is_constant() &&
        (ranges.at_least_zero(e - Poly(1) - r) || broken(Fault::scope_digits_of_any_size)) &&
        (ranges.at_least_zero(e - Poly(1) + r) || broken(Fault::scope_digits_of_any_size))) {
      conditions[k].poly = a;
      if (!broken(Fault::scope_second_digit_is_lost)) conditions.push_back({r, Relation::zero});
      return true;
    }
  }
  return false;
}

}  // namespace

// A condition that does not follow from the others does not follow from fewer of them either. So if
// conditions were only removed and none was changed, the rest is tidy.
Normalizer::Step Normalizer::tidy_all_conditions(const std::vector<SymbolId>& binders, Condition& conditions, const Condition& context,
                                                 bool& is_final) {
  Condition result;
  bool changed = false;
  is_final = false;
  bool one_was_changed = false;
  for (std::size_t k = 0; k < conditions.size(); ++k) {
    const Atom& atom = conditions[k];
    const auto tidied = tidy(symbols(), atom);
    if (!tidied && !broken(Fault::scope_false_is_true)) return Step::empty;
    if (!tidied || tidied->empty()) {
      changed = true;
      continue;
    }
    Atom next = tidied->front();
    changed = changed || !same(next, atom);
    const auto known = [&](const Atom& a) {
      return std::any_of(result.begin(), result.end(), [&](const Atom& x) { return same(x, a); }) ||
             std::any_of(context.begin(), context.end(), [&](const Atom& x) { return same(x, a); });
    };
    if (known(next) && !broken(Fault::scope_known_conditions_stay)) {
      changed = true;
      continue;
    }
    if (const auto opposite = tidy(symbols(), negation(next)); opposite && opposite->size() == 1 && known(opposite->front()))
      return Step::empty;
    result.push_back(std::move(next));
  }
  std::optional<Ranges> all;  // the known conditions; rebuilt when a condition changes
  for (std::size_t k = 0; k < result.size(); ++k) {
    if (result[k].relation == Relation::not_zero) continue;
    if (!all) {
      all.emplace(symbols(), std::initializer_list<std::span<const Atom>>{facts_, context, result});
      all->know(solver_.element_ranges());
    }
    Ranges& ranges = *all;
    ranges.leave_out(broken(Fault::scope_condition_shows_itself) ? nullptr : &result[k]);
    if (result[k].relation == Relation::at_least_zero && ranges.at_least_zero(result[k].poly)) {
      result.erase(result.begin() + static_cast<std::ptrdiff_t>(k--));
      all.reset();
      changed = true;
      continue;
    }
    if (!divide_condition(symbols(), ranges, result, k)) continue;
    all.reset();
    changed = true;
    one_was_changed = true;
  }
  // Inside functions, removes conditions on outer symbols that the context decides: they would split the
  // term outside.
  for (std::size_t k = 0; k < result.size() && nesting_ > 1; ++k) {
    const auto is_own = [&](SymbolId b) { return mentions(symbols(), result[k], b); };
    if (std::any_of(binders.begin(), binders.end(), is_own)) continue;
    if (!solver_.implies(context, result[k], Solver::Effort::linear) && !broken(Fault::scope_nested_conditions_hold)) continue;
    if (broken(Fault::scope_nested_conditions_stay)) continue;
    result.erase(result.begin() + static_cast<std::ptrdiff_t>(k--));
    changed = true;
  }
  is_final = !one_was_changed;
  if (!changed) return Step::none;
  conditions = std::move(result);
  return Step::changed;
}

// Eliminates a binder that is determined by an equality with coefficient 1 or -1, or by a range of one
// point.
bool Normalizer::eliminate_binder(std::vector<SymbolId>& binders, const Condition& conditions, Symbols::Substitution& by) {
  for (const Atom& a : conditions) {
    if (a.relation != Relation::zero) continue;
    for (std::size_t k = 0; k < binders.size(); ++k) {
      const auto linear = a.poly.linear_in(binders[k]);
      if (!linear || !linear->first.is_constant()) continue;
      const std::int64_t c = *linear->first.constant();
      const bool whole = c == 1 || c == -1 || broken(Fault::scope_binder_of_any_coefficient);
      if (!whole || symbols().occurs(linear->second, binders[k]) || broken(Fault::scope_equations_stay)) continue;
      by.emplace(binders[k], (c == 1) != broken(Fault::scope_binder_with_other_sign) ? -linear->second : linear->second);
      binders.erase(binders.begin() + static_cast<std::ptrdiff_t>(k));
      return true;
    }
  }
  for (std::size_t k = 0; k < binders.size(); ++k) {
    for (const Atom& low : conditions) {
      const auto l = low.relation == Relation::at_least_zero ? low.poly.linear_in(binders[k]) : std::nullopt;
      if (!l || !l->first.is_one() || symbols().occurs(l->second, binders[k]) || broken(Fault::scope_ranges_of_one_stay)) continue;
      for (const Atom& high : conditions) {
        if (high.relation != Relation::at_least_zero || !(high.poly + low.poly).is_zero()) continue;
        by.emplace(binders[k], -l->second);
        binders.erase(binders.begin() + static_cast<std::ptrdiff_t>(k));
        return true;
      }
    }
  }
  return false;
}

void Normalizer::reduce_defined(const std::vector<Poly>& polys, const Condition& known, Symbols::Substitution& by) {
  std::vector<SymbolId> defined;
  for (const Poly& p : polys) {
    for (const SymbolId s : symbols().all_symbols(p)) {
      const SymbolKind kind = symbols().info(s).kind;
      if (kind != SymbolKind::floor_div && kind != SymbolKind::maximum) continue;
      if (std::find(defined.begin(), defined.end(), s) == defined.end()) defined.push_back(s);
    }
  }
  if (defined.empty()) return;
  Ranges ranges(symbols(), {facts_, known});
  ranges.know(solver_.element_ranges());
  for (const SymbolId s : defined) {
    const ir::SymbolInfo& info = symbols().info(s);
    const Poly& a = info.arguments[0];
    const Poly& b = info.arguments[1];
    if (info.kind == SymbolKind::maximum) {
      if (ranges.at_least_zero(a - b)) {
        by.emplace(s, broken(Fault::scope_maximum_is_the_smaller) ? b : a);
      } else if (ranges.at_least_zero(b - a)) {
        by.emplace(s, b);
      }
      continue;
    }
    if (ranges.in_range(a, b) || (broken(Fault::scope_quotient_is_zero) && ranges.at_least_zero(a))) {
      by.emplace(s, Poly(0));
      continue;
    }
    if (ranges.in_range(a + b, b)) {
      by.emplace(s, Poly(broken(Fault::scope_quotient_of_negative_is_zero) ? 0 : -1));
      continue;
    }
    // floor((e x + r) / (e f)) = floor(x / f) for 0 <= r < e.
    for (const Poly& e : divisors(symbols(), a)) {
      const auto f = ir::exact_divide(b, e);
      if (!f) continue;
      const auto [x, r] = split_by(a, e);
      if (x.is_zero() || r.is_zero() || broken(Fault::scope_quotients_stay)) continue;
      if (!ranges.in_range(r, e) && !broken(Fault::scope_quotient_with_any_rest)) continue;
      by.emplace(s, symbols().floor_div(x, *f));
      break;
    }
  }
}

// A binder k that is divided by q becomes q * high + low with 0 <= low < q, so that floor(k / q) = high. For
// an output index, the split is recorded as a request instead.
bool Normalizer::split_binder(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& polys, const Condition& known,
                              Symbols::Substitution& by) {
  for (const Poly& p : polys) {
    for (const SymbolId s : symbols().all_symbols(p)) {
      const ir::SymbolInfo& info = symbols().info(s);
      if (info.kind != SymbolKind::floor_div) continue;
      const auto index = info.arguments[0].as_symbol();
      if (!index) continue;
      const Poly divisor = info.arguments[1];
      const auto inside = symbols().all_symbols(divisor);
      const bool only_sizes = std::all_of(inside.begin(), inside.end(), [&](SymbolId x) {
        const SymbolKind kind = symbols().info(x).kind;
        return kind != SymbolKind::index && kind != SymbolKind::element;
      });
      if (!only_sizes) continue;
      const auto own = std::find(binders.begin(), binders.end(), *index);
      const bool is_output = std::find(output_indices_.begin(), output_indices_.end(), *index) != output_indices_.end();
      if (own == binders.end() && !is_output) continue;
      if (is_output ? broken(Fault::scope_output_indices_stay) : broken(Fault::scope_binders_stay_whole)) continue;
      if (!Ranges(symbols(), {facts_}).at_least_zero(divisor - Poly(1)) &&
          !solver_.implies(known, ops::at_least(divisor, Poly(1)), Solver::Effort::linear) && !broken(Fault::scope_digits_of_any_divisor)) {
        continue;
      }
      if (is_output) {
        if (!split_request_) split_request_ = SplitRequest{*index, divisor};
        continue;
      }
      const SymbolId high = symbols().fresh(SymbolKind::index, "high");
      const SymbolId low = symbols().fresh(SymbolKind::index, "low");
      *own = high;
      binders.push_back(low);
      by.emplace(*index, divisor * Poly(high) + Poly(low));
      conditions.push_back({Poly(low), Relation::at_least_zero});
      conditions.push_back(ops::less_than(Poly(low), broken(Fault::scope_digit_ends_early) ? divisor - Poly(1) : divisor));
      // 0 <= q high + low and low < q imply 0 <= high.
      conditions.push_back({Poly(high), Relation::at_least_zero});
      return true;
    }
  }
  return false;
}

namespace {

// The size n of a binder whose only conditions are 0 <= binder < n. `own` receives the numbers of these two
// conditions.
std::optional<Poly> plain_range(const ir::Symbols& symbols, SymbolId binder, const Condition& conditions, std::vector<std::size_t>& own) {
  bool from_zero = false;
  std::optional<Poly> size;
  for (std::size_t k = 0; k < conditions.size(); ++k) {
    const Atom& a = conditions[k];
    if (a.relation != Relation::at_least_zero || !mentions(symbols, a, binder)) continue;
    const Poly end = a.poly + Poly(binder) + Poly(1);
    if (a.poly == Poly(binder)) {
      from_zero = true;
      own.push_back(k);
    } else if (!size && !symbols.occurs(end, binder)) {
      size = end;
      own.push_back(k);
    }
  }
  return from_zero ? size : std::nullopt;
}

// `conditions` without the listed numbers.
Condition all_but(const Condition& conditions, const std::vector<std::size_t>& numbers) {
  Condition kept;
  for (std::size_t k = 0; k < conditions.size(); ++k)
    if (std::find(numbers.begin(), numbers.end(), k) == numbers.end()) kept.push_back(conditions[k]);
  return kept;
}

}  // namespace

bool Normalizer::merge_binders(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& inner,
                               const Condition& context, Symbols::Substitution& by) {
  const auto is_binder = [&](SymbolId s) { return std::find(binders.begin(), binders.end(), s) != binders.end(); };
  const auto free_of_binders = [&](const Poly& p) {
    const auto all = symbols().all_symbols(p);
    return std::none_of(all.begin(), all.end(), is_binder);
  };
  for (const SymbolId low : binders) {
    std::vector<std::size_t> low_range;
    const auto q = plain_range(symbols(), low, conditions, low_range);
    if (!q || !free_of_binders(*q)) continue;
    for (const SymbolId high : binders) {
      if (high == low) continue;
      std::vector<std::size_t> ranges = low_range;
      const auto size = plain_range(symbols(), high, conditions, ranges);
      if (!size || !free_of_binders(*size)) continue;
      // With low = joined - q high, no other polynomial may mention high. So every polynomial that mentions
      // high must mention low, too.
      Condition kept = all_but(conditions, ranges);
      std::vector<Poly> others = inner;
      for (const Atom& a : kept) others.push_back(a.poly);
      const auto speaks_of_low = [&](const Poly& p) { return symbols().occurs(p, low); };
      const auto may_vanish = [&](const Poly& p) { return !symbols().occurs(p, high) || speaks_of_low(p); };
      if (!std::all_of(others.begin(), others.end(), may_vanish) || std::none_of(others.begin(), others.end(), speaks_of_low)) continue;
      const SymbolId joined_symbol = symbols().fresh(SymbolKind::index, "k");
      const Symbols::Substitution attempt = {{low, Poly(joined_symbol) - *q * Poly(high)}};
      const bool vanishes = std::all_of(others.begin(), others.end(),
                                        [&](const Poly& p) { return !symbols().occurs(symbols().substitute(p, attempt), high); });
      if ((!vanishes && !broken(Fault::scope_merged_though_used)) || broken(Fault::scope_digits_stay_apart)) continue;
      // If both ranges were empty, the merged size would be a product of two negative sizes.
      if (!Ranges(symbols(), {facts_}).at_least_zero(*q) &&
          !solver_.implies(context, {*q, Relation::at_least_zero}, Solver::Effort::linear) && !broken(Fault::scope_merged_empty_ranges))
        continue;
      kept.push_back({Poly(joined_symbol), Relation::at_least_zero});
      kept.push_back(ops::less_than(Poly(joined_symbol), *q * *size - Poly(broken(Fault::scope_merged_range_too_small) ? 1 : 0)));
      conditions = std::move(kept);
      std::erase(binders, high);
      std::replace(binders.begin(), binders.end(), low, joined_symbol);
      by = attempt;
      return true;
    }
  }
  return false;
}

bool Normalizer::known_at_least_zero(const Poly& p, const Condition& context) {
  return Ranges(symbols(), {facts_, context}).at_least_zero(p) ||
         solver_.implies(context, {p, Relation::at_least_zero}, Solver::Effort::linear);
}

bool Normalizer::merge_sums(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& inner, const Condition& context,
                            Symbols::Substitution& by) {
  const auto free_of_binders = [&](const Poly& p) {
    return std::none_of(binders.begin(), binders.end(), [&](SymbolId b) { return symbols().occurs(p, b); });
  };
  for (const SymbolId low : binders) {
    std::vector<std::size_t> low_range;
    const auto size = plain_range(symbols(), low, conditions, low_range);
    if (!size || !free_of_binders(*size)) continue;
    for (const SymbolId high : binders) {
      if (high == low) continue;
      std::vector<std::size_t> ranges = low_range;
      const auto count = plain_range(symbols(), high, conditions, ranges);
      if (!count || !free_of_binders(*count)) continue;
      Condition kept = all_but(conditions, ranges);
      std::vector<Poly> others = inner;
      for (const Atom& a : kept) others.push_back(a.poly);
      const auto use = std::find_if(others.begin(), others.end(), [&](const Poly& p) { return p.mentions(low) && p.mentions(high); });
      if (use == others.end()) continue;
      const auto of_low = use->linear_in(low);
      const auto of_high = use->linear_in(high);
      if (!of_low || !of_low->first.is_one() || !of_high || !free_of_binders(of_high->first)) continue;
      const Poly c = of_high->first;
      const SymbolId joined_symbol = symbols().fresh(SymbolKind::index, "k");
      const Symbols::Substitution attempt = {{low, Poly(joined_symbol) - c * Poly(high)}};
      const bool vanishes = std::all_of(others.begin(), others.end(),
                                        [&](const Poly& p) { return !symbols().occurs(symbols().substitute(p, attempt), high); });
      // All values of 0 .. c (count - 1) + size - 1 occur if 1 <= c <= size and 1 <= count.
      const auto leaves_gaps = [&] { return !known_at_least_zero(*size - c, context) && !broken(Fault::scope_sums_with_gaps); };
      if (!vanishes || !known_at_least_zero(c - Poly(1), context) || leaves_gaps() || !known_at_least_zero(*count - Poly(1), context) ||
          broken(Fault::scope_sums_stay_apart)) {
        continue;
      }
      kept.push_back({Poly(joined_symbol), Relation::at_least_zero});
      kept.push_back(ops::less_than(Poly(joined_symbol), c * (*count - Poly(broken(Fault::scope_sums_go_further) ? 0 : 1)) + *size));
      conditions = std::move(kept);
      std::erase(binders, high);
      std::replace(binders.begin(), binders.end(), low, joined_symbol);
      by = attempt;
      return true;
    }
  }
  return false;
}

std::optional<Atom> Normalizer::wrapped_division(const NormalTerm& term, const Condition& context) const {
  if (solver_.element_ranges().empty() || broken(Fault::scope_wrapped_elements_stay)) return std::nullopt;
  std::vector<Poly> polys;
  collect_polys(term, polys);
  Ranges ranges(algebra_.symbols(), {facts_, context, term.conditions});
  ranges.know(solver_.element_ranges());
  for (const Poly& p : polys) {
    for (const SymbolId s : algebra_.symbols().all_symbols(p)) {
      const ir::SymbolInfo& info = algebra_.symbols().info(s);
      if (info.kind != SymbolKind::floor_div) continue;
      const Poly& a = info.arguments[0];
      const Poly& b = info.arguments[1];
      const auto inside = a.symbols();
      const bool of_element =
          std::any_of(inside.begin(), inside.end(), [&](SymbolId x) { return algebra_.symbols().info(x).kind == SymbolKind::element; });
      const bool of_bound = std::any_of(inside.begin(), inside.end(), [&](SymbolId x) {
        return std::find(term.binders.begin(), term.binders.end(), x) != term.binders.end();
      });
      if (!of_element || of_bound || !ranges.in_range(a + b, b + b)) continue;
      // Requests each condition once. If it is already known, the range of the division was too wide to use
      // it.
      Atom atom{a, Relation::at_least_zero};
      const auto known = [&](const Atom& x) { return same(x, atom) || same(x, negation(atom)); };
      if (std::none_of(term.conditions.begin(), term.conditions.end(), known) && std::none_of(context.begin(), context.end(), known)) {
        return atom;
      }
    }
  }
  return std::nullopt;
}

std::optional<Poly> Normalizer::count(SymbolId binder, const Condition& conditions, const Condition& context) const {
  std::optional<Poly> low;
  std::optional<Poly> high;
  Condition others;
  for (const Atom& a : conditions) {
    if (!mentions(algebra_.symbols(), a, binder)) {
      others.push_back(a);
      continue;
    }
    const auto linear = a.relation == Relation::at_least_zero ? a.poly.linear_in(binder) : std::nullopt;
    if (!linear || !linear->first.is_constant() || algebra_.symbols().occurs(linear->second, binder)) return std::nullopt;
    const std::int64_t c = *linear->first.constant();
    std::optional<Poly>& bound = c == 1 ? low : high;
    if ((c != 1 && c != -1) || bound) return std::nullopt;
    bound = c == 1 ? -linear->second : linear->second;
  }
  if (!low || !high) return std::nullopt;
  const Poly n = *high - *low + Poly(broken(Fault::scope_count_off_by_one) ? 0 : 1);
  const Condition known = joined(context, others);
  const bool enough = Ranges(algebra_.symbols(), {facts_, known}).at_least_zero(n) ||
                      solver_.implies(known, {n, Relation::at_least_zero}, Solver::Effort::linear) ||
                      broken(Fault::scope_count_of_negative_size);
  return enough ? std::optional(n) : std::nullopt;
}

}  // namespace xflow::verifier
