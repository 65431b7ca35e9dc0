// Trusted: the checker relies on this result. Elementary methods: no search, no floating point.
#include "src/verifier/algebra/piecewise.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::Rational;

namespace {

// Thrown if the method does not decide.
struct Undecided {};

constexpr std::size_t kPieces = 64;
constexpr std::size_t kDegree = 16;

Rational sum(const Rational& a, const Rational& b) {
  if (const auto r = ir::add(a, b)) return *r;
  throw Undecided{};
}
Rational product(const Rational& a, const Rational& b) {
  if (const auto r = ir::multiply(a, b)) return *r;
  throw Undecided{};
}
Rational quotient(const Rational& a, const Rational& b) {
  if (const auto r = ir::divide(a, b)) return *r;
  throw Undecided{};
}
Rational negated(const Rational& a) { return product(a, Rational(-1)); }
bool is_less(const Rational& a, const Rational& b) { return sum(a, negated(b)).numerator() < 0; }

// Element k is the coefficient of x^k; the last element is not 0.
using Polynomial = std::vector<Rational>;

void normalise(Polynomial& p) {
  while (!p.empty() && p.back() == Rational(0)) p.pop_back();
}

Polynomial sum(const Polynomial& a, const Polynomial& b) {
  Polynomial result(std::max(a.size(), b.size()), Rational(0));
  for (std::size_t k = 0; k < a.size(); ++k) result[k] = a[k];
  for (std::size_t k = 0; k < b.size(); ++k) result[k] = sum(result[k], b[k]);
  normalise(result);
  return result;
}

Polynomial product(const Polynomial& a, const Polynomial& b) {
  if (a.empty() || b.empty()) return {};
  if (a.size() + b.size() > kDegree) throw Undecided{};
  Polynomial result(a.size() + b.size() - 1, Rational(0));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) result[i + j] = sum(result[i + j], product(a[i], b[j]));
  normalise(result);
  return result;
}

// pieces[k] holds between points[k - 1] and points[k]; the first piece starts at minus infinity, the last
// one ends at infinity. Points ascend.
struct Piecewise {
  std::vector<Rational> points;
  std::vector<Polynomial> pieces;
};

// Appends a piece that starts at `from`, where the previous piece ends.
void append(Piecewise& to, const std::optional<Rational>& from, Polynomial piece) {
  if (to.pieces.size() >= kPieces) throw Undecided{};
  if (from) to.points.push_back(*from);
  to.pieces.push_back(std::move(piece));
}

// Calls f(a's piece, b's piece, lower end, upper end) for each interval on which both functions are one
// polynomial.
template <typename Function>
void on_common_pieces(const Piecewise& a, const Piecewise& b, const Function& f) {
  std::optional<Rational> low;
  for (std::size_t i = 0, j = 0;;) {
    std::optional<Rational> high;
    if (i < a.points.size()) high = a.points[i];
    if (j < b.points.size() && (!high || is_less(b.points[j], *high))) high = b.points[j];
    f(a.pieces[i], b.pieces[j], low, high);
    if (!high) return;
    if (i < a.points.size() && a.points[i] == *high) ++i;
    if (j < b.points.size() && b.points[j] == *high) ++j;
    low = high;
  }
}

Rational inside_of(const std::optional<Rational>& low, const std::optional<Rational>& high) {
  if (low && high) return quotient(sum(*low, *high), Rational(2));
  if (low) return sum(*low, Rational(1));
  return high ? sum(*high, Rational(-1)) : Rational(0);
}

// The sign of d0 + d1 x on an interval that does not contain its zero, from its value at a point inside.
bool is_positive(const Polynomial& d, const std::optional<Rational>& low, const std::optional<Rational>& high) {
  const Rational slope = d.size() > 1 ? d[1] : Rational(0);
  return sum(d[0], product(slope, inside_of(low, high))).numerator() > 0;
}

Piecewise maximum(const Piecewise& a, const Piecewise& b) {
  Piecewise result;
  const Polynomial minus_one = {Rational(-1)};
  on_common_pieces(a, b,
                   [&](const Polynomial& f, const Polynomial& g, const std::optional<Rational>& low, const std::optional<Rational>& high) {
                     const Polynomial d = sum(f, product(minus_one, g));
                     if (d.size() > 2) throw Undecided{};
                     if (d.empty()) return append(result, low, f);
                     if (d.size() == 2) {
                       const Rational zero = quotient(negated(d[0]), d[1]);
                       const bool inside = (!low || is_less(*low, zero)) && (!high || is_less(zero, *high));
                       if (inside && !broken(Fault::piecewise_maximum_without_zero)) {
                         // If the difference rises through 0, it is negative first.
                         const bool rises = (d[1].numerator() > 0) != broken(Fault::piecewise_maximum_is_minimum);
                         append(result, low, rises ? g : f);
                         append(result, zero, rises ? f : g);
                         return;
                       }
                     }
                     append(result, low, is_positive(d, low, high) ? f : g);
                   });
  return result;
}

using Values = std::map<int, Rational>;  // of the variables

// Expressions under known values of some variables.
class Cases {
 public:
  explicit Cases(const Values& known) : known_(&known) {}

  Piecewise of(const RealNode& e) {
    using Kind = RealNode::Kind;
    switch (e.kind) {
      case Kind::literal:
        return constant(e.literal);
      case Kind::variable:
        if (const auto value = known_->find(e.variable); value != known_->end()) return constant(value->second);
        if (variable_.value_or(e.variable) != e.variable && !broken(Fault::piecewise_variables_are_one)) throw Undecided{};
        variable_ = e.variable;
        return {{}, {{Rational(0), Rational(1)}}};
      case Kind::sum:
        return fold(
            e, [](const Piecewise& a, const Piecewise& b) { return pieces(a, b, [](const auto& f, const auto& g) { return sum(f, g); }); });
      case Kind::product:
        return fold(e, [](const Piecewise& a, const Piecewise& b) {
          return pieces(a, b, [](const auto& f, const auto& g) { return product(f, g); });
        });
      case Kind::maximum:
        return fold(e, &maximum);
      case Kind::conditional:
        break;
    }
    if (broken(Fault::piecewise_conditions_hold)) return of(*e.arguments[0]);
    throw Undecided{};
  }

 private:
  template <typename Function>
  static Piecewise pieces(const Piecewise& a, const Piecewise& b, const Function& f) {
    Piecewise result;
    on_common_pieces(a, b,
                     [&](const Polynomial& x, const Polynomial& y, const std::optional<Rational>& low, const std::optional<Rational>&) {
                       append(result, low, f(x, y));
                     });
    return result;
  }

  template <typename Function>
  Piecewise fold(const RealNode& e, const Function& f) {
    if (e.arguments.empty()) throw Undecided{};
    Piecewise result = of(*e.arguments[0]);
    for (std::size_t k = 1; k < e.arguments.size(); ++k) result = f(result, of(*e.arguments[k]));
    return result;
  }

  static Piecewise constant(const Rational& value) {
    Polynomial p = {value};
    normalise(p);
    return {{}, {std::move(p)}};
  }

  const Values* known_;
  std::optional<int> variable_;
};

Rational value_at(const Polynomial& p, const Rational& x) {
  Rational result(0);
  for (std::size_t k = p.size(); k-- > 0;) result = sum(product(result, x), p[k]);
  return result;
}

// The piece that contains `x` or ends there: adjacent pieces agree at their common point.
const Polynomial& piece_at(const Piecewise& f, const Rational& x) {
  std::size_t k = 0;
  while (k < f.points.size() && is_less(f.points[k], x)) ++k;
  return f.pieces[k];
}

// Appends the points where the polynomial of f changes and, with `zeros`, where its sign may change.
void add_points(const Piecewise& f, bool zeros, std::vector<Rational>& points) {
  points.insert(points.end(), f.points.begin(), f.points.end());
  for (const Polynomial& p : f.pieces) {
    if (!zeros || p.size() < 2) continue;
    if (p.size() > 2) throw Undecided{};
    points.push_back(quotient(negated(p[0]), p[1]));
  }
}

struct Fact {
  RealFact::Relation relation;
  Piecewise value;

  bool holds_at(const Rational& x) const {
    const Rational v = value_at(piece_at(value, x), x);
    switch (relation) {
      case RealFact::Relation::zero:
        return v == Rational(0);
      case RealFact::Relation::not_zero:
        return !(v == Rational(0));
      case RealFact::Relation::positive:
        return v.numerator() > 0;
      case RealFact::Relation::at_least_zero:
        break;
    }
    return v.numerator() >= 0;
  }
};
using Facts = std::vector<Fact>;  // a disjunction

std::vector<int> variables_of(const RealNode& e) {
  std::vector<int> result;
  if (e.kind == RealNode::Kind::variable) result.push_back(e.variable);
  for (const RealExpr& a : e.arguments) {
    for (const int v : variables_of(*a))
      if (std::find(result.begin(), result.end(), v) == result.end()) result.push_back(v);
  }
  return result;
}

// The values to which a clause restricts a variable: v = 0 or v - 1 = 0.
std::optional<std::pair<int, std::vector<Rational>>> choices(const RealClause& clause) {
  const Values nothing;
  std::pair<int, std::vector<Rational>> result{-1, {}};
  try {
    for (const RealFact& f : clause) {
      const std::vector<int> variables = variables_of(*f.value);
      if (f.relation != RealFact::Relation::zero || variables.size() != 1) return std::nullopt;
      if (result.first >= 0 && result.first != variables[0]) return std::nullopt;
      result.first = variables[0];
      const Piecewise line = Cases(nothing).of(*f.value);
      if (line.pieces.size() != 1 || line.pieces[0].size() != 2) return std::nullopt;
      result.second.push_back(quotient(negated(line.pieces[0][0]), line.pieces[0][1]));
    }
  } catch (const Undecided&) {
    return std::nullopt;
  }
  return result.first >= 0 ? std::optional(result) : std::nullopt;
}

// True if e is 0 wherever the clauses hold and the variables have the values of `known`.
bool is_zero(const RealNode& e, std::span<const RealClause> clauses, const Values& known) {
  Cases cases(known);
  const Piecewise value = cases.of(e);
  std::vector<Rational> points;
  add_points(value, false, points);
  std::vector<Facts> all;
  for (const RealClause& clause : clauses) {
    try {
      Cases same = cases;  // one variable for all clauses; a dropped clause adds none
      Facts facts;
      std::vector<Rational> more;
      for (const RealFact& f : clause) {
        facts.push_back({f.relation, same.of(*f.value)});
        add_points(facts.back().value, true, more);
      }
      cases = same;
      points.insert(points.end(), more.begin(), more.end());
      all.push_back(std::move(facts));
    } catch (const Undecided&) {
      continue;
    }
  }
  const auto hold_at = [&](const Rational& x) {
    return std::all_of(all.begin(), all.end(), [&](const Facts& facts) {
      return std::any_of(facts.begin(), facts.end(), [&](const Fact& f) { return f.holds_at(x); });
    });
  };
  std::sort(points.begin(), points.end(), is_less);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  if (points.size() > kPieces) throw Undecided{};
  // Tests the points and the intervals between them, in which no sign changes.
  for (std::size_t k = 0; k <= points.size(); ++k) {
    if (k < points.size() && hold_at(points[k]) && !(value_at(piece_at(value, points[k]), points[k]) == Rational(0))) return false;
    const Rational inside =
        inside_of(k > 0 ? std::optional(points[k - 1]) : std::nullopt, k < points.size() ? std::optional(points[k]) : std::nullopt);
    if (hold_at(inside) && !piece_at(value, inside).empty()) return false;
    if (broken(Fault::piecewise_first_piece_alone)) break;
  }
  return true;
}

}  // namespace

bool is_zero_by_cases(const RealExpr& e, std::span<const RealClause> clauses) {
  constexpr std::size_t kChoices = 16;
  std::vector<Values> open = {{}};
  for (const RealClause& clause : clauses) {
    const auto found = choices(clause);
    if (!found || open.front().contains(found->first) || open.size() * found->second.size() > kChoices) continue;
    std::vector<Values> next;
    for (const Values& values : open) {
      for (const Rational& v : found->second) {
        next.push_back(values);
        next.back().emplace(found->first, v);
        if (broken(Fault::piecewise_one_choice)) break;
      }
    }
    open = std::move(next);
  }
  try {
    return std::all_of(open.begin(), open.end(), [&](const Values& values) { return is_zero(*e, clauses, values); });
  } catch (const Undecided&) {
    return false;
  }
}

}  // namespace xflow::verifier
