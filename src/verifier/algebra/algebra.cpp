#include "src/verifier/algebra/algebra.h"

#include <algorithm>
#include <numeric>

#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::SymbolKind;

namespace {

std::int64_t lcm(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a / std::gcd(a, b), b, &result)) throw Stop{false, "cannot compute a coefficient: it does not fit 64 bits"};
  return result;
}

constexpr std::size_t kMaxTerms = 20'000;  // per product
constexpr int kMaxPower = 1 << 20;

// a + b. Stops well before the limits of int: a power that wraps would cancel terms that do not cancel.
int added_powers(int a, int b) {
  const int sum = a + b;
  if (sum > kMaxPower || sum < -kMaxPower) throw Stop{false, "cannot compute a power: it is beyond " + std::to_string(kMaxPower)};
  return sum;
}

bool is_negative(const Rational& r) { return r.numerator() < 0; }

void multiply_dimension(NormalTerm& term, SymbolId dimension, int power) {
  const auto at = std::lower_bound(term.dimensions.begin(), term.dimensions.end(), dimension,
                                   [](const DimensionPower& d, SymbolId s) { return d.dimension < s; });
  if (at != term.dimensions.end() && at->dimension == dimension) {
    at->power = added_powers(at->power, power);
    if (at->power == 0) term.dimensions.erase(at);
  } else {
    term.dimensions.insert(at, {dimension, power});
  }
}

bool has_binders(const NormalTerm& t) {
  std::vector<SymbolId> binders;
  collect_binders(t, binders);
  return !binders.empty();
}

}  // namespace

std::optional<Rational> constant_value(const Expression& e) {
  if (e.terms.empty()) return Rational(0);
  if (e.terms.size() != 1) return std::nullopt;
  const NormalTerm& t = e.terms.front();
  if (!t.is_plain() || !t.dimensions.empty() || !t.factors.empty()) return std::nullopt;
  return t.coefficient;
}

Rational content(const std::vector<const Expression*>& expressions) {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  for (const Expression* e : expressions) {
    for (const NormalTerm& t : e->terms) {
      numerator = std::gcd(numerator, t.coefficient.numerator());
      denominator = lcm(denominator, t.coefficient.denominator());
    }
  }
  return numerator == 0 ? Rational(1) : *Rational::make(numerator, denominator);
}

Algebra::Algebra(ir::Symbols& symbols, const std::vector<rules::ValueFact>& facts) : symbols_(symbols) {
  for (const rules::ValueFact& f : facts) {
    if (f.kind == rules::ValueFact::Kind::in_range) continue;
    const auto [at, added] = facts_.emplace(f.value, f.kind);
    // Two facts about one variable: nonzero and nonnegative together mean positive.
    if (!added && at->second != f.kind && !broken(Fault::algebra_second_fact_is_lost)) at->second = rules::ValueFact::Kind::positive;
  }
}

// Sums and
// products. ----------------------------------------------------------------------------------------

Expression Algebra::constant(const Rational& value) const {
  Expression e;
  if (value.numerator() != 0) {
    e.terms.emplace_back();
    e.terms.back().coefficient = value;
  }
  return e;
}

Expression Algebra::factor(FactorPtr factor, int power) const {
  Expression e;
  e.terms.emplace_back();
  e.terms.back().factors.push_back({std::move(factor), power});
  return e;
}

Expression Algebra::integer(const Poly& poly) const {
  if (poly.is_poisoned()) throw Stop{false, "cannot compute an index: it does not fit 64 bits"};
  Expression e = broken(Fault::algebra_integer_without_constant) ? Expression{} : constant(Rational(poly.constant_term()));
  for (const ir::PolyTerm& t : poly.terms()) {
    NormalTerm term;
    term.coefficient = Rational(t.coefficient);
    for (const ir::Power& p : t.monomial) {
      if (symbols_.info(p.symbol).kind == SymbolKind::dimension) {
        multiply_dimension(term, p.symbol, static_cast<int>(p.power));
      } else {
        auto f = std::make_shared<Factor>();
        f->kind = FactorKind::integer;
        f->integer = Poly(p.symbol);
        term.factors.push_back({std::move(f), static_cast<int>(p.power)});
      }
    }
    e.terms.push_back(std::move(term));
  }
  return e;
}

Expression Algebra::sum(Expression a, const Expression& b) const {
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  return a;
}

Expression Algebra::scale(Expression e, const Rational& by) const {
  if (by.numerator() == 0) return {};
  for (NormalTerm& t : e.terms) t.coefficient = times(t.coefficient, by);
  return e;
}

void Algebra::multiply_factor(NormalTerm& term, const FactorPtr& factor, int power) {
  int positive_power = std::max(power, 0);
  int negative_power = std::min(power, 0);
  std::erase_if(term.factors, [&](const FactorPower& f) {
    if (!equal_up_to_renaming(symbols_, *f.factor, *factor)) return false;
    int& sum = f.power > 0 ? positive_power : negative_power;
    sum = added_powers(sum, f.power);
    return true;
  });
  if (factor->boolean && negative_power < 0 && !broken(Fault::algebra_booleans_have_reciprocals))
    negative_power = 0, positive_power = 1;  // the reciprocal of 0 is 0, that of 1 is 1
  const int total = added_powers(positive_power, negative_power);
  if (total == 0 && broken(Fault::algebra_cancels_nothing))
    return void(term.factors.insert(term.factors.end(), {{factor, 1}, {factor, -1}}));
  if (total == 0 && (nonzero(*factor) || broken(Fault::algebra_cancels_zero))) return;
  if (total == 0) {
    term.factors.push_back({factor, 1});
    term.factors.push_back({factor, -1});
  } else {
    term.factors.push_back({factor, factor->boolean && !broken(Fault::algebra_booleans_have_squares) ? 1 : total});
  }
}

NormalTerm Algebra::multiply(const NormalTerm& a, const NormalTerm& b) {
  if (deadline_.is_over()) throw Stop{true, "the time limit was reached"};
  NormalTerm result = a;
  const bool apart = has_binders(a) && has_binders(b) && !broken(Fault::algebra_factors_share_binders);
  const NormalTerm other = apart ? refresh(symbols_, b) : b;
  result.coefficient = times(a.coefficient, b.coefficient);
  for (const DimensionPower& d : other.dimensions) multiply_dimension(result, d.dimension, d.power);
  result.binders.insert(result.binders.end(), other.binders.begin(), other.binders.end());
  if (!broken(Fault::algebra_product_loses_conditions))
    result.conditions.insert(result.conditions.end(), other.conditions.begin(), other.conditions.end());
  for (const FactorPower& f : other.factors) multiply_factor(result, f.factor, f.power);
  return result;
}

Expression Algebra::multiply(const Expression& a, const Expression& b) {
  if (a.terms.size() * b.terms.size() > kMaxTerms)
    throw ProductTooLarge{{true, "a product has more than " + std::to_string(kMaxTerms) + " terms"}};
  Expression result;
  result.terms.reserve(a.terms.size() * b.terms.size());
  for (const NormalTerm& x : a.terms)
    for (const NormalTerm& y : b.terms) result.terms.push_back(multiply(x, y));
  return result;
}

Expression Algebra::power(const Expression& e, int exponent) {
  if (exponent < 0) return power(broken(Fault::algebra_negative_power_is_positive) ? e : reciprocal(e), -exponent);
  Expression result = constant(Rational(1));
  for (int k = 0; k < exponent; ++k) result = multiply(result, e);
  return result;
}

// Properties of
// values. -------------------------------------------------------------------------------------

bool Algebra::positive(const Factor& f) const {
  if (positive_by_form(f) || is_known(Sign::positive, f)) return true;
  return is_known(Sign::nonzero, f) && (nonnegative_by_form(f) || is_known(Sign::nonnegative, f));
}

bool Algebra::nonnegative(const Factor& f) const {
  return f.boolean || positive(f) || nonnegative_by_form(f) || is_known(Sign::nonnegative, f);
}

bool Algebra::positive_by_form(const Factor& f) const {
  switch (f.kind) {
    case FactorKind::read: {
      const auto fact = facts_.find(f.variable);
      return fact != facts_.end() && (fact->second == rules::ValueFact::Kind::positive || broken(Fault::algebra_every_fact_is_positive));
    }
    case FactorKind::function:
      if (f.function == Function::exp && f.data_type == ir::DataType::undefined) return true;
      return (f.function == Function::sqrt || f.function == Function::reciprocal) &&
             (broken(Fault::algebra_roots_are_positive) ? nonnegative(f.arguments[0]) : positive(f.arguments[0]));
    case FactorKind::maximum:
      return std::any_of(f.pieces.begin(), f.pieces.end(),
                         [&](const Piece& p) { return p.binders.empty() && p.conditions.empty() && positive(p.body); });
    default:
      return false;
  }
}

bool Algebra::nonnegative_by_form(const Factor& f) const {
  // The read or converted type is unsigned.
  const bool has_type = f.kind == FactorKind::read || f.kind == FactorKind::function;
  if (has_type && (ir::is_unsigned(f.data_type) || (broken(Fault::algebra_integers_are_unsigned) && ir::is_integer(f.data_type))))
    return true;
  switch (f.kind) {
    case FactorKind::read: {
      const auto fact = facts_.find(f.variable);
      return fact != facts_.end() && fact->second == rules::ValueFact::Kind::nonnegative;
    }
    case FactorKind::function:
      return f.function == Function::sqrt || (f.function == Function::reciprocal && nonnegative(f.arguments[0]));
    case FactorKind::maximum:
      for (const Piece& p : f.pieces) {
        if (!p.binders.empty() || !p.conditions.empty()) continue;
        if (nonnegative(p.body)) return true;
        // max(x, -x)
        for (const Piece& q : f.pieces)
          if (q.binders.empty() && q.conditions.empty() && same(p.body, negate(q.body)) && !broken(Fault::algebra_abs_of_any_sign))
            return true;
      }
      return false;
    default:
      return false;
  }
}

bool Algebra::nonzero(const Factor& f) const {
  if (positive(f)) return true;
  const auto fact = f.kind == FactorKind::read ? facts_.find(f.variable) : facts_.end();
  return (fact != facts_.end() && fact->second == rules::ValueFact::Kind::nonzero) || is_known(Sign::nonzero, f);
}

bool Algebra::nonnegative(const NormalTerm& t) const {
  return (!is_negative(t.coefficient) || broken(Fault::algebra_negative_terms_are_not)) &&
         std::all_of(t.factors.begin(), t.factors.end(), [&](const FactorPower& f) { return f.power % 2 == 0 || nonnegative(*f.factor); });
}

bool Algebra::positive(const NormalTerm& t) const {
  if (is_negative(t.coefficient)) return false;
  if (!std::all_of(t.factors.begin(), t.factors.end(), [&](const FactorPower& f) { return positive(*f.factor); })) return false;
  // The sum must not be empty: each binder has a range with at least one element, and there is no other
  // condition.
  if (broken(Fault::algebra_empty_sums_are_positive)) return true;
  if (t.conditions.size() != 2 * t.binders.size()) return false;
  for (const SymbolId b : t.binders) {
    bool from_zero = false;
    bool below = false;
    for (const Atom& a : t.conditions) {
      if (a.relation != Relation::at_least_zero) return false;
      if (a.poly == Poly(b)) from_zero = true;
      const Poly last = a.poly + Poly(b);
      const auto low = last.mentions(b) ? std::nullopt : symbols_.lower_bound(last);
      const auto inside = symbols_.all_symbols(last);
      const bool only_sizes =
          std::all_of(inside.begin(), inside.end(), [&](SymbolId s) { return symbols_.info(s).kind != SymbolKind::index; });
      if (low && *low >= 0 && only_sizes) below = true;
    }
    if (!from_zero || !below) return false;
  }
  return true;
}

// Demands state the signs of sums without their content and of products without their dimensions
// (demands.cpp).
bool Algebra::is_known_sum(Sign sign, const Expression& e) const {
  const bool is_one_factor = e.terms.size() == 1 && e.terms[0].factors.size() <= 1;
  if (signs_ == nullptr || e.is_zero() || (is_one_factor && e.terms[0].binders.empty())) return false;
  Expression bare = scale(e, inverse(content({&e})));
  if (bare.terms.size() == 1) bare.terms[0].dimensions.clear();
  return is_known(sign, bare);
}

bool Algebra::nonnegative(const Expression& e) const {
  return std::all_of(e.terms.begin(), e.terms.end(), [&](const NormalTerm& t) { return nonnegative(t); }) ||
         is_known_sum(Sign::nonnegative, e);
}

bool Algebra::positive(const Expression& e) const {
  const auto is_positive = [&](const NormalTerm& t) { return positive(t); };
  return (nonnegative(e) && std::any_of(e.terms.begin(), e.terms.end(), is_positive)) || is_known_sum(Sign::positive, e);
}

bool Algebra::is_boolean(const Expression& e) const {
  if (const auto c = constant_value(e)) return *c == Rational(0) || *c == Rational(1);
  const auto boolean_product = [](const NormalTerm& t) {
    return t.binders.empty() && t.dimensions.empty() &&
           std::all_of(t.factors.begin(), t.factors.end(), [](const FactorPower& f) { return f.factor->boolean; });
  };
  if (!std::all_of(e.terms.begin(), e.terms.end(), boolean_product)) return false;
  if (e.terms.size() == 1) return e.terms[0].coefficient == Rational(1);
  // Small polynomials in booleans: tries all combinations of factor values in {0, 1}.
  std::vector<FactorPtr> factors;
  for (const NormalTerm& t : e.terms) {
    if (!t.conditions.empty()) return false;
    for (const FactorPower& f : t.factors)
      if (std::none_of(factors.begin(), factors.end(), [&](const FactorPtr& g) { return same(*g, *f.factor); }))
        factors.push_back(f.factor);
  }
  if (factors.size() > 6) return false;
  for (unsigned bits = 0; bits < (1U << factors.size()); ++bits) {
    Rational value(0);
    for (const NormalTerm& t : e.terms) {
      const bool on = std::all_of(t.factors.begin(), t.factors.end(), [&](const FactorPower& f) {
        for (std::size_t k = 0; k < factors.size(); ++k)
          if (same(*factors[k], *f.factor)) return ((bits >> k) & 1U) != 0;
        return false;
      });
      if (on) value = plus(value, t.coefficient);
    }
    if (!(value == Rational(0)) && !(value == Rational(1)) && !broken(Fault::algebra_sums_of_booleans_are_boolean)) return false;
  }
  return true;
}

}  // namespace xflow::verifier
