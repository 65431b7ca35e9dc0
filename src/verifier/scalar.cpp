#include "src/verifier/scalar.h"

#include <algorithm>

namespace xflow::verifier {

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
RealExpr product(std::vector<RealExpr> a) { return combine(RealNode::Kind::product, std::move(a)); }
RealExpr sum(std::vector<RealExpr> a) { return a.empty() ? literal(Rational(0)) : combine(RealNode::Kind::sum, std::move(a)); }
RealExpr negated(RealExpr a) { return product({literal(Rational(-1)), std::move(a)}); }

}  // namespace

// Expressions as real expressions over numbered variables, with what is known of the variables.
class ScalarProver::Translation {
 public:
  Translation(Normalizer& normalizer, Matcher& matcher, const Condition& context)
      : normalizer_(normalizer), matcher_(matcher), context_(context) {}

  const std::vector<RealClause>& clauses() const { return clauses_; }

  // Sum of the terms divided by the variables that all have in common.
  RealExpr translate(const std::vector<Term>& terms) {
    std::vector<std::vector<Part>> products;
    products.reserve(terms.size());
    for (const Term& t : terms) products.push_back(parts(t));
    if (!products.empty()) {
      for (const Part& p : std::vector<Part>(products[0])) {
        const auto has = [&](const std::vector<Part>& list) {
          return std::any_of(list.begin(), list.end(), [&](const Part& q) { return p.variable >= 0 && q.variable == p.variable; });
        };
        if (!std::all_of(products.begin(), products.end(), has)) continue;
        for (auto& list : products) {
          list.erase(std::find_if(list.begin(), list.end(), [&](const Part& q) { return q.variable == p.variable; }));
        }
      }
    }
    std::vector<RealExpr> all;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      std::vector<RealExpr> factors = {literal(terms[k].coefficient)};
      for (const Part& p : products[k]) factors.push_back(p.value);
      all.push_back(conditional(outer_conditions(terms[k]), product(std::move(factors))));
    }
    return sum(std::move(all));
  }

 private:
  struct Part {
    int variable;  // -1 where the value is no single variable
    RealExpr value;
  };

  bool mentions_any(const Factor& f, const std::vector<SymbolId>& binders) const {
    return std::any_of(binders.begin(), binders.end(), [&](SymbolId b) { return mentions(normalizer_.symbols(), f, b); });
  }
  bool mentions_any(const Atom& a, const std::vector<SymbolId>& binders) const {
    return std::any_of(binders.begin(), binders.end(), [&](SymbolId b) { return mentions(normalizer_.symbols(), a, b); });
  }

  Condition outer_conditions(const Term& t) const {
    Condition result;
    for (const Atom& a : t.conditions)
      if (!mentions_any(a, t.binders)) result.push_back(a);
    return result;
  }

  // The components of a term: each dimension, each factor without binders, and each set of factors that binders connect.
  std::vector<Part> parts(const Term& t) {
    std::vector<Part> result;
    for (const DimensionPower& d : t.dimensions) {
      Term unit;
      unit.dimensions.push_back({d.dimension, 1});
      add_powers(result, known_variable(unit, RealFact::Relation::positive), d.power);
    }
    for (const FactorPower& f : t.factors) {
      if (mentions_any(*f.factor, t.binders)) continue;
      const Part p = plain_factor(*f.factor);
      add_powers(result, p, f.power);
    }
    for (Term& component : components(t)) result.push_back(known_variable(component, std::nullopt));
    return result;
  }

  void add_powers(std::vector<Part>& into, const Part& p, int power) {
    const Part q = power > 0 ? p : inverse_of(p);
    for (int k = 0; k < std::abs(power); ++k) into.push_back(q);
  }

  std::vector<Term> components(const Term& t) const {
    std::vector<Term> result;
    std::vector<SymbolId> left = t.binders;
    while (!left.empty()) {
      std::vector<SymbolId> group = {left.back()};
      left.pop_back();
      std::vector<bool> factors(t.factors.size(), false);
      std::vector<bool> conditions(t.conditions.size(), false);
      for (bool grown = true; grown;) {
        grown = false;
        const auto absorb = [&](const auto& x) {
          for (std::size_t k = 0; k < left.size();) {
            if (mentions(normalizer_.symbols(), x, left[k])) {
              group.push_back(left[k]);
              left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
              grown = true;
            } else {
              ++k;
            }
          }
        };
        for (std::size_t k = 0; k < t.factors.size(); ++k) {
          if (factors[k] || !mentions_any(*t.factors[k].factor, group)) continue;
          factors[k] = true;
          absorb(*t.factors[k].factor);
        }
        for (std::size_t k = 0; k < t.conditions.size(); ++k) {
          if (conditions[k] || !mentions_any(t.conditions[k], group)) continue;
          conditions[k] = true;
          absorb(t.conditions[k]);
        }
        grown = grown && !left.empty();
      }
      Term component;
      for (const SymbolId b : t.binders)
        if (std::find(group.begin(), group.end(), b) != group.end()) component.binders.push_back(b);
      for (std::size_t k = 0; k < t.factors.size(); ++k)
        if (mentions_any(*t.factors[k].factor, group)) component.factors.push_back(t.factors[k]);
      for (const Atom& a : t.conditions)
        if (mentions_any(a, group)) component.conditions.push_back(a);
      result.push_back(std::move(component));
    }
    return result;
  }

  // The variable of a component: that of an equal one met before, or a new one.
  Part known_variable(const Term& component, std::optional<RealFact::Relation> fact) {
    const std::string head = signature(component);
    for (const auto& [known, number] : variables_) {
      if (signature(known) != head) continue;
      if (matcher_.zero_by_alignment(difference(Expression{{known}}, Expression{{component}}), context_)) return {number, variable(number)};
    }
    const int number = next_++;
    variables_.emplace_back(component, number);
    if (fact) clauses_.push_back({{*fact, variable(number)}});
    return {number, variable(number)};
  }

  Part plain_factor(const Factor& f) {
    const bool is_plain_maximum = f.kind == FactorKind::maximum && std::all_of(f.pieces.begin(), f.pieces.end(), [](const Piece& p) {
                                    return p.binders.empty() && p.conditions.empty();
                                  });
    if (is_plain_maximum) {
      std::vector<RealExpr> bodies;
      for (const Piece& p : f.pieces) bodies.push_back(translate_expression(p.body));
      return {-1, combine(RealNode::Kind::maximum, std::move(bodies))};
    }
    Term component;
    component.factors.push_back({std::make_shared<Factor>(f), 1});
    const int before = next_;
    Part p = known_variable(component, std::nullopt);
    if (p.variable >= before) add_facts(f, p.value);
    return p;
  }

  RealExpr translate_expression(const Expression& e) {
    std::vector<RealExpr> all;
    for (const Term& t : e.terms) {
      std::vector<RealExpr> factors = {literal(t.coefficient)};
      for (const Part& p : parts(t)) factors.push_back(p.value);
      all.push_back(conditional(outer_conditions(t), product(std::move(factors))));
    }
    return sum(std::move(all));
  }

  void add_facts(const Factor& f, const RealExpr& v) {
    using Relation = RealFact::Relation;
    const Algebra& algebra = normalizer_.algebra();
    if (f.boolean) clauses_.push_back({{Relation::zero, v}, {Relation::zero, sum({v, literal(Rational(-1))})}});
    if (algebra.positive(f)) {
      clauses_.push_back({{Relation::positive, v}});
    } else if (algebra.nonnegative(f)) {
      clauses_.push_back({{Relation::at_least_zero, v}});
    } else if (algebra.nonzero(f)) {
      clauses_.push_back({{Relation::not_zero, v}});
    }
    if (f.kind != FactorKind::function || f.data_type != ir::DataType::undefined) return;
    if (f.function == Function::reciprocal) {
      add_inverse(translate_expression(f.arguments[0]), v);
    } else if (f.function == Function::sqrt) {
      const RealExpr e = translate_expression(f.arguments[0]);
      clauses_.push_back({{Relation::positive, negated(e)}, {Relation::zero, sum({product({v, v}), negated(e)})}});
    } else if (f.function == Function::less) {
      // 1 exactly where the argument is positive.
      const RealExpr e = translate_expression(f.arguments[0]);
      clauses_.push_back({{Relation::zero, v}, {Relation::positive, e}});
      clauses_.push_back({{Relation::not_zero, v}, {Relation::at_least_zero, negated(e)}});
    } else if (f.function == Function::equal) {
      const RealExpr e = translate_expression(f.arguments[0]);
      clauses_.push_back({{Relation::zero, v}, {Relation::zero, e}});
      clauses_.push_back({{Relation::not_zero, v}, {Relation::not_zero, e}});
    }
  }

  // y is the reciprocal of x, and 0 for x = 0.
  void add_inverse(const RealExpr& x, const RealExpr& y) {
    using Relation = RealFact::Relation;
    clauses_.push_back({{Relation::zero, x}, {Relation::zero, sum({product({x, y}), literal(Rational(-1))})}});
    clauses_.push_back({{Relation::not_zero, x}, {Relation::zero, y}});
  }

  Part inverse_of(const Part& p) {
    if (p.variable >= 0) {
      for (const auto& [of, number] : inverses_)
        if (of == p.variable) return {number, variable(number)};
    }
    const int number = next_++;
    if (p.variable >= 0) inverses_.emplace_back(p.variable, number);
    add_inverse(p.value, variable(number));
    return {number, variable(number)};
  }

  Normalizer& normalizer_;
  Matcher& matcher_;
  const Condition& context_;
  std::vector<std::pair<Term, int>> variables_;
  std::vector<std::pair<int, int>> inverses_;
  std::vector<RealClause> clauses_;
  int next_ = 0;
};

namespace {

// Only these have more meaning than a symbol: without them alignment has said all that can be said.
bool has_meaning(const Expression& e);

bool has_meaning(const Factor& f) {
  if (f.kind == FactorKind::maximum || f.boolean) return true;
  return f.kind == FactorKind::function && (f.function == Function::reciprocal || f.function == Function::sqrt);
}

bool has_meaning(const Expression& e) {
  return std::any_of(e.terms.begin(), e.terms.end(), [](const Term& t) {
    return std::any_of(t.factors.begin(), t.factors.end(), [](const FactorPower& f) { return f.power < 0 || has_meaning(*f.factor); });
  });
}

}  // namespace

bool ScalarProver::zero(const std::vector<Term>& terms, const Condition& context) {
  if (terms.size() < 2 || depth_ > 1 || matcher_ == nullptr || !has_meaning(Expression{terms})) return terms.empty();
  ++depth_;
  normalizer_.step();
  Translation translation(normalizer_, *matcher_, context);
  const RealExpr value = translation.translate(terms);
  --depth_;
  return normalizer_.solver().is_zero(context, translation.clauses(), value);
}

}  // namespace xflow::verifier
