// The laws of scalar functions and of maxima.
#include <algorithm>
#include <cmath>

#include "src/verifier/algebra/algebra.h"
#include "src/verifier/algebra/conversions.h"
#include "src/verifier/faults.h"

namespace xflow::verifier {

namespace {

constexpr int kLargestExpandedPower = 8;

// True if the leading term has a negative coefficient. The leading term is the first by signature, then in
// order.
bool leading_is_negative(const Expression& e) {
  const NormalTerm* leading = nullptr;
  std::string least;
  for (const NormalTerm& t : e.terms) {
    std::string s = signature(t);
    if (leading == nullptr || s < least) {
      leading = &t;
      least = std::move(s);
    }
  }
  return leading != nullptr && leading->coefficient.numerator() < 0;
}

std::optional<std::int64_t> exact_root(std::int64_t n) {
  if (n < 0) return std::nullopt;
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<long double>(n)));
  while (root * root > n) --root;
  while ((root + 1) * (root + 1) <= n) ++root;
  return root * root == n ? std::optional(root) : std::nullopt;
}

std::optional<Rational> exact_root(const Rational& r) {
  const auto a = exact_root(r.numerator());
  const auto b = exact_root(r.denominator());
  return a && b ? Rational::make(*a, *b) : std::nullopt;
}

}  // namespace

Expression Algebra::function(Function function, std::vector<Expression> arguments) const {
  auto f = std::make_shared<Factor>();
  f->kind = FactorKind::function;
  f->function = function;
  f->arguments = std::move(arguments);
  return factor(std::move(f));
}

Expression Algebra::boolean_function(Function function, std::vector<Expression> arguments) const {
  auto f = std::make_shared<Factor>();
  f->kind = FactorKind::function;
  f->function = function;
  f->boolean = true;
  f->arguments = std::move(arguments);
  return factor(std::move(f));
}

Expression Algebra::convert(ir::DataType type, Expression argument) const {
  if (holds_values_of(argument, type)) return argument;
  auto f = std::make_shared<Factor>();
  f->kind = FactorKind::function;
  f->data_type = type;
  f->arguments.push_back(std::move(argument));
  return factor(std::move(f));
}

bool Algebra::holds_values_of(const Factor& f, ir::DataType type) const {
  if (f.boolean) return keeps_values(ir::DataType::boolean, type);
  switch (f.kind) {
    case FactorKind::read:
      return keeps_values(f.data_type, type);
    case FactorKind::function:
      return f.data_type != ir::DataType::undefined && keeps_values(f.data_type, type);
    case FactorKind::maximum:
      return std::all_of(f.pieces.begin(), f.pieces.end(), [&](const Piece& p) { return holds_values_of(p.body, type); });
    case FactorKind::integer:
    case FactorKind::real:
    case FactorKind::predicate:
      break;
  }
  return false;
}

// Accepts x, -x for a floating-point type, and either under conditions and 0 elsewhere.
bool Algebra::holds_values_of(const Expression& e, ir::DataType type) const {
  if (const auto c = constant_value(e)) return is_value_of(*c, type);
  if (e.terms.size() != 1) return false;
  const NormalTerm& t = e.terms[0];
  const bool is_factor = t.binders.empty() && t.dimensions.empty() && t.factors.size() == 1 && t.factors[0].power == 1;
  const bool has_sign = t.coefficient == Rational(-1) && ir::is_floating(type);
  if (!is_factor || (!(t.coefficient == Rational(1)) && !has_sign && !broken(Fault::laws_multiples_stay_in_type))) return false;
  return holds_values_of(*t.factors[0].factor, type);
}

Expression Algebra::with_parity(Function f, Expression argument, bool odd) {
  if (!leading_is_negative(argument)) return function(f, {std::move(argument)});
  Expression result = function(f, {negate(std::move(argument))});
  return odd != broken(Fault::laws_odd_is_even) ? negate(std::move(result)) : result;
}

namespace {

// a for a term that is log(a) times a rational; nullptr for any other term.
const Expression* inside_logarithm(const NormalTerm& t) {
  if (t.factors.size() != 1 || t.factors[0].power != 1 || !t.binders.empty() || !t.conditions.empty() || !t.dimensions.empty())
    return nullptr;
  const Factor& f = *t.factors[0].factor;
  const bool is_logarithm = f.kind == FactorKind::function && f.function == Function::log && f.data_type == ir::DataType::undefined;
  return is_logarithm ? &f.arguments[0] : nullptr;
}

}  // namespace

// exp(a + b) = exp(a) exp(b). exp(n/m t) = exp(t/m)^n, which makes exp(-t) the reciprocal of exp(t).
// exp(n log(a)) = a^n for a positive a.
Expression Algebra::exponential(const Expression& e) {
  NormalTerm product;
  Expression powers = constant(Rational(1));
  for (const NormalTerm& t : e.terms) {
    const std::int64_t n = t.coefficient.numerator();
    if (n > 1'000 || n < -1'000) return function(Function::exp, {e});
    const Expression* const a = t.coefficient.denominator() == 1 ? inside_logarithm(t) : nullptr;
    if (a != nullptr && (positive(*a) || broken(Fault::laws_exponential_of_any_logarithm))) {
      powers =
          multiply(powers, power(refresh(symbols_, *a), broken(Fault::laws_exponential_of_a_logarithm_once) ? 1 : static_cast<int>(n)));
      continue;
    }
    NormalTerm unit = t;
    unit.coefficient = *Rational::make(1, t.coefficient.denominator());
    const Expression f = function(Function::exp, {Expression{{std::move(unit)}}});
    multiply_factor(product, f.terms[0].factors[0].factor, broken(Fault::laws_exponential_once) ? 1 : static_cast<int>(n));
  }
  return multiply(Expression{{std::move(product)}}, powers);
}

// sqrt(c d p^n t) = sqrt(c) sqrt(d) sqrt(p)^n sqrt(t) for a positive rational c, dimensions d and a
// nonnegative p.
Expression Algebra::square_root(const Expression& e) {
  if (e.is_zero()) return {};
  const Rational c = content({&e});
  std::vector<const NormalTerm*> terms;
  std::vector<SymbolId> bound;
  for (const NormalTerm& t : e.terms) {
    terms.push_back(&t);
    bound.insert(bound.end(), t.binders.begin(), t.binders.end());
  }
  NormalTerm outer = common(terms, bound, [&](const FactorPower& f) {
    if (broken(Fault::laws_root_of_any_square)) return f.power / 2 * 2;
    return nonnegative(*f.factor) ? f.power : 0;
  });
  outer.coefficient = c;
  Expression rest;
  for (const NormalTerm& t : e.terms) rest.terms.push_back(without(t, outer));
  Expression result = constant(Rational(1));
  if (const auto root = exact_root(c)) {
    result = constant(*root);
  } else {
    result = function(Function::sqrt, {constant(c)});
  }
  for (const DimensionPower& d : outer.dimensions) {
    Expression powered = function(Function::sqrt, {integer(Poly(d.dimension))});
    powered.terms.back().factors.back().power = d.power;
    result = multiply(result, powered);
  }
  for (const FactorPower& f : outer.factors) {
    const int half = f.factor->boolean || broken(Fault::laws_root_keeps_power) ? f.power : f.power / 2;
    if (half != 0) result = multiply(result, factor(f.factor, half));
    if (f.factor->boolean || f.power % 2 == 0) continue;
    Expression root = function(Function::sqrt, {factor(f.factor)});
    root.terms.back().factors.back().power = f.power % 2;
    result = multiply(result, root);
  }
  if (const auto one = constant_value(rest); one && *one == Rational(1)) return result;
  return multiply(result, function(Function::sqrt, {std::move(rest)}));
}

std::optional<Expression> Algebra::expand_roots(const NormalTerm& term) {
  for (std::size_t k = 0; k < term.factors.size(); ++k) {
    const FactorPower f = term.factors[k];
    if (f.factor->kind != FactorKind::function || f.factor->function != Function::sqrt || std::abs(f.power) < 2) continue;
    if (f.factor->data_type != ir::DataType::undefined || (!nonnegative(f.factor->arguments[0]) && !broken(Fault::laws_square_of_any_root)))
      continue;
    NormalTerm rest = term;
    rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(k));
    if (f.power % 2 != 0) rest.factors.push_back({f.factor, f.power % 2});
    const Expression base = f.power > 0 ? f.factor->arguments[0] : reciprocal(f.factor->arguments[0]);
    return multiply(Expression{{std::move(rest)}}, power(refresh(symbols_, base), std::abs(f.power) / 2));
  }
  return std::nullopt;
}

Expression Algebra::reciprocal(const Expression& e) {
  if (e.is_zero()) return {};
  if (e.terms.size() == 1 && e.terms[0].is_plain()) {
    NormalTerm t;
    t.coefficient = broken(Fault::laws_reciprocal_keeps_coefficient) ? e.terms[0].coefficient : inverse(e.terms[0].coefficient);
    for (const DimensionPower& d : e.terms[0].dimensions)
      t.dimensions.push_back({d.dimension, broken(Fault::laws_reciprocal_keeps_dimensions) ? d.power : -d.power});
    for (const FactorPower& f : e.terms[0].factors) {
      // The reciprocal of a reciprocal is the number itself, also for 0.
      if (f.factor->kind == FactorKind::function && f.factor->function == Function::reciprocal &&
          f.factor->data_type == ir::DataType::undefined) {
        Expression whole{{std::move(t)}};
        NormalTerm others = e.terms[0];
        std::erase_if(others.factors, [&](const FactorPower& g) { return g.factor == f.factor && g.power == f.power; });
        others.coefficient = Rational(1);
        others.dimensions.clear();
        whole.terms[0].factors.clear();
        return multiply(multiply(whole, power(f.factor->arguments[0], f.power)), reciprocal(Expression{{std::move(others)}}));
      }
      t.factors.push_back({f.factor, f.factor->boolean || broken(Fault::laws_reciprocal_keeps_factors) ? f.power : -f.power});
    }
    return Expression{{std::move(t)}};
  }
  // Takes out the common factors of all terms that mention no binder: the intersection of the multisets of
  // factors.
  std::vector<const NormalTerm*> terms;
  std::vector<SymbolId> bound;
  for (const NormalTerm& t : e.terms) {
    terms.push_back(&t);
    bound.insert(bound.end(), t.binders.begin(), t.binders.end());
  }
  NormalTerm outer = common(terms, bound, [](const FactorPower& f) { return f.power; });
  if (broken(Fault::laws_reciprocal_takes_nothing_out)) outer = {};
  outer.coefficient = content({&e});
  if (leading_is_negative(e)) outer.coefficient = times(outer.coefficient, Rational(-1));
  Expression rest;
  for (const NormalTerm& t : e.terms) rest.terms.push_back(without(t, outer));
  Expression outside = reciprocal(Expression{{std::move(outer)}});
  return multiply(outside, function(Function::reciprocal, {std::move(rest)}));
}

Expression Algebra::real_power(const Expression& base, const Expression& exponent) {
  if (const auto c = constant_value(exponent)) {
    const std::int64_t n = c->numerator();
    if (c->denominator() == 1 && n >= -kLargestExpandedPower && n <= kLargestExpandedPower) return power(base, static_cast<int>(n));
    if (c->denominator() == 2 && (n == 1 || n == -1))
      return n == 1 || broken(Fault::laws_power_of_minus_half) ? square_root(base) : reciprocal(square_root(base));
  }
  return power_of_factors(base, exponent);
}

// (c d p^n t)^e = c^e d^e (p^e)^n t^e for a positive rational c, dimensions d and positive p; for e > 0 also
// for a nonnegative p.
Expression Algebra::power_of_factors(const Expression& base, const Expression& exponent) {
  if (base.is_zero()) return function(Function::power, {base, exponent});
  const auto constant_exponent = constant_value(exponent);
  const bool of_zero = constant_exponent && constant_exponent->numerator() > 0;
  std::vector<const NormalTerm*> terms;
  std::vector<SymbolId> bound;
  for (const NormalTerm& t : base.terms) {
    terms.push_back(&t);
    bound.insert(bound.end(), t.binders.begin(), t.binders.end());
  }
  NormalTerm outer = common(terms, bound, [&](const FactorPower& f) {
    const bool has_power = positive(*f.factor) || (of_zero && nonnegative(*f.factor)) || broken(Fault::laws_power_of_any_factor);
    return has_power ? f.power : 0;
  });
  outer.coefficient = content({&base});
  Expression rest;
  for (const NormalTerm& t : base.terms) rest.terms.push_back(without(t, outer));
  Expression result = constant(Rational(1));
  const auto add = [&](const Expression& of, int power) {
    Expression one = function(Function::power, {of, exponent});
    one.terms.back().factors.back().power = broken(Fault::laws_power_once) ? 1 : power;
    result = multiply(result, one);
  };
  if (!(outer.coefficient == Rational(1))) add(constant(outer.coefficient), 1);
  for (const DimensionPower& d : outer.dimensions) add(integer(Poly(d.dimension)), d.power);
  for (const FactorPower& f : outer.factors) {
    if (f.factor->boolean) result = multiply(result, factor(f.factor));
    if (!f.factor->boolean) add(factor(f.factor), f.power);
  }
  if (const auto one = constant_value(rest); one && *one == Rational(1)) return result;
  return multiply(result, function(Function::power, {std::move(rest), exponent}));
}

// The boolean that is 1 where the expression is not 0.
Expression Algebra::truth(const Expression& e) {
  if (is_boolean(e)) return e;
  if (broken(Fault::laws_truth_is_the_number)) return e;
  return sum(constant(Rational(1)), negate(apply(Function::equal, {e, {}})));
}

// Booleans are the numbers 0 and 1: a and b = a b, a or b = a + b - a b, a xor b = a + b - 2 a b.
Expression Algebra::logical(Function f, const Expression& x, const Expression& y) {
  const Expression a = truth(x);
  const Expression b = truth(y);
  Expression both = multiply(a, b);
  if (f == Function::logical_and) return both;
  if (f == Function::logical_or) {
    if (broken(Fault::laws_less_or_equal_stays)) return sum(sum(a, b), negate(both));
    if (auto joined = less_or_equal(a, b)) return *std::move(joined);
    if (auto joined = less_or_equal(b, a)) return *std::move(joined);
  }
  return sum(sum(a, b), scale(both, Rational((f == Function::logical_or) != broken(Fault::laws_or_is_xor) ? -1 : -2)));
}

Expression Algebra::is_zero(Expression e) {
  if (const auto c = constant_value(e)) return constant(Rational(c->numerator() == 0 ? 1 : 0));
  const Rational scale_of_all = content({&e});
  e = scale(std::move(e), inverse(scale_of_all));
  if (leading_is_negative(e)) e = negate(std::move(e));
  return boolean_function(Function::equal, {std::move(e)});
}

Expression Algebra::apply(Function f, std::vector<Expression> arguments) {
  Expression& a = arguments[0];
  switch (f) {
    case Function::negate:
      return negate(std::move(a));
    case Function::add:
      return sum(std::move(a), arguments[1]);
    case Function::subtract:
      return sum(std::move(a), negate(std::move(arguments[1])));
    case Function::multiply:
      return multiply(a, arguments[1]);
    case Function::divide:
      return multiply(a, reciprocal(arguments[1]));
    case Function::reciprocal:
      return reciprocal(a);
    case Function::exp:
      return exponential(a);
    case Function::sqrt:
      return square_root(a);
    case Function::log:
      return logarithm(a);
    case Function::floor:
    case Function::ceil:
    case Function::round_even:
      return rounded(f, a);
    case Function::integer_divide:
      return integer_quotient(a, arguments[1]);
    case Function::modulo:
    case Function::remainder:
      return remainder(f, a, arguments[1]);
    case Function::power:
      return real_power(a, arguments[1]);
    case Function::tanh: {
      // tanh(x) = 2 / (1 + exp(-2 x)) - 1, in the form of sigmoid. It is written for whichever of x and -x
      // has a positive leading term.
      if (a.is_zero()) return {};
      const Rational sign(leading_is_negative(a) ? -1 : 1);
      const Expression decay = exponential(scale(std::move(a), times(sign, Rational(-2))));
      const Expression value = sum(scale(reciprocal(sum(constant(Rational(1)), decay)), Rational(2)), constant(Rational(-1)));
      return scale(value, sign);
    }
    case Function::sin:
    case Function::erf:
    case Function::sign:
      if (a.is_zero()) return {};
      return with_parity(f, std::move(a), true);
    case Function::cos:
      return with_parity(f, std::move(a), false);
    case Function::abs: {
      Piece minus{{}, {}, refresh(symbols_, broken(Fault::laws_abs_is_the_number) ? a : negate(a))};
      return maximum({Piece{{}, {}, std::move(a)}, std::move(minus)});
    }
    case Function::maximum:
      return maximum({Piece{{}, {}, std::move(a)}, Piece{{}, {}, std::move(arguments[1])}});
    case Function::minimum:
      if (broken(Fault::laws_minimum_is_maximum)) return maximum({Piece{{}, {}, std::move(a)}, Piece{{}, {}, std::move(arguments[1])}});
      return negate(maximum({Piece{{}, {}, negate(std::move(a))}, Piece{{}, {}, negate(std::move(arguments[1]))}}));
    case Function::logical_not:
      return sum(constant(Rational(1)), negate(truth(a)));
    case Function::logical_and:
    case Function::logical_or:
    case Function::logical_xor:
      return logical(f, a, arguments[1]);
    case Function::choose: {
      const Expression c = truth(a);
      if (broken(Fault::laws_choose_adds_both)) return sum(multiply(c, arguments[1]), arguments[2]);
      const Expression otherwise = multiply(sum(constant(Rational(1)), negate(c)), arguments[2]);
      return sum(multiply(c, arguments[1]), otherwise);
    }
    case Function::less:  // a < b is the sign of b - a
      if (broken(Fault::laws_less_is_greater)) return is_positive(sum(std::move(a), negate(std::move(arguments[1]))));
      return is_positive(sum(std::move(arguments[1]), negate(std::move(a))));
    case Function::equal:
      return is_zero(sum(std::move(a), negate(std::move(arguments[1]))));
    case Function::is_nan:
      return {};  // a real number is not NaN
    default:
      return function(f, std::move(arguments));
  }
}

// Maxima. --------------------------------------------------------------------------------------------------------------------------

void Algebra::flatten(const Piece& piece, std::vector<Piece>& into) {
  if (piece.body.terms.size() == 1) {
    const NormalTerm& t = piece.body.terms[0];
    const bool is_scaled_maximum = t.is_plain() && (t.coefficient.numerator() > 0 || broken(Fault::laws_negative_maximum_joins)) &&
                                   t.factors.size() == 1 && t.factors[0].power == 1 && t.factors[0].factor->kind == FactorKind::maximum;
    if (is_scaled_maximum) {
      NormalTerm scale_term;
      scale_term.coefficient = t.coefficient;
      scale_term.dimensions = t.dimensions;
      for (const Piece& inner : t.factors[0].factor->pieces) {
        Piece joined = refresh(symbols_, inner);
        joined.binders.insert(joined.binders.begin(), piece.binders.begin(), piece.binders.end());
        if (!broken(Fault::laws_joined_piece_loses_conditions))
          joined.conditions.insert(joined.conditions.begin(), piece.conditions.begin(), piece.conditions.end());
        joined.body = multiply(Expression{{scale_term}}, joined.body);
        flatten(joined, into);
      }
      return;
    }
  }
  into.push_back(piece);
}

// max(a + c, b + c) = max(a, b) + c, where c is a term of every piece and mentions no binder of a piece.
Expression Algebra::take_out_summands(std::vector<Piece>& pieces) {
  Expression outside;
  const std::vector<NormalTerm> candidates = pieces[0].body.terms;
  for (const NormalTerm& c : candidates) {
    bool common = std::none_of(pieces[0].binders.begin(), pieces[0].binders.end(), [&](SymbolId b) { return mentions(symbols_, c, b); });
    std::vector<std::size_t> where;
    for (std::size_t k = 0; k < pieces.size() && common; ++k) {
      const auto& terms = pieces[k].body.terms;
      const auto at = std::find_if(terms.begin(), terms.end(), [&](const NormalTerm& t) {
        return t.coefficient == c.coefficient && equal_but_for_coefficient(symbols_, c, t) &&
               std::none_of(pieces[k].binders.begin(), pieces[k].binders.end(), [&](SymbolId b) { return mentions(symbols_, t, b); });
      });
      common = at != terms.end();
      where.push_back(static_cast<std::size_t>(at - terms.begin()));
    }
    if (!common || broken(Fault::laws_summands_stay)) continue;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      pieces[k].body.terms.erase(pieces[k].body.terms.begin() + static_cast<std::ptrdiff_t>(where[k]));
    }
    outside.terms.push_back(c);
  }
  return outside;
}

// max(p a, p b) = p max(a, b) for p >= 0, where p mentions no binder.
NormalTerm Algebra::take_out_factors(std::vector<Piece>& pieces) {
  std::vector<const NormalTerm*> terms;
  std::vector<SymbolId> bound;
  for (const Piece& p : pieces) {
    bound.insert(bound.end(), p.binders.begin(), p.binders.end());
    for (const NormalTerm& t : p.body.terms) {
      terms.push_back(&t);
      bound.insert(bound.end(), t.binders.begin(), t.binders.end());
    }
  }
  if (terms.empty()) return {};
  NormalTerm outside = common(terms, bound, [&](const FactorPower& f) {
    return nonnegative(*f.factor) || broken(Fault::laws_factor_of_any_sign) ? f.power : f.power / 2 * 2;
  });
  for (Piece& p : pieces)
    for (NormalTerm& t : p.body.terms) t = without(std::move(t), outside);
  return outside;
}

Expression Algebra::maximum(const std::vector<Piece>& list) {
  std::vector<Piece> flat;
  for (const Piece& p : list) flatten(p, flat);
  // Keeps each piece once, and of the constants the largest.
  std::vector<Piece> pieces;
  std::optional<Rational> largest;
  for (Piece& p : flat) {
    if (p.binders.empty() && p.conditions.empty()) {
      if (const auto c = constant_value(p.body)) {
        if (!largest || plus(*c, times(*largest, Rational(-1))).numerator() > 0 || broken(Fault::laws_last_constant_wins)) largest = *c;
        continue;
      }
    }
    const bool known = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& q) {
      return p.binders.empty() && q.binders.empty() && p.conditions.empty() && q.conditions.empty() &&
             (equal_up_to_renaming(symbols_, q.body, p.body) || broken(Fault::laws_second_piece_is_lost));
    });
    if (!known) pieces.push_back(std::move(p));
  }
  if (pieces.empty() && !largest) throw Stop{false, "cannot take the maximum of an empty range"};
  if (pieces.empty()) return constant(*largest);
  if (largest) pieces.push_back(Piece{{}, {}, constant(*largest)});
  if (pieces.size() == 1 && pieces[0].binders.empty() && pieces[0].conditions.empty()) return pieces[0].body;
  const Expression outside = take_out_summands(pieces);
  const NormalTerm scale_outside = take_out_factors(pieces);
  std::vector<const Expression*> bodies;
  bodies.reserve(pieces.size());
  for (const Piece& p : pieces) bodies.push_back(&p.body);
  const Rational c = content(bodies);
  for (Piece& p : pieces) p.body = scale(std::move(p.body), inverse(c));
  auto f = std::make_shared<Factor>();
  f->kind = FactorKind::maximum;
  f->pieces = std::move(pieces);
  return sum(multiply(scale(factor(std::move(f)), c), Expression{{scale_outside}}), outside);
}

}  // namespace xflow::verifier
