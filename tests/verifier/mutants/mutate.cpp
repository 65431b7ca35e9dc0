#include "tests/verifier/mutants/mutate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <random>
#include <set>

namespace xflow::mutants {

namespace {

using rules::Expression;
using rules::Term;

Expression number(std::int64_t n) {
  Expression e;
  e.number = ir::Real(ir::Rational(n));
  return e;
}

// Operators that take the same operands and attributes.
constexpr std::array<std::array<std::string_view, 6>, 6> kExchangeable = {{
    {"add", "sub", "mul", "div", "maximum", "minimum"},
    {"relu", "abs", "neg", "exp", "tanh", "sigmoid"},
    {"sqrt", "reciprocal", "erf", "sin", "cos", "softplus"},
    {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_l2", ""},
    {"softmax", "log_softmax", "", "", "", ""},
    {"max_pool", "average_pool", "", "", "", ""},
}};

// Walks a rule and does change number `at` of all that it finds on the way.
class Mutation {
 public:
  explicit Mutation(std::size_t at) : left_(at) {}

  // What was changed; nothing if there are no more than `at` changes.
  std::optional<std::string> apply(rules::Rule& rule) {
    for (auto* side : {&rule.source, &rule.target}) {
      for (rules::Statement& s : *side) {
        if (s.outputs.size() > 1 && here("order of outputs")) std::swap(s.outputs[0], s.outputs[1]);
        term(s.term);
      }
    }
    for (std::size_t k = 0; k < rule.guards.size(); ++k) {
      rules::Guard& g = rule.guards[k];
      for (Expression& e : g.arguments) expression(e, "guard");
      if (g.kind == rules::Guard::Kind::greater && here("guard")) g.kind = rules::Guard::Kind::at_least;
      if (here("guard removed")) {
        rule.guards.erase(rule.guards.begin() + static_cast<std::ptrdiff_t>(k));
        break;
      }
    }
    declarations(rule);
    weaker_guards(rule);
    dropped_types(rule);
    for (rules::Statement& s : rule.target) renamed(s.term, rule.variables);
    for (auto* side : {&rule.source, &rule.target}) {
      for (rules::Statement& s : *side) {
        one_off(s.term);
        if (s.term.kind == Term::Kind::application && s.term.name != "relu" && here("relu added")) s.term = relu_of(s.term);
      }
    }
    for (auto* side : {&rule.source, &rule.target})
      for (rules::Statement& s : *side) gathered(s.term, rule);
    return kind_;
  }

 private:
  bool here(std::string_view kind) {
    if (kind_ || left_-- != 0) return false;
    kind_ = kind;
    return true;
  }

  // A dimension that a second type shares with an earlier one is no longer the same.
  void declarations(rules::Rule& rule) {
    std::set<std::string> known;
    for (rules::Declaration& d : rule.declarations) {
      for (Expression& e : d.dims) {
        if (e.kind == Expression::Kind::name && !known.insert(e.name).second && here("equal dimensions")) e.name += "_other";
        if (e.kind == Expression::Kind::number && here("equal dimensions")) {
          e = Expression{};
          e.kind = Expression::Kind::name;
          e.name = "Any_other";
        }
      }
    }
  }

  // A guard that admits one case more.
  void weaker_guards(rules::Rule& rule) {
    using Kind = rules::Guard::Kind;
    for (rules::Guard& g : rule.guards) {
      if ((g.kind == Kind::at_least || g.kind == Kind::greater) && here("guard weakened")) g.arguments[1] = plus(g.arguments[1], -1);
      if (g.kind == Kind::equal && here("guard weakened")) g.kind = Kind::at_least;
      if (g.kind == Kind::equal && here("guard weakened")) {
        g.kind = Kind::at_least;
        std::swap(g.arguments[0], g.arguments[1]);
      }
      if (g.kind == Kind::is_in_range && here("guard weakened")) g.arguments[0] = plus(g.arguments[0], -1);
      if (g.kind == Kind::is_in_range && here("guard weakened")) g.arguments[1] = plus(g.arguments[1], 1);
      if (g.kind == Kind::is_positive && here("guard weakened")) g.kind = Kind::is_nonnegative;
      if (g.kind == Kind::is_nonnegative && here("guard changed")) g.kind = Kind::is_nonzero;
    }
  }

  void dropped_types(rules::Rule& rule) {
    for (std::size_t k = 0; k < rule.declarations.size(); ++k) {
      if (rule.declarations[k].data_type && here("data type dropped")) rule.declarations[k].data_type.reset();
      if (!here("type dropped")) continue;
      rule.declarations.erase(rule.declarations.begin() + static_cast<std::ptrdiff_t>(k));
      return;
    }
  }

  // The target reads another variable.
  void renamed(Term& t, const std::vector<std::string>& variables) {
    if (t.kind == Term::Kind::variable) {
      const auto found = std::find(variables.begin(), variables.end(), t.name);
      if (found != variables.end() && variables.size() > 1 && here("renamed in the target")) {
        const auto at = static_cast<std::size_t>(found - variables.begin());
        t.name = variables[(at + 1) % variables.size()];
      }
    }
    for (Term& o : t.operands) renamed(o, variables);
  }

  void one_off(Term& t) {
    static constexpr std::array<std::string_view, 8> kBounds = {"begins", "ends", "sizes", "starts", "pads", "kernel", "shape", "size"};
    for (Term::NamedExpression& a : t.attributes) {
      if (std::find(kBounds.begin(), kBounds.end(), a.name) == kBounds.end()) continue;
      const bool list = a.value.kind == Expression::Kind::list;
      for (std::size_t k = 0; k < (list ? a.value.arguments.size() : 1); ++k) {
        Expression& e = list ? a.value.arguments[k] : a.value;
        for (const std::int64_t by : {1, -1})
          if (here("one off")) e = plus(e, by);
      }
    }
    for (Term& o : t.operands) one_off(o);
  }

  // Another index, or a dimension of size 1 where elements are gathered.
  void gathered(Term& t, rules::Rule& rule) {
    for (Term& o : t.operands) gathered(o, rule);
    if (t.kind != Term::Kind::application || !t.name.starts_with("gather") || t.operands.size() != 2) return;
    if (here("next index")) {
      Term one;
      one.kind = Term::Kind::literal;
      one.literal = ir::Real(ir::Rational(1));
      t.operands[1] = applied("add", {t.operands[1], one});
    }
    const rules::Declaration* declared = rule.declaration(t.operands[0].name);
    for (std::size_t k = 0; declared != nullptr && k < declared->dims.size(); ++k) {
      if (declared->dims[k].kind != Expression::Kind::name || !here("dimension of size 1")) continue;
      rules::Guard one;
      one.kind = rules::Guard::Kind::equal;
      one.arguments = {declared->dims[k], number(1)};
      rule.guards.push_back(std::move(one));
    }
  }

  static Term applied(std::string_view name, std::vector<Term> operands) {
    Term t;
    t.kind = Term::Kind::application;
    t.name = name;
    t.operands = std::move(operands);
    return t;
  }

  static Term relu_of(const Term& t) { return applied("relu", {t}); }

  static Expression plus(const Expression& e, std::int64_t by) {
    Expression sum;
    sum.kind = by > 0 ? Expression::Kind::add : Expression::Kind::subtract;
    sum.arguments = {e, number(by > 0 ? by : -by)};
    return sum;
  }

  void term(Term& t) {
    if (t.kind == Term::Kind::literal && here("literal")) {
      const auto value = t.literal.rational();
      const auto more = value ? ir::add(*value, ir::Rational(1)) : std::nullopt;
      if (more) t.literal = ir::Real(*more);
    }
    if (t.kind != Term::Kind::application) return;
    for (std::size_t k = 0; k + 1 < t.operands.size(); ++k)
      if (here(t.name == "concat" ? "concat order" : "operand order")) std::swap(t.operands[k], t.operands[k + 1]);
    for (const auto& group : kExchangeable) {
      if (std::find(group.begin(), group.end(), t.name) == group.end()) continue;
      const std::string was = t.name;
      for (const std::string_view other : group)
        if (!other.empty() && other != was && here("operator")) t.name = other;
    }
    if (t.name == "concat" && t.operands.size() > 1) {
      for (std::size_t k = 0; k < t.operands.size(); ++k) {
        if (!here("operand dropped")) continue;
        t.operands.erase(t.operands.begin() + static_cast<std::ptrdiff_t>(k));
        return;
      }
    }
    for (std::size_t k = 0; k < t.operands.size(); ++k) {
      if (!here("operand dropped")) continue;
      Term only = t.operands[k];
      t = std::move(only);
      return;
    }
    for (std::size_t k = 0; k < t.attributes.size(); ++k) {
      Term::NamedExpression& a = t.attributes[k];
      const std::string kind = kind_of(a.name);
      expression(a.value, kind);
      if (here(kind + " left out")) {
        t.attributes.erase(t.attributes.begin() + static_cast<std::ptrdiff_t>(k));
        return;
      }
    }
    for (Term& o : t.operands) term(o);
  }

  static std::string kind_of(const std::string& attribute) {
    if (attribute == "axis" || attribute == "axes") return "axis";
    if (attribute == "starts" || attribute == "steps" || (attribute == "sizes")) return "slice bounds";
    return attribute;
  }

  void expression(Expression& e, const std::string& kind) {
    switch (e.kind) {
      case Expression::Kind::number: {
        const auto was = e.number.rational();
        if (!was) return;
        for (const std::int64_t by : {1, -1}) {
          const auto changed = ir::add(*was, ir::Rational(by));
          if (changed && here(kind)) e.number = ir::Real(*changed);
        }
        return;
      }
      case Expression::Kind::name:
      case Expression::Kind::index:
        if (kind != "axis" && kind != "guard" && kind != "perm" && here(kind)) {
          Expression sum;
          sum.kind = Expression::Kind::add;
          sum.arguments = {e, number(1)};
          e = std::move(sum);
        }
        return;
      case Expression::Kind::list:
        for (std::size_t k = 0; k + 1 < e.arguments.size(); ++k)
          if (here(kind)) std::swap(e.arguments[k], e.arguments[k + 1]);
        break;
      case Expression::Kind::add:
        if (here(kind)) e.kind = Expression::Kind::subtract;
        break;
      case Expression::Kind::subtract:
        if (here(kind)) e.kind = Expression::Kind::add;
        break;
      case Expression::Kind::call:
        if (e.arguments.size() == 2 && here(kind)) std::swap(e.arguments[0], e.arguments[1]);
        if (e.name == "inverse" && here(kind)) {
          Expression inner = e.arguments[0];
          e = std::move(inner);
          return;
        }
        break;
      default:
        break;
    }
    for (Expression& a : e.arguments) expression(a, kind);
  }

  std::size_t left_;
  std::optional<std::string> kind_;
};

std::size_t count(const rules::Rule& rule, const Change& change) {
  // Each change is a number; the first that nothing answers is their count.
  std::size_t low = 0;
  for (;; ++low) {
    rules::Rule copy = rule;
    if (!change(copy, low)) return low;
  }
}

}  // namespace

std::vector<Mutant> changed(std::span<const rules::Rule> parents, std::size_t wanted, std::uint64_t seed, const Change& change,
                            std::string_view prefix) {
  // In an order that depends on the parent alone, so that other parents hardly change which mutants there are.
  struct Place {
    std::uint64_t order;
    std::size_t parent, change;
  };
  std::vector<Place> all;
  for (std::size_t k = 0; k < parents.size(); ++k) {
    // Of a family one member is enough: the others have the same place.
    const bool is_member = k > 0 && parents[k].file == parents[k - 1].file && parents[k].place.line == parents[k - 1].place.line;
    if (is_member) continue;
    std::mt19937_64 random(seed ^ parents[k].hash.words[0]);
    for (std::size_t n = count(parents[k], change); n-- > 0;) all.push_back({random(), k, n});
  }
  std::sort(all.begin(), all.end(), [](const Place& x, const Place& y) { return x.order < y.order; });
  std::vector<Mutant> result;
  std::set<rules::RuleHash> known;
  std::set<std::string> names;
  for (const rules::Rule& p : parents) known.insert(p.hash);
  for (const auto& [order, parent, n] : all) {
    if (result.size() == wanted) break;
    rules::Rule copy = parents[parent];
    const auto kind = change(copy, n);
    copy.name = fmt::format("{}-{}{}", copy.name, prefix, n);
    while (names.contains(copy.name)) copy.name += "-again";  // parents of two folders may share a name
    copy.comment.clear();
    auto parsed = rules::parse_rules(rules::print(copy), copy.name);
    if (!parsed) continue;
    rules::Rule unnamed = parsed->front();
    unnamed.name = parents[parent].name;
    auto same = rules::parse_rules(rules::print(unnamed), "same");
    if (!same || !known.insert(same->front().hash).second) continue;
    names.insert(copy.name);
    result.push_back({parents[parent].name, *kind, std::move(parsed->front())});
  }
  return result;
}

std::vector<Mutant> mutate(std::span<const rules::Rule> parents, std::size_t wanted, std::uint64_t seed) {
  return changed(
      parents, wanted, seed, [](rules::Rule& rule, std::size_t at) { return Mutation(at).apply(rule); }, "");
}

}  // namespace xflow::mutants
