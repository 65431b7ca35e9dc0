// Sums of a few terms with their normal forms: pairs that have to have the same one, for one reason alone, and pairs that must not.
#include <algorithm>
#include <utility>

#include "src/ops/operator.h"
#include "src/verifier/algebra/facts.h"
#include "src/verifier/algebra/simplify.h"
#include "tests/verifier/faults/checks.h"
#include "tests/verifier/faults/form.h"

namespace xflow::verifier {
namespace {

using ir::SymbolKind;

using Ask = bool (*)(Form&);

void add(std::vector<Check>& list, const char* name, bool right, Ask ask) {
  list.push_back({std::string("form/") + name, [right, ask]() -> std::string {
                    Form f;
                    try {
                      if (ask(f) == right) return {};
                    } catch (const Stop& stop) {
                      return stop.message;
                    }
                    return right ? "the normal forms differ" : "the normal forms are the same";
                  }});
}

void products(std::vector<Check>& list) {
  add(list, "b / b = b for a boolean", true,
      [](Form& f) { return f.same(f.product(f.boolean(1), f.algebra.factor(f.boolean(1).terms[0].factors[0].factor, -1)), f.boolean(1)); });
  add(list, "x / x = 1 for x > 0", true, [](Form& f) { return f.same(f.quotient(f.positive(), f.positive()), f.number(1)); });
  add(list, "x / x = 1", false, [](Form& f) { return f.same(f.quotient(f.x(), f.x()), f.number(1)); });
  add(list, "the square of a sum is a sum of two binders", true, [](Form& f) {
    const Expression one = f.sum(f.i, f.n, f.x({Poly(f.i)}));
    return f.same(f.product(one, one), f.sum(f.i, f.n, f.sum(f.j, f.n, f.product(f.x({Poly(f.i)}), f.x({Poly(f.j)})))));
  });
  add(list, "sqrt(x) / sqrt(x) = 1 for x >= 0", false, [](Form& f) {
    const Expression root = f.apply(Function::sqrt, f.nonnegative());
    return f.same(f.quotient(root, root), f.number(1));
  });
  add(list, "sqrt(|x|)^2 = |x|", true, [](Form& f) {
    const Expression abs = f.apply(Function::abs, f.x());
    const Expression root = f.apply(Function::sqrt, abs);
    return f.same(f.product(root, root), abs);
  });
  add(list, "sqrt(S) / sqrt(S) = 1 for a sum S of positive numbers that may be empty", false, [](Form& f) {
    const Expression root = f.apply(Function::sqrt, f.sum(f.i, f.s, f.positive({Poly(f.i)})));
    return f.same(f.quotient(root, root), f.number(1));
  });
  add(list, "sqrt(S) / sqrt(S) = 1 for a sum S of N positive numbers", true, [](Form& f) {
    const Expression root = f.apply(Function::sqrt, f.sum(f.i, f.n, f.positive({Poly(f.i)})));
    return f.same(f.quotient(root, root), f.number(1));
  });
  add(list, "not not (a + b) = a + b for booleans", false, [](Form& f) {
    const Expression both = f.algebra.sum(f.boolean(1), f.boolean(2));
    return f.same(f.apply(Function::logical_not, f.apply(Function::logical_not, both)), both);
  });
  add(list, "sqrt(x^2) = x for x >= 0 and x != 0", true, [](Form& f) {
    const Expression r = f.nonzero_and_nonnegative();
    return f.same(f.apply(Function::sqrt, f.product(r, r)), r);
  });
}

// The root of x y is that of x times that of y: the square root, or that with the exponent n / 3.
bool splits(Form& f, const Expression& x, std::optional<std::int64_t> n) {
  const auto root = [&](const Expression& e) { return n ? f.apply(Function::power, e, f.number(*n, 3)) : f.apply(Function::sqrt, e); };
  return f.same(root(f.product(x, f.y())), f.product(root(x), root(f.y())));
}

void laws(std::vector<Check>& list) {
  add(list, "log(x y) = log(x) + log(y)", false, [](Form& f) {
    return f.same(f.apply(Function::log, f.product(f.x(), f.y())),
                  f.algebra.sum(f.apply(Function::log, f.x()), f.apply(Function::log, f.y())));
  });
  add(list, "log(x^2) = 2 log(x) for x > 0", true, [](Form& f) {
    const Expression twice = f.algebra.scale(f.apply(Function::log, f.positive()), 2);
    return f.same(f.apply(Function::log, f.product(f.positive(), f.positive())), twice);
  });
  add(list, "exp(log(x)) = x", false, [](Form& f) { return f.same(f.apply(Function::exp, f.apply(Function::log, f.x())), f.x()); });
  add(list, "exp(2 log(x)) = x^2 for x > 0", true, [](Form& f) {
    const Expression twice = f.algebra.scale(f.apply(Function::log, f.positive()), 2);
    return f.same(f.apply(Function::exp, twice), f.product(f.positive(), f.positive()));
  });
  add(list, "log(2 x) = log(x)", false,
      [](Form& f) { return f.same(f.apply(Function::log, f.algebra.scale(f.x(), 2)), f.apply(Function::log, f.x())); });
  add(list, "sqrt(x)^2 = x", false, [](Form& f) {
    const Expression root = f.apply(Function::sqrt, f.x());
    return f.same(f.product(root, root), f.x());
  });
  add(list, "1 / (x y + x z) = 1 / x * 1 / (y + z)", true, [](Form& f) {
    const Expression sum = f.algebra.sum(f.y(), f.z());
    return f.same(f.quotient(f.number(1), f.product(f.x(), sum)), f.product(f.quotient(f.number(1), f.x()), f.quotient(f.number(1), sum)));
  });
  add(list, "x^(-1/2) = 1 / sqrt(x)", true, [](Form& f) {
    return f.same(f.apply(Function::power, f.x(), f.number(-1, 2)), f.quotient(f.number(1), f.apply(Function::sqrt, f.x())));
  });
  add(list, "sqrt(x y) = sqrt(x) sqrt(y)", false, [](Form& f) { return splits(f, f.x(), std::nullopt); });
  add(list, "sqrt(x y) = sqrt(x) sqrt(y) for x >= 0", true, [](Form& f) { return splits(f, f.nonnegative(), std::nullopt); });
  add(list, "(x y)^(1/3) = x^(1/3) y^(1/3)", false, [](Form& f) { return splits(f, f.x(), 1); });
  add(list, "(x y)^(1/3) = x^(1/3) y^(1/3) for x >= 0", true, [](Form& f) { return splits(f, f.nonnegative(), 1); });
  add(list, "(x y)^(-1/3) = x^(-1/3) y^(-1/3) for x >= 0", false, [](Form& f) { return splits(f, f.nonnegative(), -1); });
  add(list, "(x y)^(-1/3) = x^(-1/3) y^(-1/3) for x > 0", true, [](Form& f) { return splits(f, f.positive(), -1); });
  add(list, "(x^2)^(1/3) = x^(1/3) for x > 0", false, [](Form& f) {
    return f.same(f.apply(Function::power, f.product(f.positive(), f.positive()), f.number(1, 3)),
                  f.apply(Function::power, f.positive(), f.number(1, 3)));
  });
  add(list, "not not x = x for a number", false,
      [](Form& f) { return f.same(f.apply(Function::logical_not, f.apply(Function::logical_not, f.x())), f.x()); });
  add(list, "the quotient of x and 1 that truncates is x", false,
      [](Form& f) { return f.same(f.apply(Function::integer_divide, f.x(), f.number(1)), f.x()); });
  add(list, "the remainder of m + 4 and 4 is that of m", false, [](Form& f) {
    return f.same(f.apply(Function::remainder, f.algebra.sum(f.integer(1), f.number(4)), f.number(4)),
                  f.apply(Function::remainder, f.integer(1), f.number(4)));
  });
  add(list, "l < m or l = n is l < m + 1", false, [](Form& f) {
    const Expression either = f.apply(Function::logical_or, f.apply(Function::less, f.integer(1), f.integer(2)),
                                      f.apply(Function::equal, f.integer(1), f.integer(3)));
    return f.same(either, f.apply(Function::less, f.integer(1), f.algebra.sum(f.integer(2), f.number(1))));
  });
}

void scopes(std::vector<Check>& list) {
  add(list, "exp([s >= 3] x) = exp(x) where s + t >= 5 and s - t >= 1", true, [](Form& f) {
    f.context = {ops::at_least(f.s + f.t, 5), ops::at_least(f.s - f.t, 1)};
    return f.same(f.apply(Function::exp, f.where({ops::at_least(f.s, 3)}, f.x())), f.apply(Function::exp, f.x()));
  });
  add(list, "x[max(s, t)] = x[s] for s >= t", true, [](Form& f) {
    f.context = {ops::at_least(f.s, f.t)};
    return f.same(f.x({f.symbols.max(f.s, f.t)}), f.x({f.s}));
  });
  add(list, "x[floor((N i + j) / (2 N))] = x[floor(i / 2)] for 0 <= j < N", true, [](Form& f) {
    f.context = Form::range(f.j, f.n);
    return f.same(f.x({f.symbols.floor_div(f.n * Poly(f.i) + Poly(f.j), Poly(2) * f.n)}), f.x({f.symbols.floor_div(Poly(f.i), 2)}));
  });
  add(list, "[s + t >= 5] [s - t >= 1] [s <= 2] x = 0", true, [](Form& f) {
    const Condition none = {ops::at_least(f.s + f.t, 5), ops::at_least(f.s - f.t, 1), ops::at_least(2, f.s)};
    return f.same(f.where(none, f.x()), {});
  });
  add(list, "the maximum of x over s >= 0 numbers is x", false, [](Form& f) {
    f.context = {ops::at_least(f.s, 0)};
    return f.same(f.maximum(f.i, f.s, f.x()), f.x());
  });
  add(list, "a sum where floor(i / s) >= 1 is the same over j", true, [](Form& f) {
    const auto sum = [&](SymbolId i) { return f.sum(i, f.n, f.where({ops::at_least(f.symbols.floor_div(Poly(i), f.s), 1)}, f.x())); };
    return f.same(sum(f.i), sum(f.j));
  });
  add(list, "the maximum over i is that over j", true,
      [](Form& f) { return f.same(f.maximum(f.i, f.n, f.x({Poly(f.i)})), f.maximum(f.j, f.n, f.x({Poly(f.j)}))); });
  add(list, "[s != t] [s != t] x = [s != t] x", true, [](Form& f) {
    return f.same(f.where({ops::different(f.s, f.t), ops::different(f.s, f.t)}, f.x()), f.where({ops::different(f.s, f.t)}, f.x()));
  });
  add(list, "a sum of x over s numbers is s x", false,
      [](Form& f) { return f.same(f.sum(f.i, f.s, f.x()), f.product(f.x(), f.algebra.integer(f.s))); });
  add(list, "a sum of x[floor(i / s)] is 0 for s < 1", false, [](Form& f) {
    const auto sum = [&](SymbolId i) { return f.sum(i, f.n, f.x({f.symbols.floor_div(Poly(i), f.s)})); };
    return f.same(sum(f.i), f.where({ops::at_least(f.s, 1)}, sum(f.j)));
  });
  add(list, "s sums of x[t i + j] over t numbers are one over s t numbers", false, [](Form& f) {
    const Expression apart = f.sum(f.i, f.s, f.sum(f.j, f.t, f.x({f.t * Poly(f.i) + Poly(f.j)})));
    return f.same(apart, f.sum(f.k, f.s * f.t, f.x({Poly(f.k)})));
  });
  add(list, "a sum of x where max(i, s) >= 3 is N x where max(i, s) >= 3", false, [](Form& f) {
    const Condition condition = {ops::at_least(f.symbols.max(Poly(f.i), f.s), 3)};
    return f.same(f.sum(f.i, f.n, f.where(condition, f.x())), f.where(condition, f.product(f.x(), f.algebra.integer(f.n))));
  });
}

void maxima(std::vector<Check>& list) {
  add(list, "max(x, y[i] for N < i < N) = x", true, [](Form& f) {
    Condition none = Form::range(f.i, f.n);
    none.push_back(ops::at_least(Poly(f.i), f.n + Poly(1)));
    return f.same(f.algebra.maximum({Piece{{}, {}, f.x()}, Piece{{f.i}, none, f.y({Poly(f.i)})}}), f.x());
  });
  add(list, "the maximum of [i >= s] x[i] is that of x[i] for i >= s and of 0 for i < s", true, [](Form& f) {
    Condition above = Form::range(f.j, f.n), below = Form::range(f.k, f.n);
    above.push_back(ops::at_least(Poly(f.j), f.s));
    below.push_back(ops::less_than(Poly(f.k), f.s));
    const Expression whole = f.maximum(f.i, f.n, f.where({ops::at_least(Poly(f.i), f.s)}, f.x({Poly(f.i)})));
    return f.same(whole, f.algebra.maximum({Piece{{f.j}, above, f.x({Poly(f.j)})}, Piece{{f.k}, below, {}}}));
  });
}

// Symbols that facts determine: each equation holds for the values, and nothing else speaks of such a symbol.
void solved_facts(std::vector<Check>& list) {
  const auto solved = [&](const char* name, std::size_t values, std::vector<Atom> (*facts)(Form&)) {
    list.push_back({std::string("facts/") + name, [values, facts]() -> std::string {
                      Form f;
                      const std::vector<Atom> given = facts(f);
                      std::vector<rules::Fact> list;
                      for (const Atom& a : given) list.push_back({a, ""});
                      const SolvedFacts result = solve_facts(f.symbols, list);
                      if (result.solved.size() != values) return "not as many symbols are determined";
                      const auto speaks = [&](const Poly& p) {
                        return std::any_of(result.solved.begin(), result.solved.end(),
                                           [&](const auto& v) { return f.symbols.occurs(p, v.first); });
                      };
                      for (const auto& [symbol, value] : result.solved)
                        if (speaks(value)) return "a value speaks of a symbol that is determined";
                      for (const Atom& a : result.facts)
                        if (speaks(a.poly)) return "a fact speaks of a symbol that is determined";
                      for (const Atom& a : given)
                        if (a.relation == Relation::zero && !f.symbols.substitute(a.poly, result.solved).is_zero())
                          return "an equation does not hold";
                      // That a dimension is at least 1 is said of its value.
                      for (const auto& [symbol, value] : result.solved) {
                        if (f.symbols.info(symbol).kind != SymbolKind::dimension) continue;
                        Solver solver(f.symbols, 20'000'000);
                        for (const Atom& a : result.facts) solver.assume(a);
                        if (!solver.implies({}, ops::at_least(value, 1), Solver::Effort::full)) return "a dimension may be less than 1";
                      }
                      return {};
                    }});
  };
  solved("s + t = 5 determines one", 1, [](Form& f) { return std::vector<Atom>{ops::equal(f.s + f.t, 5)}; });
  solved("s = t + 1 and t = 5 determine both", 2, [](Form& f) {
    return std::vector<Atom>{ops::equal(f.s, f.t + Poly(1)), ops::equal(f.t, 5)};
  });
  solved("s = t and s >= 3 determine one", 1, [](Form& f) { return std::vector<Atom>{ops::equal(f.s, f.t), ops::at_least(f.s, 3)}; });
  solved("s >= 3 determines nothing", 0, [](Form& f) { return std::vector<Atom>{ops::at_least(f.s, 3)}; });
  solved("s >= 3 and 3 >= s determine s", 1, [](Form& f) { return std::vector<Atom>{ops::at_least(f.s, 3), ops::at_least(3, f.s)}; });
  solved("N = s + 1 determines one", 1, [](Form& f) { return std::vector<Atom>{ops::equal(f.n, f.s + Poly(1))}; });
  solved("N divides s + 1", 1, [](Form& f) {
    const Poly p = f.s + Poly(1);
    return std::vector<Atom>{ops::equal(f.n * f.symbols.floor_div(p, f.n), p)};
  });
}

}  // namespace

std::vector<Check> forms() {
  std::vector<Check> list;
  products(list);
  laws(list);
  scopes(list);
  maxima(list);
  solved_facts(list);
  return list;
}

}  // namespace xflow::verifier
