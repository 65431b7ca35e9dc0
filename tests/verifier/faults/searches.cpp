// Pairs of sums that the search has to find equal as they stand, each for one reason alone; the checker accepts what is found.
#include <utility>

#include "src/verifier/algebra/scalar.h"
#include "src/verifier/checker/checker.h"
#include "tests/verifier/faults/checks.h"
#include "tests/verifier/faults/form.h"

namespace xflow::verifier {
namespace {

using Sides = std::pair<Expression, Expression> (*)(Form&);

std::string search(Form& f, const Expression& a, const Expression& b) {
  for (const Atom& atom : f.context) f.solver.assume(atom);
  Normalizer normalizer(f.algebra, f.solver, {}, 5'000);
  Checker checker(f.solver, f.algebra, f.symbols);
  ScalarProver scalar(normalizer, checker);
  Matcher matcher(normalizer, checker,
                  [&](const std::vector<NormalTerm>& terms, const Condition& known) { return scalar.zero(terms, known); });
  scalar.set_matcher(matcher);
  const std::vector<NormalTerm> terms = difference(a, b);
  const auto certificate = matcher.zero(terms, f.context);
  if (!certificate) return "no certificate is found";
  return checker.zero(terms, f.context, *certificate) ? "" : "the certificate that is found is not accepted";
}

void found(std::vector<Check>& list, const char* name, Sides sides) {
  list.push_back({std::string("search/") + name, [sides]() -> std::string {
                    Form f;
                    const auto [a, b] = sides(f);
                    try {
                      return search(f, a, b);
                    } catch (const Stop& stop) {
                      return stop.message;
                    }
                  }});
}

// low <= index < end
Condition between(SymbolId index, const Poly& low, const Poly& end) {
  return {ops::at_least(Poly(index), low), ops::less_than(Poly(index), end)};
}

Condition operator&&(Condition a, const Condition& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void solutions(std::vector<Check>& list) {
  found(list, "a sum of x[2 i + 2] is one of x[2 j] from j = 1", [](Form& f) {
    const Poly i(f.i), j(f.j);
    return std::pair(f.sum(f.i, f.n, f.x({Poly(2) * i + Poly(2)})), f.over({f.j}, between(f.j, 1, f.n + Poly(1)), f.x({Poly(2) * j})));
  });
  found(list, "a sum of x[i + j] y[j] is the same over other indices", [](Form& f) {
    const auto sum = [&](SymbolId i, SymbolId j) {
      return f.over({i, j}, Form::range(i, f.n) && Form::range(j, f.m), f.product(f.x({Poly(i) + Poly(j)}), f.y({Poly(j)})));
    };
    return std::pair(sum(f.i, f.j), sum(f.k, f.l));
  });
  found(list, "a sum of exp(x[i] y[s]) is one of exp(y[s] x[j - 1])", [](Form& f) {
    const Expression a = f.apply(Function::exp, f.product(f.x({Poly(f.i)}), f.y({f.s})));
    const Expression b = f.apply(Function::exp, f.product(f.y({f.s}), f.x({Poly(f.j) - Poly(1)})));
    return std::pair(f.sum(f.i, f.n, a), f.over({f.j}, between(f.j, 1, f.n + Poly(1)), b));
  });
  found(list, "a sum of x[N i + j + N] over j < N is one of x[N i + j] from i = 1", [](Form& f) {
    const auto sum = [&](SymbolId i, SymbolId j, int low) {
      const Condition condition = between(i, low, f.m + Poly(low)) && Form::range(j, f.n);
      return f.over({i, j}, condition, f.x({f.n * Poly(i) + Poly(j) + f.n * Poly(1 - low)}));
    };
    return std::pair(sum(f.i, f.j, 0), sum(f.k, f.l, 1));
  });
  found(list, "a sum of exp(sums of x[i + j] y[j]) is the same over other indices", [](Form& f) {
    const auto sum = [&](SymbolId i, SymbolId j) {
      const Expression inner = f.sum(j, f.m, f.product(f.x({Poly(i) + Poly(j)}), f.y({Poly(j)})));
      return f.sum(i, f.n, f.apply(Function::exp, inner));
    };
    return std::pair(sum(f.i, f.j), sum(f.k, f.l));
  });
  found(list, "a sum of y over N and M is one over M and N", [](Form& f) {
    const auto sum = [&](SymbolId i, const Poly& rows, SymbolId j, const Poly& columns) {
      return f.over({i, j}, Form::range(i, rows) && Form::range(j, columns), f.y());
    };
    return std::pair(sum(f.i, f.n, f.j, f.m), sum(f.k, f.m, f.l, f.n));
  });
}

// The sum of x[i] x[j] over a part of a matrix, or of x[j] x[i].
Expression part(Form& f, const Condition& rows, const Condition& columns, bool exchanged = false) {
  const Expression a = f.x({Poly(f.i)}), b = f.x({Poly(f.j)});
  return f.over({f.i, f.j}, rows && columns, exchanged ? f.product(b, a) : f.product(a, b));
}

void clusters(std::vector<Check>& list) {
  found(list, "[s >= 3] [s <= 2] x = 0", [](Form& f) {
    return std::pair(f.where({ops::at_least(f.s, 3), ops::at_least(2, f.s)}, f.x()), Expression{});
  });
  found(list, "a sum of x[i] x[j] is that of x[j] x[i] over two parts", [](Form& f) {
    const Condition below = Form::range(f.i, f.n), above = between(f.i, f.n, f.n * Poly(2)), columns = Form::range(f.j, f.m);
    return std::pair(part(f, Form::range(f.i, f.n * Poly(2)), columns),
                     f.algebra.sum(part(f, below, columns, true), part(f, above, columns, true)));
  });
  // The second corner is counted twice on the right: once as it stands and once exchanged, which takes the sums that cancel each other.
  found(list, "a square is two squares and a corner twice, beside sums that cancel", [](Form& f) {
    const auto low = [&](SymbolId i) { return Form::range(i, f.n); };
    const auto high = [&](SymbolId i) { return between(i, f.n, f.n * Poly(2)); };
    const Expression corner = part(f, low(f.i), high(f.j));
    const Expression whole = part(f, Form::range(f.i, f.n * Poly(2)), Form::range(f.j, f.n * Poly(2)));
    const Expression squares = f.algebra.sum(part(f, low(f.i), low(f.j)), part(f, high(f.i), high(f.j)));
    return std::pair(f.algebra.sum(whole, corner), f.algebra.sum(f.algebra.sum(squares, f.algebra.scale(corner, 2)), corner));
  });
  found(list, "max(x, 0) - max(-x, 0) = x, before sums that are equal", [](Form& f) {
    const auto relu = [&](const Expression& e) { return f.apply(Function::maximum, e, {}); };
    const Expression left = f.algebra.sum(relu(f.x()), f.algebra.negate(relu(f.algebra.negate(f.x()))));
    const auto sum = [&](SymbolId i, int low) { return f.over({i}, between(i, low, f.n + Poly(low)), f.y({Poly(i) + Poly(1 - low)})); };
    return std::pair(f.algebra.sum(left, f.algebra.sum(sum(f.i, 0), f.algebra.negate(sum(f.j, 1)))), f.x());
  });
  found(list, "x[0] and a sum from 1 are a sum from 0", [](Form& f) {
    const Expression x = f.x({Poly(f.i)});
    return std::pair(f.algebra.sum(f.x({Poly(0)}), f.over({f.i}, between(f.i, 1, f.n), x)), f.sum(f.i, f.n, x));
  });
  found(list, "sums of x[2 i] and of x[i] over two parts each", [](Form& f) {
    const auto parts = [&](const Poly& at) {
      const Expression x = f.x({at});
      const Expression both = f.algebra.sum(f.over({f.i}, Form::range(f.i, f.n), x), f.over({f.i}, between(f.i, f.n, f.n * Poly(2)), x));
      return std::pair(f.over({f.i}, Form::range(f.i, f.n * Poly(2)), x), both);
    };
    const auto even = parts(Poly(2) * Poly(f.i)), all = parts(Poly(f.i));
    return std::pair(f.algebra.sum(even.first, all.first), f.algebra.sum(even.second, all.second));
  });
}

}  // namespace

std::vector<Check> searches() {
  std::vector<Check> list;
  solutions(list);
  clusters(list);
  return list;
}

}  // namespace xflow::verifier
