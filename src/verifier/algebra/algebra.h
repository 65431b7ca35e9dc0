// Products, powers and the laws of scalar functions on expressions in normal form. Algebra never calls the
// solver.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/rules/instance.h"
#include "src/verifier/algebra/known_signs.h"
#include "src/verifier/algebra/normal.h"
#include "src/verifier/deadline.h"

namespace xflow::verifier {

class Algebra {
 public:
  Algebra(ir::Symbols& symbols, const std::vector<rules::ValueFact>& facts);

  ir::Symbols& symbols() { return symbols_; }
  // Products throw Stop when the deadline is over: those of large expressions take most of the time.
  void set_deadline(Deadline deadline) { deadline_ = std::move(deadline); }

  // Sets the known signs of values at some elements; nullptr: none. They are used only while an `Under`
  // exists.
  void know(const KnownSigns* signs) { signs_ = signs != nullptr && !signs->empty() ? signs : nullptr; }
  bool knows_signs() const { return signs_ != nullptr; }
  // While an `Under` exists, questions about values are answered for the points where `context` holds and
  // the booleans have the given values.
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
  // The value of an index polynomial: its monomials, with dimensions as powers and every other symbol as a
  // factor.
  Expression integer(const Poly& poly) const;
  Expression factor(FactorPtr factor, int power = 1) const;

  Expression sum(Expression a, const Expression& b) const;
  Expression scale(Expression e, const Rational& by) const;
  Expression negate(Expression e) const { return scale(std::move(e), Rational(-1)); }
  // Renames the binders of `b` if both terms have binders.
  NormalTerm multiply(const NormalTerm& a, const NormalTerm& b);
  Expression multiply(const Expression& a, const Expression& b);
  Expression power(const Expression& e, int exponent);
  // Multiplies the term by factor^power and merges equal factors: x^p x^q = x^(p+q), where p + q = 0
  // requires that x is nonzero; b b = b for booleans.
  void multiply_factor(NormalTerm& term, const FactorPtr& factor, int power);

  // function(arguments) with the laws of the function applied.
  Expression apply(Function function, std::vector<Expression> arguments);
  // Converts the argument to a type: the argument itself if all its values are values of the type, otherwise
  // an application of the conversion.
  Expression convert(ir::DataType type, Expression argument) const;
  Expression reciprocal(const Expression& e);
  // The maximum over all pieces. Nested maxima are flattened, equal pieces are merged, and common summands
  // and nonnegative common factors are taken out.
  Expression maximum(const std::vector<Piece>& pieces);
  // Applies sqrt(x)^2 = x for x >= 0 to all factors of a term; nullopt if no factor has this form.
  std::optional<Expression> expand_roots(const NormalTerm& term);

  // The tests below return true only if the property follows from value facts, known signs and the form.
  bool is_boolean(const Expression& e) const;
  bool positive(const Factor& f) const;
  bool nonnegative(const Factor& f) const;
  bool nonzero(const Factor& f) const;
  bool positive(const Expression& e) const;
  bool nonnegative(const Expression& e) const;
  // Every value is an integer.
  bool integral(const Factor& f) const;
  bool integral(const NormalTerm& t) const;
  bool integral(const Expression& e) const;

  // Every value is a value of the type.
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
  bool nonnegative(const NormalTerm& t) const;
  bool positive(const NormalTerm& t) const;
  Expression exponential(const Expression& e);
  Expression square_root(const Expression& e);
  Expression real_power(const Expression& base, const Expression& exponent);
  Expression power_of_factors(const Expression& base, const Expression& exponent);
  // function() applies no laws. with_parity() applies only the parity: odd f(-x) = -f(x), even f(-x) = f(x).
  Expression function(Function function, std::vector<Expression> arguments) const;
  Expression with_parity(Function function, Expression argument, bool odd);
  Expression boolean_function(Function function, std::vector<Expression> arguments) const;
  Expression logical(Function function, const Expression& a, const Expression& b);
  Expression truth(const Expression& e);
  Expression logarithm(const Expression& e);
  // floor, ceil and round_even: integral terms are taken out.
  Expression rounded(Function function, const Expression& e);
  // Truncating division, and remainders.
  Expression integer_quotient(const Expression& a, const Expression& b);
  Expression remainder(Function function, const Expression& a, const Expression& b);
  // The booleans 0 < e and e = 0.
  Expression is_positive(Expression e);
  Expression is_zero(Expression e);
  // The boolean "a or b" if a is x < y and b is x = y for integers: x < y + 1. Otherwise nullopt.
  std::optional<Expression> less_or_equal(const Expression& a, const Expression& b);
  // The common factors of all terms: dimensions, and powers of the factors that mention no symbol of
  // `bound`. `usable` returns the power that may be taken out (0: none). The coefficient of the result is 1.
  using Usable = std::function<int(const FactorPower&)>;
  NormalTerm common(const std::vector<const NormalTerm*>& terms, const std::vector<SymbolId>& bound, const Usable& usable) const;
  // The term divided by `common`.
  NormalTerm without(NormalTerm term, const NormalTerm& common) const;
  void flatten(const Piece& piece, std::vector<Piece>& into);
  Expression take_out_summands(std::vector<Piece>& pieces);
  NormalTerm take_out_factors(std::vector<Piece>& pieces);

  ir::Symbols& symbols_;
  std::unordered_map<ir::ValueId, rules::ValueFact::Kind> facts_;
  const KnownSigns* signs_ = nullptr;
  const Condition* context_ = nullptr;
  KnownBooleans booleans_;
  Deadline deadline_ = {};
};

// The value of a constant expression; nullopt for any other expression.
std::optional<Rational> constant_value(const Expression& e);
// The largest positive rational that divides all coefficients: gcd of numerators / lcm of denominators. 1
// for no terms.
Rational content(const std::vector<const Expression*>& expressions);

}  // namespace xflow::verifier
