// Laws of integers: rounding, truncating division, remainders, comparisons.
#include <algorithm>

#include "src/verifier/algebra/algebra.h"
#include "src/verifier/faults.h"

namespace xflow::verifier {

namespace {

// The value of an expression that is a constant integer; nullopt for any other expression.
std::optional<std::int64_t> integer_value(const Expression& e) {
  const auto value = constant_value(e);
  return value && value->denominator() == 1 ? std::optional(value->numerator()) : std::nullopt;
}

// Equal up to the order of the terms.
bool same_terms(ir::Symbols& symbols, const Expression& a, const Expression& b) {
  return a.terms.size() == b.terms.size() && std::all_of(a.terms.begin(), a.terms.end(), [&](const NormalTerm& x) {
           return std::count_if(b.terms.begin(), b.terms.end(), [&](const NormalTerm& y) {
                    return x.coefficient == y.coefficient && equal_but_for_coefficient(symbols, x, y);
                  }) == 1;
         });
}

// Removes the constant term of an expression and returns it.
std::int64_t take_constant(Expression& e) {
  std::int64_t result = 0;
  for (std::size_t k = 0; k < e.terms.size(); ++k) {
    const auto value = integer_value(Expression{{e.terms[k]}});
    if (!value || __builtin_add_overflow(result, *value, &result)) continue;
    e.terms.erase(e.terms.begin() + static_cast<std::ptrdiff_t>(k--));
  }
  return result;
}

}  // namespace

bool Algebra::integral(const Factor& f) const {
  if (f.boolean) return true;
  const auto all_integral = [&](const std::vector<Expression>& list) {
    return std::all_of(list.begin(), list.end(), [&](const Expression& e) { return integral(e); });
  };
  switch (f.kind) {
    case FactorKind::read:
      return f.integral;
    case FactorKind::integer:
      return true;
    case FactorKind::real:
    case FactorKind::predicate:
      return false;
    case FactorKind::function:
      // A conversion of an integer is an integer: a floating-point type with larger steps has no fractions
      // there.
      if (f.data_type != ir::DataType::undefined) return ir::is_integer(f.data_type) || all_integral(f.arguments);
      switch (f.function) {
        case Function::sign:
        case Function::floor:
        case Function::ceil:
        case Function::round_even:
        case Function::integer_divide:
          return true;
        case Function::modulo:
        case Function::remainder:
          return all_integral(f.arguments);
        default:
          return false;
      }
    case FactorKind::maximum:
      break;
  }
  return std::all_of(f.pieces.begin(), f.pieces.end(), [&](const Piece& p) { return integral(p.body); });
}

bool Algebra::integral(const NormalTerm& t) const {
  return (t.coefficient.denominator() == 1 || broken(Fault::integers_halves_are_integers)) &&
         std::all_of(t.dimensions.begin(), t.dimensions.end(), [](const DimensionPower& d) { return d.power > 0; }) &&
         std::all_of(t.factors.begin(), t.factors.end(), [&](const FactorPower& f) { return f.power > 0 && integral(*f.factor); });
}

bool Algebra::integral(const Expression& e) const {
  return std::all_of(e.terms.begin(), e.terms.end(), [&](const NormalTerm& t) { return integral(t); });
}

Expression Algebra::rounded(Function f, const Expression& e) {
  // Adding an even integer preserves which of two neighbours is even; an odd integer would not.
  const bool even = f == Function::round_even;
  Expression outside;
  Expression rest;
  const bool whole = integral(e);
  for (const NormalTerm& t : e.terms) {
    const bool out = whole || (integral(t) && (!even || t.coefficient.numerator() % 2 == 0 || broken(Fault::integers_even_rounding_moves)));
    (out ? outside : rest).terms.push_back(t);
  }
  if (broken(Fault::integers_rounding_is_the_number)) return e;
  return rest.is_zero() ? outside : sum(std::move(outside), function(f, {std::move(rest)}));
}

// Truncating division of integers: (c a) / c = a, (g a) / (g b) = a / b, (a / b) / c = a / (b c).
Expression Algebra::integer_quotient(const Expression& a, const Expression& b) {
  if (a.is_zero() || b.is_zero()) return {};
  const Expression* numerator = &a;
  Expression divisor = b;
  if (a.terms.size() == 1 && a.terms[0].coefficient == Rational(1) && a.terms[0].dimensions.empty() && a.terms[0].binders.empty() &&
      a.terms[0].conditions.empty() && a.terms[0].factors.size() == 1 && a.terms[0].factors[0].power == 1) {
    const Factor& f = *a.terms[0].factors[0].factor;
    if (f.kind == FactorKind::function && f.function == Function::integer_divide && f.data_type == ir::DataType::undefined) {
      numerator = &f.arguments[0];
      divisor = broken(Fault::integers_second_divisor_is_lost) ? f.arguments[1] : multiply(f.arguments[1], b);
    }
  }
  const Rational shared = content({numerator, &divisor});
  const Expression above = scale(*numerator, inverse(shared));
  divisor = scale(std::move(divisor), inverse(shared));
  if (const auto d = integer_value(divisor); d && (*d == 1 || *d == -1) && (integral(above) || broken(Fault::integers_quotient_is_exact)))
    return scale(above, Rational(*d));
  return function(Function::integer_divide, {above, std::move(divisor)});
}

// (a + m b) mod b = a mod b for an integer m. The remainder with the sign of the dividend is 0 for a
// multiple of b.
Expression Algebra::remainder(Function f, const Expression& a, const Expression& b) {
  const auto divisor = integer_value(b);
  if (divisor && *divisor != 0) {
    const auto is_multiple = [&](const NormalTerm& t) {
      return integral(t) && (t.coefficient.numerator() % *divisor == 0 || broken(Fault::integers_all_are_multiples));
    };
    Expression rest;
    for (const NormalTerm& t : a.terms)
      if (!is_multiple(t)) rest.terms.push_back(t);
    if (rest.is_zero()) return {};
    if (f == Function::modulo || broken(Fault::integers_remainder_is_modulo)) return function(f, {std::move(rest), b});
  }
  return function(f, {a, b});
}

Expression Algebra::is_positive(Expression e) {
  if (const auto c = constant_value(e)) return constant(Rational(c->numerator() > 0 ? 1 : 0));
  constexpr std::int64_t kLargest = INT64_MAX / 2;
  const auto is_large = [](const NormalTerm& t) { return t.coefficient.numerator() > kLargest || t.coefficient.numerator() < -kLargest; };
  if (integral(e) && std::none_of(e.terms.begin(), e.terms.end(), is_large)) {
    // For an integer d, g d + k > 0 is d > -k / g, which is d > floor(-k / g).
    const std::int64_t k = take_constant(e);
    if (e.is_zero()) return constant(Rational(k > 0 ? 1 : 0));
    const std::int64_t g = content({&e}).numerator();
    e = sum(scale(std::move(e), inverse(Rational(g))),
            constant(Rational(broken(Fault::integers_bound_truncates) ? k / g : -ir::floor_divide(-k, g))));
  } else {
    const Rational c = content({&e});
    e = scale(std::move(e), inverse(c));
  }
  return boolean_function(Function::less, {std::move(e)});
}

std::optional<Expression> Algebra::less_or_equal(const Expression& a, const Expression& b) {
  const auto only_factor = [](const Expression& e, Function f) -> const Factor* {
    if (e.terms.size() != 1) return nullptr;
    const NormalTerm& t = e.terms[0];
    const bool plain = t.coefficient == Rational(1) && t.dimensions.empty() && t.binders.empty() && t.conditions.empty() &&
                       t.factors.size() == 1 && t.factors[0].power == 1;
    const Factor* only = plain ? t.factors[0].factor.get() : nullptr;
    return only != nullptr && only->boolean && only->kind == FactorKind::function && only->function == f ? only : nullptr;
  };
  const Factor* less = only_factor(a, Function::less);
  const Factor* equal = only_factor(b, Function::equal);
  if (less == nullptr || equal == nullptr || !integral(less->arguments[0])) return std::nullopt;
  const Expression& d = less->arguments[0];
  const Expression& zero = equal->arguments[0];
  if (!same_terms(symbols_, d, zero) && !same_terms(symbols_, negate(d), zero) && !broken(Fault::integers_less_or_equal_of_others))
    return std::nullopt;
  return is_positive(sum(d, constant(Rational(broken(Fault::integers_less_or_equal_is_less) ? 0 : 1))));
}

}  // namespace xflow::verifier
