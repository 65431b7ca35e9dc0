// Products, powers and the laws of scalar functions on expressions in normal form. Nothing here asks the solver.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/rules/instance.h"
#include "src/verifier/algebra/known_signs.h"
#include "src/verifier/algebra/normal.h"

namespace xflow::verifier {

class Algebra {
 public:
  Algebra(ir::Symbols& symbols, const std::vector<rules::ValueFact>& facts);

  ir::Symbols& symbols() { return symbols_; }

  // Signs of values at some elements, which are used within an `Under` alone; nullptr: none.
  void know(const KnownSigns* signs) { signs_ = signs != nullptr && !signs->empty() ? signs : nullptr; }
  bool knows_signs() const { return signs_ != nullptr; }
  // For its lifetime values are asked about where the condition holds and the booleans have their values.
  class Under {
   public:
    Under(Algebra& algebra, const Condition& context, KnownBooleans booleans)
        : algebra_(algebra), context_(algebra.context_), booleans_(std::move(algebra.booleans_)) {
      algebra.context_ = &context;
      algebra.booleans_ = std::move(booleans);
    }
    ~Under() {
      algebra_.context_ = context_;
      algebra_.booleans_ = std::move(booleans_);
    }
    Under(const Under&) = delete;
    Under& operator=(const Under&) = delete;

   private:
    Algebra& algebra_;
    const Condition* context_;
    KnownBooleans booleans_;
  };
  const KnownBooleans& booleans() const { return booleans_; }

  Expression constant(const Rational& value) const;
  // The value of an index polynomial: its monomials, with dimensions as powers and every other symbol as a factor of its own.
  Expression integer(const Poly& poly) const;
  Expression factor(FactorPtr factor, int power = 1) const;

  Expression sum(Expression a, const Expression& b) const;
  Expression scale(Expression e, const Rational& by) const;
  Expression negate(Expression e) const { return scale(std::move(e), Rational(-1)); }
  // Binders of `b` are renamed where both have some.
  Term multiply(const Term& a, const Term& b);
  Expression multiply(const Expression& a, const Expression& b);
  Expression power(const Expression& e, int exponent);
  // factor^power, merging with an equal factor: x^p x^q = x^(p+q), where p + q = 0 only for an x that is not 0; b b = b for booleans.
  void multiply_factor(Term& term, const FactorPtr& factor, int power);

  // function(arguments) with the laws of the function applied.
  Expression apply(Function function, std::vector<Expression> arguments);
  // The argument converted to a type: itself where all of its values are of the type, otherwise a function of its own.
  Expression convert(ir::DataType type, Expression argument) const;
  Expression reciprocal(const Expression& e);
  // The maximum over all pieces: nested maxima joined, equal pieces once, common summands and positive common factors outside.
  Expression maximum(const std::vector<Piece>& pieces);
  // sqrt(x)^2 = x for x >= 0, applied to all factors of a term; nothing where no factor is of that form.
  std::optional<Expression> expand_roots(const Term& term);

  // True only if the value is known to be so, from value facts and form.
  bool is_boolean(const Expression& e) const;
  bool positive(const Factor& f) const;
  bool nonnegative(const Factor& f) const;
  bool nonzero(const Factor& f) const;
  bool positive(const Expression& e) const;
  bool nonnegative(const Expression& e) const;
  // Every value is an integer.
  bool integral(const Factor& f) const;
  bool integral(const Term& t) const;
  bool integral(const Expression& e) const;

  // Every value is one of the type.
  bool holds_values_of(const Expression& e, ir::DataType type) const;
  bool holds_values_of(const Factor& f, ir::DataType type) const;

 private:
  template <typename Value>
  bool is_known(Sign sign, const Value& value) const {
    return signs_ != nullptr && context_ != nullptr && signs_->has(sign, value, *context_, booleans_);
  }
  bool is_known_sum(Sign sign, const Expression& e) const;
  bool positive_by_form(const Factor& f) const;
  bool nonnegative_by_form(const Factor& f) const;
  bool nonnegative(const Term& t) const;
  bool positive(const Term& t) const;
  Expression exponential(const Expression& e);
  Expression square_root(const Expression& e);
  Expression real_power(const Expression& base, const Expression& exponent);
  Expression power_of_factors(const Expression& base, const Expression& exponent);
  // A function without special laws but its parity: odd f(-x) = -f(x), even f(-x) = f(x).
  Expression function(Function function, std::vector<Expression> arguments) const;
  Expression with_parity(Function function, Expression argument, bool odd);
  Expression boolean_function(Function function, std::vector<Expression> arguments) const;
  Expression logical(Function function, const Expression& a, const Expression& b);
  Expression truth(const Expression& e);
  Expression logarithm(const Expression& e);
  // floor, ceil and round_even: what is an integer goes outside.
  Expression rounded(Function function, const Expression& e);
  // Division that truncates, and remainders.
  Expression integer_quotient(const Expression& a, const Expression& b);
  Expression remainder(Function function, const Expression& a, const Expression& b);
  // 0 < e, and e = 0.
  Expression is_positive(Expression e);
  Expression is_zero(Expression e);
  // a < b or a = b, for integers a < b + 1.
  std::optional<Expression> less_or_equal(const Expression& a, const Expression& b);
  // What all terms have as a factor: dimensions, and the powers of factors that `usable` allows (0: none) and that speak of none of
  // `bound`. Its coefficient is 1.
  using Usable = std::function<int(const FactorPower&)>;
  Term common(const std::vector<const Term*>& terms, const std::vector<SymbolId>& bound, const Usable& usable) const;
  // The term divided by what it has in common with others.
  Term without(Term term, const Term& common) const;
  void flatten(const Piece& piece, std::vector<Piece>& into);
  Expression take_out_summands(std::vector<Piece>& pieces);
  Term take_out_factors(std::vector<Piece>& pieces);

  ir::Symbols& symbols_;
  std::unordered_map<ir::ValueId, rules::ValueFact::Kind> facts_;
  const KnownSigns* signs_ = nullptr;
  const Condition* context_ = nullptr;
  KnownBooleans booleans_;
};

// The one rational of an expression that is a constant.
std::optional<Rational> constant_value(const Expression& e);
// The largest positive rational that divides all coefficients: gcd of numerators / lcm of denominators. 1 for no terms.
Rational content(const std::vector<const Expression*>& expressions);

}  // namespace xflow::verifier
