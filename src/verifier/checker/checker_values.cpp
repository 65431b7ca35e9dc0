// The checker's arithmetic on values: the meaning of each part of a term in real arithmetic.
#include <algorithm>

#include "src/verifier/checker/checker.h"
#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::Symbols;

namespace {

RealExpr literal(const Rational& value) {
  auto e = std::make_shared<RealNode>();
  e->kind = RealNode::Kind::literal;
  e->literal = value;
  return e;
}
RealExpr variable(int number) {
  auto e = std::make_shared<RealNode>();
  e->kind = RealNode::Kind::variable;
  e->variable = number;
  return e;
}
RealExpr combine(RealNode::Kind kind, std::vector<RealExpr> arguments) {
  if (arguments.size() == 1) return arguments[0];
  auto e = std::make_shared<RealNode>();
  e->kind = kind;
  e->arguments = std::move(arguments);
  return e;
}
RealExpr conditional(Condition condition, RealExpr value) {
  if (condition.empty()) return value;
  auto e = std::make_shared<RealNode>();
  e->kind = RealNode::Kind::conditional;
  e->condition = std::move(condition);
  e->arguments.push_back(std::move(value));
  return e;
}
RealExpr product(std::vector<RealExpr> a) { return a.empty() ? literal(Rational(1)) : combine(RealNode::Kind::product, std::move(a)); }
RealExpr sum(std::vector<RealExpr> a) { return a.empty() ? literal(Rational(0)) : combine(RealNode::Kind::sum, std::move(a)); }
RealExpr negated(RealExpr a) { return product({literal(Rational(-1)), std::move(a)}); }

}  // namespace

// Translates expressions into real expressions over numbered variables, and collects facts about the
// variables. Dropping the meaning of a component only makes the claim harder to
// prove.
class Checker::Translation {
 public:
  Translation(const Checker& checker, const Identify& identify)
      : symbols_(checker.symbols_), algebra_(checker.algebra_), identify_(identify) {}

  bool rejected() const { return rejected_; }
  const std::vector<RealClause>& clauses() const { return clauses_; }

  // The sum of the terms, divided by the variables that all terms have in common. If the result is 0, the
  // terms sum to 0, whatever the values of these variables are.
  RealExpr translate(const std::vector<NormalTerm>& terms) {
    std::vector<std::vector<Part>> products;
    products.reserve(terms.size());
    for (const NormalTerm& t : terms) products.push_back(parts(t));
    if (!products.empty()) {
      for (const Part& p : std::vector<Part>(products[0])) {
        const auto has = [&](const std::vector<Part>& list) {
          return std::any_of(list.begin(), list.end(), [&](const Part& q) { return p.variable >= 0 && q.variable == p.variable; });
        };
        if (!std::all_of(products.begin(), products.end(), has) && !broken(Fault::values_divided_by_what_few_have)) continue;
        for (auto& list : products) {
          const auto at = std::find_if(list.begin(), list.end(), [&](const Part& q) { return q.variable == p.variable; });
          if (at != list.end()) list.erase(at);
        }
      }
    }
    std::vector<RealExpr> all;
    all.reserve(terms.size());
    for (std::size_t k = 0; k < terms.size(); ++k) all.push_back(value_of(terms[k], products[k]));
    return sum(std::move(all));
  }

 private:
  struct Part {
    int variable;  // -1 if the value is not a single variable
    RealExpr value;
  };

  template <typename T>
  bool mentions_any(const T& x, const std::vector<SymbolId>& binders) const {
    return std::any_of(binders.begin(), binders.end(), [&](SymbolId b) { return mentions(symbols_, x, b); });
  }

  // [conditions without binders] * coefficient * product of the parts.
  RealExpr value_of(const NormalTerm& t, const std::vector<Part>& parts) const {
    Condition outer;
    for (const Atom& a : t.conditions)
      if (!mentions_any(a, t.binders) && !broken(Fault::values_without_conditions)) outer.push_back(a);
    std::vector<RealExpr> factors = {literal(t.coefficient)};
    for (const Part& p : parts) factors.push_back(p.value);
    return conditional(std::move(outer), product(std::move(factors)));
  }

  RealExpr translate_expression(const Expression& e) {
    std::vector<RealExpr> all;
    all.reserve(e.terms.size());
    for (const NormalTerm& t : e.terms) all.push_back(value_of(t, parts(t)));
    return sum(std::move(all));
  }

  // The components of a term: each dimension, each factor without binders, and each set of factors connected
  // by binders. A sum over binders of a product is the product of the sums of its connected parts.
  std::vector<Part> parts(const NormalTerm& t) {
    std::vector<Part> result;
    for (const DimensionPower& d : t.dimensions) {
      NormalTerm unit;
      unit.dimensions.push_back({d.dimension, 1});
      bool is_new = false;
      const Part p = variable_of(unit, is_new);
      if (is_new && !broken(Fault::values_dimension_of_any_sign)) clauses_.push_back({{RealFact::Relation::positive, p.value}});
      add_powers(result, p, d.power);
    }
    for (const FactorPower& f : t.factors)
      if (!mentions_any(*f.factor, t.binders)) add_powers(result, plain_factor(*f.factor), f.power);
    bool ignored = false;
    for (const NormalTerm& component : components(t)) result.push_back(variable_of(component, ignored));
    return result;
  }

  void add_powers(std::vector<Part>& into, const Part& p, int power) {
    const Part q = power > 0 || broken(Fault::values_power_without_sign) ? p : inverse_of(p);
    for (int k = 0; k < (broken(Fault::values_power_once) ? 1 : std::abs(power)); ++k) into.push_back(q);
  }

  std::vector<NormalTerm> components(const NormalTerm& t) const {
    std::vector<NormalTerm> result;
    std::vector<SymbolId> left = t.binders;
    while (!left.empty()) {
      std::vector<SymbolId> group = {left.back()};
      left.pop_back();
      // Adds the binders that share a factor or a condition with the group, until there are none left.
      for (bool grown = true; grown && !left.empty();) {
        grown = false;
        const auto absorb = [&](const auto& x) {
          if (!mentions_any(x, group)) return;
          const auto joins = [&](SymbolId b) { return mentions(symbols_, x, b); };
          for (const SymbolId b : left)
            if (joins(b)) group.push_back(b), grown = true;
          std::erase_if(left, joins);
        };
        if (!broken(Fault::values_factors_do_not_connect))
          for (const FactorPower& f : t.factors) absorb(*f.factor);
        if (!broken(Fault::values_conditions_do_not_connect))
          for (const Atom& a : t.conditions) absorb(a);
      }
      NormalTerm component;
      for (const SymbolId b : t.binders)
        if (std::find(group.begin(), group.end(), b) != group.end()) component.binders.push_back(b);
      for (const FactorPower& f : t.factors)
        if (mentions_any(*f.factor, group)) component.factors.push_back(f);
      for (const Atom& a : t.conditions)
        if (mentions_any(a, group) && !broken(Fault::values_sum_without_range)) component.conditions.push_back(a);
      result.push_back(std::move(component));
    }
    return result;
  }

  // The variable of a component: that of an equal earlier component, or a new one.
  Part variable_of(const NormalTerm& component, bool& is_new) {
    const auto number = rejected_ ? std::nullopt : identify_(known_, component);
    is_new = number && *number == known_.size();
    if (!number || *number > known_.size()) {
      rejected_ = true;
      return {-1, literal(Rational(0))};
    }
    if (is_new) {
      known_.push_back(component);
      variables_.push_back(next_++);
    }
    return {variables_[*number], variable(variables_[*number])};
  }

  Part plain_factor(const Factor& f) {
    const bool is_plain_maximum = f.kind == FactorKind::maximum && std::all_of(f.pieces.begin(), f.pieces.end(), [](const Piece& p) {
                                    return p.binders.empty() && p.conditions.empty();
                                  });
    if (is_plain_maximum) {
      std::vector<RealExpr> bodies;
      bodies.reserve(f.pieces.size());
      for (const Piece& p : f.pieces) bodies.push_back(translate_expression(p.body));
      if (broken(Fault::values_maximum_is_first_piece)) bodies.resize(1);
      return {-1, combine(RealNode::Kind::maximum, std::move(bodies))};
    }
    NormalTerm component;
    component.factors.push_back({std::make_shared<Factor>(f), 1});
    bool is_new = false;
    Part p = variable_of(component, is_new);
    if (is_new) add_facts(f, p.value);
    return p;
  }

  // Adds facts about the value of a factor: its sign, and the defining property of a function.
  void add_facts(const Factor& f, const RealExpr& v) {
    using Relation = RealFact::Relation;
    if (f.boolean && !broken(Fault::values_boolean_is_any_number))
      clauses_.push_back({{Relation::zero, v}, {Relation::zero, sum({v, literal(Rational(-1))})}});
    if (algebra_.positive(f) && !broken(Fault::values_positive_forgotten)) {
      clauses_.push_back({{Relation::positive, v}});
    } else if (algebra_.nonnegative(f) && !broken(Fault::values_nonnegative_forgotten)) {
      clauses_.push_back({{broken(Fault::values_nonnegative_is_positive) ? Relation::positive : Relation::at_least_zero, v}});
    } else if (algebra_.nonzero(f) && !broken(Fault::values_nonzero_forgotten)) {
      clauses_.push_back({{Relation::not_zero, v}});
    }
    if (f.kind != FactorKind::function || f.data_type != ir::DataType::undefined) return;
    if (f.function == Function::reciprocal) {
      add_inverse(translate_expression(f.arguments[0]), v);
    } else if (f.function == Function::sqrt) {
      // v v = e, unless e < 0.
      const RealExpr e = translate_expression(f.arguments[0]);
      RealClause root = {{Relation::positive, negated(e)}, {Relation::zero, sum({product({v, v}), negated(e)})}};
      if (broken(Fault::values_root_of_any_number)) root.erase(root.begin());
      clauses_.push_back(std::move(root));
    } else if (f.function == Function::less) {
      // 1 exactly where the argument is positive.
      const RealExpr e = translate_expression(f.arguments[0]);
      clauses_.push_back({{Relation::zero, v}, {Relation::positive, e}});
      const auto not_above = broken(Fault::values_less_at_zero) ? Relation::positive : Relation::at_least_zero;
      clauses_.push_back({{Relation::not_zero, v}, {not_above, negated(e)}});
    } else if (f.function == Function::equal) {
      // 1 exactly where the argument is 0.
      const RealExpr e = translate_expression(f.arguments[0]);
      clauses_.push_back({{Relation::zero, v}, {broken(Fault::values_equal_is_unequal) ? Relation::not_zero : Relation::zero, e}});
      clauses_.push_back({{Relation::not_zero, v}, {Relation::not_zero, e}});
    }
  }

  // y is the reciprocal of x, and 0 if x = 0.
  void add_inverse(const RealExpr& x, const RealExpr& y) {
    using Relation = RealFact::Relation;
    RealClause inverse = {{Relation::zero, x}, {Relation::zero, sum({product({x, y}), literal(Rational(-1))})}};
    if (broken(Fault::values_inverse_of_zero)) inverse.erase(inverse.begin());
    clauses_.push_back(std::move(inverse));
    if (!broken(Fault::values_inverse_of_zero_is_open)) clauses_.push_back({{Relation::not_zero, x}, {Relation::zero, y}});
  }

  Part inverse_of(const Part& p) {
    if (p.variable >= 0) {
      for (const auto& [of, number] : inverses_)
        if (of == p.variable || broken(Fault::values_one_inverse_for_all)) return {number, variable(number)};
    }
    const int number = next_++;
    if (p.variable >= 0) inverses_.emplace_back(p.variable, number);
    add_inverse(p.value, variable(number));
    return {number, variable(number)};
  }

  const Symbols& symbols_;
  const Algebra& algebra_;
  const Identify& identify_;
  bool rejected_ = false;
  std::vector<NormalTerm> known_;
  std::vector<int> variables_;  // of the known components
  std::vector<std::pair<int, int>> inverses_;
  std::vector<RealClause> clauses_;
  int next_ = 0;
};

bool Checker::zero_by_values(const std::vector<NormalTerm>& terms, const Condition& context, const Identify& identify) {
  const Algebra::Under under(algebra_, context, {});
  Translation translation(*this, identify);
  const RealExpr value = translation.translate(terms);
  return (!translation.rejected() || broken(Fault::values_rejected_is_zero)) && solver_.is_zero(context, translation.clauses(), value);
}

}  // namespace xflow::verifier
