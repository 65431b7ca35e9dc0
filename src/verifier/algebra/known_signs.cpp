#include "src/verifier/algebra/known_signs.h"

#include <algorithm>

#include "src/verifier/algebra/ranges.h"
#include "src/verifier/faults.h"

namespace xflow::verifier {

namespace {

bool implies(Sign known, Sign wanted) { return known == wanted || known == Sign::positive || broken(Fault::source_facts_of_any_sign); }

// True for f g: no coefficient, no sum.
bool is_product(const NormalTerm& t) { return t.is_plain() && t.dimensions.empty() && t.coefficient == Rational(1); }

// The factor of an expression that is a single factor; nullptr for any other expression.
const Factor* only_factor(const Expression& e) {
  if (e.terms.size() != 1) return nullptr;
  const NormalTerm& t = e.terms[0];
  return is_product(t) && t.factors.size() == 1 && t.factors[0].power == 1 ? t.factors[0].factor.get() : nullptr;
}

// f for the expression 1 - f; nullptr for any other expression.
FactorPtr complement_of(const Expression& e) {
  if (e.terms.size() != 2) return nullptr;
  for (const std::size_t k : {0U, 1U}) {
    NormalTerm minus = e.terms[1 - k];
    minus.coefficient = times(minus.coefficient, Rational(-1));
    const bool is_complement = is_product(e.terms[k]) && e.terms[k].factors.empty() && is_product(minus) && minus.factors.size() == 1;
    if (is_complement && minus.factors[0].factor->boolean) return minus.factors[0].factor;
  }
  return nullptr;
}

void collect_reads(const Expression& e, std::vector<const Factor*>& reads);

void collect_reads(const Factor& f, std::vector<const Factor*>& reads) {
  if (f.kind == FactorKind::read) reads.push_back(&f);
  for (const Expression& a : f.arguments) collect_reads(a, reads);
  for (const Piece& p : f.pieces) collect_reads(p.body, reads);
}

void collect_reads(const Expression& e, std::vector<const Factor*>& reads) {
  for (const NormalTerm& t : e.terms)
    for (const FactorPower& f : t.factors) collect_reads(*f.factor, reads);
}

// Values of the binders at which the first read has the indices of the second, for the binders that the
// indices determine.
std::optional<ir::Symbols::Substitution> unified(const ir::Symbols& symbols, const std::vector<SymbolId>& binders, const Factor& read,
                                                 const Factor& other) {
  if (read.variable != other.variable || read.indices.size() != other.indices.size()) return std::nullopt;
  ir::Symbols::Substitution by;
  for (const SymbolId b : binders) {
    for (std::size_t k = 0; k < read.indices.size() && !by.contains(b); ++k) {
      // c b + r = index, for c = 1 or c = -1 and an r without binders
      const auto linear = read.indices[k].linear_in(b);
      const auto c = linear ? linear->first.constant() : std::nullopt;
      const auto is_in_rest = [&](SymbolId x) { return symbols.occurs(linear->second, x); };
      if ((c == 1 || c == -1) && std::none_of(binders.begin(), binders.end(), is_in_rest))
        by.emplace(b, linear->first * (other.indices[k] - linear->second));
    }
    if (!by.contains(b)) return std::nullopt;
  }
  return by;
}

}  // namespace

KnownBooleans booleans_of(const std::vector<Expression>& guards) {
  KnownBooleans result;
  for (const Expression& e : guards) {
    if (FactorPtr f = complement_of(e)) result.push_back({std::move(f), false});
    if (e.terms.size() != 1 || !is_product(e.terms[0])) continue;
    for (const FactorPower& f : e.terms[0].factors)
      if (f.factor->boolean) result.push_back({f.factor, true});
  }
  return result;
}

std::optional<ir::Symbols::Substitution> KnownSigns::binders_of(const KnownSign& sign, const Factor* factor,
                                                                const Expression* value) const {
  const auto is_equal = [&](const ir::Symbols::Substitution& by) {
    const Expression at = by.empty() ? sign.value : substitute(symbols_, sign.value, by);
    const Factor* const one = factor != nullptr ? only_factor(at) : nullptr;
    if (factor != nullptr) return one != nullptr && equal_up_to_renaming(symbols_, *one, *factor);
    return equal_up_to_renaming(symbols_, at, *value);
  };
  if (sign.binders.empty()) return is_equal({}) ? std::optional(ir::Symbols::Substitution{}) : std::nullopt;
  // The value of a binder must not mention binders inside the sign's value.
  std::vector<SymbolId> bound;
  for (const NormalTerm& t : sign.value.terms) collect_binders(t, bound);
  if (factor != nullptr) collect_binders(*factor, bound);
  if (value != nullptr)
    for (const NormalTerm& t : value->terms) collect_binders(t, bound);
  const auto is_free = [&](const auto& entry) {
    return std::none_of(bound.begin(), bound.end(), [&](SymbolId b) { return symbols_.occurs(entry.second, b); });
  };
  std::vector<const Factor*> reads;
  std::vector<const Factor*> others;
  collect_reads(sign.value, reads);
  if (factor != nullptr) collect_reads(*factor, others);
  if (value != nullptr) collect_reads(*value, others);
  for (const Factor* read : reads) {
    for (const Factor* other : others) {
      const auto by = unified(symbols_, sign.binders, *read, *other);
      if (by && std::all_of(by->begin(), by->end(), is_free) && is_equal(*by)) return by;
    }
  }
  return std::nullopt;
}

bool KnownSigns::is_known(const KnownSign& sign, const Factor* factor, const Expression* value, const Condition& context,
                          const KnownBooleans& booleans) const {
  const auto by = binders_of(sign, factor, value);
  if (!by) return false;
  const Ranges ranges(symbols_, {facts_, context});
  const auto holds = [&](const Atom& a) {
    const Atom at{symbols_.substitute(a.poly, *by), a.relation};
    if (at.poly.is_poisoned()) return false;
    return std::any_of(context.begin(), context.end(), [&](const Atom& x) { return same(x, at); }) || ranges.holds(at);
  };
  if (!std::all_of(sign.conditions.begin(), sign.conditions.end(), holds) && !broken(Fault::source_facts_without_conditions)) return false;
  const auto is_one = [&](const Expression& guard) {
    const KnownBooleans asked = booleans_of({substitute(symbols_, guard, *by)});
    const auto is_known = [&](const KnownBoolean& a) {
      return std::any_of(booleans.begin(), booleans.end(),
                         [&](const KnownBoolean& b) { return a.value == b.value && equal_up_to_renaming(symbols_, *a.factor, *b.factor); });
    };
    return !asked.empty() && std::all_of(asked.begin(), asked.end(), is_known);
  };
  return std::all_of(sign.guards.begin(), sign.guards.end(), is_one) || broken(Fault::source_facts_of_what_is_not_chosen);
}

bool KnownSigns::has(Sign wanted, const Factor& value, const Condition& context, const KnownBooleans& booleans) const {
  for (const KnownSign& s : signs_) {
    if (!implies(s.sign, wanted) || !is_known(s, &value, nullptr, context, booleans)) continue;
    used_.insert(s.number);
    return true;
  }
  return false;
}

bool KnownSigns::has(Sign wanted, const Expression& value, const Condition& context, const KnownBooleans& booleans) const {
  for (const KnownSign& s : signs_) {
    if (!implies(s.sign, wanted) || !is_known(s, nullptr, &value, context, booleans)) continue;
    used_.insert(s.number);
    return true;
  }
  return false;
}

}  // namespace xflow::verifier
