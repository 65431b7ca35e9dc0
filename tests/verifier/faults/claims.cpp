#include <functional>
#include <utility>

#include "src/verifier/checker/certificate_text.h"
#include "src/verifier/checker/checker.h"
#include "tests/verifier/faults/checks.h"

namespace xflow::verifier {
namespace {

using ir::SymbolKind;
using ir::ValueId;
using rules::ValueFact;

// Conditions, one after the other.
Condition operator+(Condition a, const Condition& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Atom at_least(const Poly& a, const Poly& b) { return ops::at_least(a, b); }
Atom equal(const Poly& a, const Poly& b) { return ops::equal(a, b); }
Atom different(const Poly& a, const Poly& b) { return ops::different(a, b); }
// 0 <= k < n
Condition in(const Poly& k, const Poly& n) { return {at_least(k, 0), ops::less_than(k, n)}; }

Factor factor_of(FactorKind kind) {
  Factor f;
  f.kind = kind;
  return f;
}
ValueId variable(int number) { return {static_cast<ir::NodeId>(number), 0}; }
Factor read(int number, std::vector<Poly> indices = {}) {
  Factor f = factor_of(FactorKind::read);
  f.variable = variable(number);
  f.indices = std::move(indices);
  return f;
}
Factor x(std::vector<Poly> indices = {}) { return read(1, std::move(indices)); }
Factor y(std::vector<Poly> indices = {}) { return read(2, std::move(indices)); }
Factor boolean(int number) {
  Factor f = read(number);
  f.boolean = true;
  return f;
}

FactorPower power(Factor f, int exponent) { return {std::make_shared<Factor>(std::move(f)), exponent}; }

struct Sum {
  std::vector<SymbolId> binders;
  Condition conditions;
};
NormalTerm product(Rational coefficient, Sum sum, std::vector<FactorPower> factors) {
  NormalTerm t;
  t.coefficient = coefficient;
  t.binders = std::move(sum.binders);
  t.conditions = std::move(sum.conditions);
  t.factors = std::move(factors);
  return t;
}
NormalTerm times_one(Factor f) { return product(1, {}, {power(std::move(f), 1)}); }
NormalTerm minus(Factor f) { return product(-1, {}, {power(std::move(f), 1)}); }

Expression value(Factor f) { return {{times_one(std::move(f))}}; }
Factor function(Function name, Expression argument) {
  Factor f = factor_of(FactorKind::function);
  f.function = name;
  f.boolean = name == Function::less || name == Function::equal;
  f.arguments.push_back(std::move(argument));
  return f;
}
Factor cast(ir::DataType type, Expression argument) {
  Factor f = factor_of(FactorKind::function);
  f.data_type = type;
  f.arguments.push_back(std::move(argument));
  return f;
}
Factor maximum(std::vector<Piece> pieces) {
  Factor f = factor_of(FactorKind::maximum);
  f.pieces = std::move(pieces);
  return f;
}
Piece piece(Factor f) { return {{}, {}, value(std::move(f))}; }
Piece piece(SymbolId binder, Condition conditions, Factor f) { return {{binder}, std::move(conditions), value(std::move(f))}; }

// What is claimed: that the terms sum to 0 wherever the facts and the context hold.
struct Claim {
  ir::Symbols symbols;
  std::vector<NormalTerm> terms;
  Condition context;
  std::vector<Atom> facts;
  std::vector<ValueFact> value_facts;

  SymbolId binder(const char* name) { return symbols.fresh(SymbolKind::index, name); }
  Poly dimension(const char* name) { return symbols.named(SymbolKind::dimension, name); }
  Poly integer(const char* name) { return symbols.named(SymbolKind::parameter, name); }

  bool accepts(const Certificate& certificate) {
    Algebra algebra(symbols, value_facts);
    Solver solver(symbols, 20'000'000);
    for (const Atom& a : facts) solver.assume(a);
    return Checker(solver, algebra, symbols).zero(terms, context, certificate);
  }
  bool accepts(std::string_view text) {
    Proof::OutputProof proof;
    proof.context = context;
    proof.terms = terms;
    const auto certificate = read_certificate(text, symbols, proof);
    return certificate && accepts(*certificate);
  }
};

using Body = std::function<bool(Claim&)>;  // whether the checker accepts the claim

Check false_claim(const char* name, Body accepted) {
  return {std::string("claim/") + name, [body = std::move(accepted)] {
            Claim claim;
            return body(claim) ? std::string("the false claim is accepted") : std::string();
          }};
}
Check true_claim(const char* name, Body accepted) {
  return {std::string("claim/") + name, [body = std::move(accepted)] {
            Claim claim;
            return body(claim) ? std::string() : std::string("the true claim is rejected");
          }};
}

Member member(std::size_t term, std::vector<Poly> maps) { return {term, std::move(maps), {}, {}}; }

void sums_of_terms(std::vector<Check>& list) {
  list.push_back(false_claim("x = 2 x, with x taken twice", [](Claim& c) {
    c.terms = {times_one(x()), product(-2, {}, {power(x(), 1)})};
    return c.accepts("(0 0 1)");
  }));
  list.push_back(false_claim("x - x + x = 0, with -x taken twice", [](Claim& c) {
    c.terms = {times_one(x()), minus(x()), times_one(x())};
    return c.accepts("(0 1)v(1,2:0 0)");
  }));
  list.push_back(false_claim("x - x + y = 0, with y left out", [](Claim& c) {
    c.terms = {times_one(x()), minus(x()), times_one(y())};
    return c.accepts("(0 1)");
  }));
  list.push_back(false_claim("a sum from 0 is one from 1, over a dimension", [](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    c.terms = {product(1, {{a}, in(a, 5)}, {power(x({a}), 1)}),
               product(-1, {{b}, {at_least(b, 1), ops::less_than(b, 5)}}, {power(x({b}), 1)})};
    const SymbolId z = c.symbols.fresh(SymbolKind::dimension, "z");
    return c.accepts(Certificate{{{{z}, {member(0, {z}), member(1, {z})}}}, {}, {}});
  }));
  const auto over = [](Claim& c, SymbolId s) { return c.accepts(Certificate{{{{s}, {member(0, {s}), member(1, {s})}}}, {}, {}}); };
  list.push_back(false_claim("a sum of x[k] is n x[s], over s", [over](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    const Poly n = c.dimension("N"), s = c.integer("s");
    c.terms = {product(1, {{a}, in(a, n)}, {power(x({a}), 1)}), product(-1, {{b}, in(b, n)}, {power(x({s}), 1)})};
    return over(c, *s.as_symbol());
  }));
  const auto one_element = [](Claim& c, const Poly& s) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    c.terms = {product(1, {{a}, in(a, 9)}, {power(x({a}), 1)}), product(-1, {{b}, {equal(b, 3)}}, {power(x({b}), 1)})};
    return equal(s, 3);
  };
  list.push_back(false_claim("a sum of x[k] is x[3], over an s that is 3 in the context", [over, one_element](Claim& c) {
    const Poly s = c.integer("s");
    c.context = {one_element(c, s)};
    return over(c, *s.as_symbol());
  }));
  list.push_back(false_claim("a sum of x[k] is x[3], over an s that is 3 by a fact", [over, one_element](Claim& c) {
    const Poly s = c.integer("s");
    c.facts = {one_element(c, s)};
    return over(c, *s.as_symbol());
  }));
  list.push_back(false_claim("x = N x", [](Claim& c) {
    c.terms = {times_one(x()), minus(x())};
    c.terms[1].dimensions.push_back({*c.dimension("N").as_symbol(), 1});
    return c.accepts("(0 1)");
  }));
  list.push_back(false_claim("x = x y", [](Claim& c) {
    c.terms = {times_one(x()), product(-1, {}, {power(x(), 1), power(y(), 1)})};
    return c.accepts("(0 1)");
  }));
  list.push_back(false_claim("x = x^2", [](Claim& c) {
    c.terms = {times_one(x()), product(-1, {}, {power(x(), 2)})};
    return c.accepts("(0 1)");
  }));
  list.push_back(false_claim("x[i] x[j] = x[i] y for i = j, with x[i] paired twice", [](Claim& c) {
    const Poly i = c.integer("i"), j = c.integer("j");
    c.context = {equal(i, j)};
    c.terms = {product(1, {}, {power(x({i}), 1), power(x({j}), 1)}), product(-1, {}, {power(x({i}), 1), power(y(), 1)})};
    return c.accepts("(0 1<0,0>)");
  }));
  list.push_back(true_claim("x[i] = x[j] where i = j", [](Claim& c) {
    const Poly i = c.integer("i"), j = c.integer("j");
    c.terms = {product(1, {{}, {equal(i, j)}}, {power(x({i}), 1)}), product(-1, {{}, {equal(i, j)}}, {power(x({j}), 1)})};
    return c.accepts("(0 1)");
  }));
  list.push_back(false_claim("x = y", [](Claim& c) {
    c.terms = {times_one(x()), minus(y())};
    return c.accepts("(0 1)");
  }));
  list.push_back(false_claim("x + x = 0", [](Claim& c) {
    c.terms = {times_one(x()), times_one(x())};
    return c.accepts("(0 1)");
  }));
  list.push_back(true_claim("x = x over one point", [](Claim& c) {
    const SymbolId a = c.binder("a");
    c.terms = {product(1, {{a}, {equal(a, 0)}}, {power(x({a}), 1)}), minus(x({0}))};
    return c.accepts("(1:0 1[z0])");
  }));
}

// Changes of summation indices.
void maps(std::vector<Check>& list) {
  list.push_back(false_claim("a sum over even indices is one over all", [](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    const Poly n = c.dimension("N");
    c.terms = {product(1, {{a}, in(a, n)}, {power(x({Poly(2) * Poly(a)}), 1)}), product(-1, {{b}, in(b, Poly(2) * n)}, {power(x({b}), 1)})};
    return c.accepts("(1:0 1[2*z0])");
  }));
  list.push_back(false_claim("a sum over multiples of N is one over all indices", [](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    const Poly n = c.dimension("N"), m = c.dimension("M");
    c.terms = {product(1, {{a}, in(a, m)}, {power(x({n * Poly(a)}), 1)}),
               product(-1, {{b}, {at_least(b, 0), at_least(n * m - n, b)}}, {power(x({b}), 1)})};
    const SymbolId z = c.symbols.fresh(SymbolKind::parameter, "z");
    return c.accepts(Certificate{{{{z}, {member(0, {z}), member(1, {n * Poly(z)})}}}, {}, {}});
  }));
  list.push_back(false_claim("a sum over a matrix is one over its diagonal", [](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b"), d = c.binder("d"), e = c.binder("e");
    const Poly n = c.dimension("N");
    c.terms = {product(1, {{a, b}, in(a, n) + in(b, n)}, {power(x({a, b}), 1)}),
               product(-1, {{d, e}, in(d, n) + in(e, n) + Condition{equal(d, e)}}, {power(x({d, e}), 1)})};
    return c.accepts("(2:0[z0,z0] 1[z0,z0])");
  }));
  list.push_back(true_claim("a sum over two indices is one over their exchange", [](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b"), d = c.binder("d"), e = c.binder("e");
    const Poly n = c.dimension("N"), m = c.dimension("M");
    c.terms = {product(1, {{a, b}, in(a, n) + in(b, m)}, {power(x({a, b}), 1)}),
               product(-1, {{d, e}, in(d, m) + in(e, n)}, {power(x({e, d}), 1)})};
    return c.accepts("(2:0 1[z1,z0])");
  }));
  const auto unimodular = [](Claim& c, const std::vector<Poly>& polys, const std::vector<SymbolId>& space) {
    Algebra algebra(c.symbols, {});
    Solver solver(c.symbols, 1);
    return Checker(solver, algebra, c.symbols).unimodular(polys, space);
  };
  list.push_back(true_claim("(2 a + b, a + b, c) is a bijection", [unimodular](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b"), d = c.binder("c");
    return unimodular(c, {Poly(2) * Poly(a) + Poly(b), Poly(a) + Poly(b), Poly(d)}, {a, b, d});
  }));
  list.push_back(false_claim("(2^32 a + b, 2^32 b - a) is a bijection", [unimodular](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    const Poly large = std::int64_t{1} << 32;
    return unimodular(c, {large * Poly(a) + Poly(b), large * Poly(b) - Poly(a)}, {a, b});
  }));
  list.push_back(false_claim("a + floor(a / 2) is a bijection", [unimodular](Claim& c) {
    const SymbolId a = c.binder("a");
    return unimodular(c, {Poly(a) + c.symbols.floor_div(a, 2)}, {a});
  }));
  // Sum over b of exp(sum over k of x[b, k]), b = z + k: the outer k is another one.
  list.push_back(false_claim("a row is a diagonal, with the binder inside a factor", [](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b"), k = c.binder("k"), j = c.binder("j");
    const Poly n = c.dimension("N"), m = c.dimension("M");
    const Expression row = {{product(1, {{k}, in(k, m)}, {power(x({a, k}), 1)})}};
    const Expression diagonal = {{product(1, {{j}, in(j, m)}, {power(x({Poly(b) + Poly(j), j}), 1)})}};
    c.terms = {product(1, {{a}, in(a, n)}, {power(function(Function::exp, row), 1)}),
               product(-1, {{b}, in(Poly(b) + Poly(k), n)}, {power(function(Function::exp, diagonal), 1)})};
    const SymbolId z = c.symbols.fresh(SymbolKind::parameter, "z");
    return c.accepts(Certificate{{{{z}, {member(0, {Poly(z) + Poly(k)}), member(1, {z})}}}, {}, {}});
  }));
  list.push_back(false_claim("N elements are N + 1, with floor(N / 0)", [](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    const Poly n = c.dimension("N"), d = c.integer("d");
    c.context = {equal(d, 0)};
    c.terms = {product(1, {{a}, in(a, n)}, {power(x({a}), 1)}), product(-1, {{b}, in(b, n + Poly(1))}, {power(x({b}), 1)})};
    const SymbolId z = c.symbols.fresh(SymbolKind::parameter, "z");
    const Poly map = Poly(z) + c.symbols.floor_div(n, d);
    return c.accepts(Certificate{{{{z}, {member(0, {map}), member(1, {map})}}}, {}, {}});
  }));
}

void conditions(std::vector<Check>& list) {
  const auto indicator = [](Claim& c, const Atom& atom) {
    c.terms = {product(1, {{}, {atom}}, {power(x(), 1)}), minus(x())};
    return c.accepts("(0 1)");
  };
  list.push_back(false_claim("[s >= 0] x = x", [indicator](Claim& c) { return indicator(c, at_least(c.integer("s"), 0)); }));
  list.push_back(false_claim("[s >= 0] x = 0", [](Claim& c) {
    c.terms = {product(1, {{}, {at_least(c.integer("s"), 0)}}, {power(x(), 1)})};
    return c.accepts("(0)");
  }));
  list.push_back(false_claim("[-1 >= 0] x = x", [indicator](Claim& c) { return indicator(c, at_least(-1, 0)); }));
  list.push_back(false_claim("[s != 0] x = x for s >= 0", [indicator](Claim& c) {
    const Poly s = c.integer("s");
    c.context = {at_least(s, 0)};
    return indicator(c, different(s, 0));
  }));
  list.push_back(false_claim("[floor(s / 2) >= 2] x = x for s >= 2", [indicator](Claim& c) {
    const Poly s = c.integer("s");
    c.context = {at_least(s, 2)};
    return indicator(c, at_least(c.symbols.floor_div(s, 2), 2));
  }));
  list.push_back(false_claim("[2 >= floor(s / 2)] x = x for 6 >= s", [indicator](Claim& c) {
    const Poly s = c.integer("s");
    c.context = {at_least(6, s)};
    return indicator(c, at_least(2, c.symbols.floor_div(s, 2)));
  }));
}

void factors(std::vector<Check>& list) {
  const auto difference = [](Claim& c, Factor a, Factor b, const char* certificate = "(0 1)") {
    c.terms = {times_one(std::move(a)), minus(std::move(b))};
    return c.accepts(certificate);
  };
  list.push_back(false_claim("x[0] = x[1]", [=](Claim& c) { return difference(c, x({0}), x({1})); }));
  list.push_back(false_claim("x[s] = x[0]", [=](Claim& c) { return difference(c, x({c.integer("s")}), x({0})); }));
  list.push_back(false_claim("x[s] = x[0] for s >= 0", [=](Claim& c) {
    c.context = {at_least(c.integer("s"), 0)};
    return difference(c, x({c.integer("s")}), x({0}));
  }));
  list.push_back(false_claim("x[s] = x[0] for s != 0", [=](Claim& c) {
    c.context = {different(c.integer("s"), 0)};
    return difference(c, x({c.integer("s")}), x({0}));
  }));
  list.push_back(true_claim("x[s] = x[t] for s s = s t and s >= 1", [=](Claim& c) {
    const Poly s = c.integer("s"), t = c.integer("t");
    c.context = {at_least(s, 1), equal(s * s, s * t)};
    return difference(c, x({s}), x({t}));
  }));
  list.push_back(true_claim("x[0] = x[1] where 0 >= s >= 1", [](Claim& c) {
    const Poly s = c.integer("s");
    const Condition never = {at_least(0, s), at_least(s, 1)};
    c.terms = {product(1, {{}, never}, {power(x({0}), 1)}), product(-1, {{}, never}, {power(x({1}), 1)})};
    return c.accepts("(0 1)");
  }));
  list.push_back(false_claim("x = s for s = 0", [=](Claim& c) {
    c.context = {equal(c.integer("s"), 0)};
    Factor s = factor_of(FactorKind::integer);
    s.integer = c.integer("s");
    return difference(c, x(), s);
  }));
  list.push_back(false_claim("x[0] = y[0]", [=](Claim& c) { return difference(c, x({0}), y({0})); }));
  list.push_back(false_claim("$a = $b", [=](Claim& c) {
    Factor a = factor_of(FactorKind::real), b = a;
    a.name = "$a";
    b.name = "$b";
    return difference(c, a, b);
  }));
  list.push_back(false_claim("exp(x) = tanh(x)", [=](Claim& c) {
    return difference(c, function(Function::exp, value(x())), function(Function::tanh, value(x())), "(0 1{f((0 1))})");
  }));
  list.push_back(false_claim("int32(x) = float16(x)", [=](Claim& c) {
    return difference(c, cast(ir::DataType::int32, value(x())), cast(ir::DataType::float16, value(x())), "(0 1{f((0 1))})");
  }));
  list.push_back(false_claim("exp(x) = exp(y)", [=](Claim& c) {
    return difference(c, function(Function::exp, value(x())), function(Function::exp, value(y())));
  }));
  list.push_back(false_claim("exp(x) = exp(y), for x = y", [=](Claim& c) {
    return difference(c, function(Function::exp, value(x())), function(Function::exp, value(y())), "(0 1{f((0 1))})");
  }));
}

void maxima(std::vector<Check>& list) {
  const auto difference = [](Claim& c, Factor a, Factor b, std::string_view certificate = "(0 1)") {
    c.terms = {times_one(std::move(a)), minus(std::move(b))};
    return c.accepts(certificate);
  };
  const auto x_or_y = [] { return maximum({piece(x()), piece(y())}); };
  list.push_back(false_claim("max(x, y) = max(x, z)", [=](Claim& c) {
    return difference(c, x_or_y(), maximum({piece(x()), piece(read(3))}));
  }));
  list.push_back(false_claim("max(x, y) = max(x), the first being among the second",
                             [=](Claim& c) { return difference(c, x_or_y(), maximum({piece(x())}), "(0 1{m((0{(0 1)})/)})"); }));
  list.push_back(false_claim("max(x) = max(x, y), the second being among the first",
                             [=](Claim& c) { return difference(c, maximum({piece(x())}), x_or_y(), "(0 1{m(/(0{(0 1)}))})"); }));
  list.push_back(false_claim("max(x, y) = max(x), with y left out",
                             [=](Claim& c) { return difference(c, x_or_y(), maximum({piece(x())}), "(0 1{m((0{(0 1)})/(0{(0 1)}))})"); }));
  list.push_back(false_claim(
      "max(x) = max(y)", [=](Claim& c) { return difference(c, maximum({piece(x())}), maximum({piece(y())}), "(0 1{m((0{})/(0{}))})"); }));
  list.push_back(false_claim("a maximum over N is one over M", [=](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    return difference(c, maximum({piece(a, in(a, c.dimension("N")), x({a}))}), maximum({piece(b, in(b, c.dimension("M")), x({b}))}),
                      "(0 1{m((1:0{(0 1)})/(1:0{(0 1)}))})");
  }));
  list.push_back(true_claim("the maximum of two halves is that of the whole", [=](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b"), d = c.binder("d");
    const Poly n = c.dimension("N");
    return difference(
        c, maximum({piece(a, in(a, n), x({a}))}),
        maximum({piece(b, in(b, n) + Condition{different(b, 1)}, x({b})), piece(d, in(d, n) + Condition{equal(d, 1)}, x({d}))}),
        "(0 1{m((1:0{(0 1)})(1:0{(0 1)})/(1:0{(0 1)} 1{(0 1)}))})");
  }));
  // Certificates that text cannot say: their spaces are no new symbols.
  const auto covered = [](SymbolId space, std::size_t with, Poly at) {
    return Cover{{space}, {{with, {std::move(at)}, Certificate{{{{}, {member(0, {}), member(1, {})}}}, {}, {}}}}};
  };
  const auto with_covers = [](Claim& c, Factor a, Factor b, std::vector<Cover> forward, std::vector<Cover> backward) {
    c.terms = {times_one(std::move(b)), minus(std::move(a))};
    FactorProof equal_maxima{{}, std::move(forward), std::move(backward)};
    return c.accepts(Certificate{{{{}, {member(0, {}), Member{1, {}, {0}, {std::move(equal_maxima)}}}}}, {}, {}});
  };
  list.push_back(false_claim("a maximum from 0 is one from 1, over a dimension", [=](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    const SymbolId z = c.symbols.fresh(SymbolKind::dimension, "z"), u = c.symbols.fresh(SymbolKind::parameter, "u");
    return with_covers(c, maximum({piece(a, in(a, 5), x({a}))}), maximum({piece(b, {at_least(b, 1), ops::less_than(b, 5)}, x({b}))}),
                       {covered(z, 0, z)}, {covered(u, 0, u)});
  }));
  list.push_back(false_claim("x[s] is among x[0], ..., over s", [=](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b"), d = c.binder("d");
    const Poly n = c.dimension("N"), s = c.integer("s");
    const SymbolId z = c.symbols.fresh(SymbolKind::parameter, "z"), u = c.symbols.fresh(SymbolKind::parameter, "u");
    return with_covers(c, maximum({piece(a, in(a, n), x({s})), piece(b, in(b, n), x({b}))}), maximum({piece(d, in(d, n), x({d}))}),
                       {covered(*s.as_symbol(), 0, s), covered(z, 0, z)}, {covered(u, 1, u)});
  }));
  list.push_back(false_claim("the maximum of x[0], ... is x[s], over s", [=](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    const Poly n = c.dimension("N"), s = c.integer("s");
    const SymbolId u = c.symbols.fresh(SymbolKind::parameter, "u");
    return with_covers(c, maximum({piece(a, in(a, n), x({a}))}), maximum({piece(b, in(b, n) + in(s, n), x({s}))}),
                       {covered(*s.as_symbol(), 0, s)}, {covered(u, 0, s)});
  }));
  const auto one_element = [=](Claim& c, const Poly& s) {
    const SymbolId a = c.binder("a"), b = c.binder("b"), u = c.symbols.fresh(SymbolKind::parameter, "u");
    return with_covers(c, maximum({piece(a, in(a, 9), x({a}))}), maximum({piece(b, {equal(b, 3)}, x({b}))}),
                       {covered(*s.as_symbol(), 0, s)}, {covered(u, 0, u)});
  };
  list.push_back(false_claim("the maximum of x[0], ... is x[3], over an s that is 3 in the context", [=](Claim& c) {
    const Poly s = c.integer("s");
    c.context = {equal(s, 3)};
    return one_element(c, s);
  }));
  list.push_back(false_claim("the maximum of x[0], ... is x[3], over an s that is 3 by a fact", [=](Claim& c) {
    const Poly s = c.integer("s");
    c.facts = {equal(s, 3)};
    return one_element(c, s);
  }));
  list.push_back(false_claim("the maximum of a matrix is that of its diagonal", [=](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b"), d = c.binder("d");
    const Poly n = c.dimension("N");
    const SymbolId z = c.symbols.fresh(SymbolKind::parameter, "z"), u = c.symbols.fresh(SymbolKind::parameter, "u");
    Cover same_names = covered(z, 0, z), on_the_diagonal = covered(u, 0, u);
    same_names.space = {z, z};
    on_the_diagonal.by[0].maps = {u, u};
    return with_covers(c, maximum({{{a, b}, in(a, n) + in(b, n), value(x({a, b}))}}), maximum({piece(d, in(d, n), x({d, d}))}),
                       {same_names}, {on_the_diagonal});
  }));
  list.push_back(false_claim("a maximum of N + 1 is one of N, with floor(N / 0)", [=](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    const Poly n = c.dimension("N"), d = c.integer("d");
    c.context = {equal(d, 0)};
    const SymbolId z = c.symbols.fresh(SymbolKind::parameter, "z"), u = c.symbols.fresh(SymbolKind::parameter, "u");
    return with_covers(c, maximum({piece(a, in(a, n + Poly(1)), x({a}))}), maximum({piece(b, in(b, n), x({b}))}),
                       {covered(z, 0, Poly(z) + c.symbols.floor_div(n, d))}, {covered(u, 0, u)});
  }));
}

void values(std::vector<Check>& list) {
  const auto claimed = [](Claim& c, std::vector<NormalTerm> terms, const char* certificate) {
    c.terms = std::move(terms);
    return c.accepts(certificate);
  };
  const auto x_is = [](Claim& c, ValueFact::Kind kind) { c.value_facts.push_back({variable(1), kind, {}, {}}); };
  list.push_back(false_claim("x = y by values", [=](Claim& c) { return claimed(c, {times_one(x()), minus(y())}, "v(0,1:0 1)"); }));
  list.push_back(false_claim("x = y by values, y being x", [=](Claim& c) {
    return claimed(c, {times_one(x()), minus(y())}, "v(0,1:0 0)");
  }));
  list.push_back(false_claim("x = y by values that nobody names", [=](Claim& c) {
    return claimed(c, {times_one(x()), minus(y())}, "v(0,1:)");
  }));
  list.push_back(false_claim("x = x by values of which one is not there", [=](Claim& c) {
    return claimed(c, {times_one(x()), minus(x())}, "v(0,1:0 0 1)");
  }));
  list.push_back(true_claim("x[s] = x[t] for s = t, by values", [=](Claim& c) {
    const Poly s = c.integer("s"), t = c.integer("t");
    c.context = {equal(s, t)};
    return claimed(c, {times_one(x({s})), minus(x({t}))}, "v(0,1:0 0{(0 1)})");
  }));
  list.push_back(false_claim("x y = y by values", [=](Claim& c) {
    return claimed(c, {product(1, {}, {power(x(), 1), power(y(), 1)}), minus(y())}, "v(0,1:0 1 1)");
  }));
  list.push_back(false_claim("[s >= 0] x = x by values", [=](Claim& c) {
    return claimed(c, {product(1, {{}, {at_least(c.integer("s"), 0)}}, {power(x(), 1)}), minus(x())}, "v(0,1:0 0)");
  }));
  list.push_back(true_claim("max(N x, 0) = N max(x, 0) by values", [=](Claim& c) {
    const DimensionPower n = {*c.dimension("N").as_symbol(), 1};
    NormalTerm scaled = times_one(x());
    scaled.dimensions.push_back(n);
    NormalTerm right = minus(maximum({piece(x()), Piece{}}));
    right.dimensions.push_back(n);
    return claimed(c, {times_one(maximum({Piece{{}, {}, {{scaled}}}, Piece{}})), right}, "v(0,1:0 1 0 1)");
  }));
  list.push_back(false_claim("1 / x = x by values", [=](Claim& c) {
    return claimed(c, {product(1, {}, {power(x(), -1)}), minus(x())}, "v(0,1:0 0)");
  }));
  list.push_back(false_claim("x^2 = x by values", [=](Claim& c) {
    return claimed(c, {product(1, {}, {power(x(), 2)}), minus(x())}, "v(0,1:0 0)");
  }));
  list.push_back(false_claim("1 / x = 1 / y by values", [=](Claim& c) {
    return claimed(c, {product(1, {}, {power(x(), -1)}), product(-1, {}, {power(y(), -1)})}, "v(0,1:0 1)");
  }));
  // Sums of x[a, b] over a and over b, multiplied, with what the other sum binds.
  const auto summed_apart = [=](Claim& c, const std::vector<FactorPower>& both, const Condition& shared, SymbolId a, SymbolId b,
                                const std::vector<FactorPower>& first, const std::vector<FactorPower>& second) {
    const SymbolId d = c.binder("d"), e = c.binder("e");
    const Poly n = c.dimension("N"), m = c.dimension("M");
    const auto renamed = [&](const NormalTerm& t, SymbolId from, SymbolId to) {
      NormalTerm result = substitute(c.symbols, t, {{from, Poly(to)}});
      result.binders = {to};
      return result;
    };
    const NormalTerm over_a = renamed(product(1, {{a}, in(a, n) + shared}, first), a, d);
    const NormalTerm over_b = renamed(product(1, {{b}, in(b, m) + shared}, second), b, e);
    NormalTerm apart = over_b;
    apart.coefficient = -1;
    apart.binders = {e, d};
    apart.conditions = over_b.conditions + over_a.conditions;
    apart.factors.insert(apart.factors.end(), over_a.factors.begin(), over_a.factors.end());
    return claimed(c, {product(1, {{a, b}, in(a, n) + in(b, m) + shared}, both), apart}, "v(0,1:0 1 1 0)");
  };
  list.push_back(false_claim("a sum over a matrix is the product of two sums", [=](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    return summed_apart(c, {power(x({a, b}), 1)}, {}, a, b, {power(x({a, b}), 1)}, {power(x({a, b}), 1)});
  }));
  list.push_back(false_claim("a sum over a = b is the product of two sums", [=](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    return summed_apart(c, {power(x({a}), 1), power(y({b}), 1)}, {equal(a, b)}, a, b, {power(x({a}), 1)}, {power(y({b}), 1)});
  }));
  list.push_back(false_claim("a sum over N is one over M by values", [=](Claim& c) {
    const SymbolId a = c.binder("a"), b = c.binder("b");
    return claimed(
        c,
        {product(1, {{a}, in(a, c.dimension("N"))}, {power(x({a}), 1)}), product(-1, {{b}, in(b, c.dimension("M"))}, {power(x({b}), 1)})},
        "v(0,1:0 0)");
  }));
  list.push_back(false_claim("max(x, y) = x by values", [=](Claim& c) {
    return claimed(c, {times_one(maximum({piece(x()), piece(y())})), minus(x())}, "v(0,1:0 1 0)");
  }));
  list.push_back(false_claim("max(x, x - 1) = x - 1 by values", [=](Claim& c) {
    const NormalTerm one = product(1, {}, {}), minus_one = product(-1, {}, {});
    const Piece below = {{}, {}, {{times_one(x()), minus_one}}};
    return claimed(c, {times_one(maximum({piece(x()), below})), minus(x()), one}, "v(0,1,2:0 0 0)");
  }));
  list.push_back(true_claim("b^2 = b for a boolean, by values", [=](Claim& c) {
    return claimed(c, {product(1, {}, {power(boolean(1), 2)}), minus(boolean(1)), times_one(y()), minus(y())}, "v(0,1,2,3:0 0 1 1)");
  }));
  const auto quotient = [=](Claim& c) {
    return claimed(c, {product(1, {}, {power(x(), 1), power(x(), -1)}), product(-1, {}, {})}, "v(0,1:0 0)");
  };
  list.push_back(true_claim("x / x = 1 for x > 0, by values", [=](Claim& c) {
    x_is(c, ValueFact::Kind::positive);
    return quotient(c);
  }));
  list.push_back(true_claim("x / x = 1 for x != 0, by values", [=](Claim& c) {
    x_is(c, ValueFact::Kind::nonzero);
    return quotient(c);
  }));
  list.push_back(false_claim("x / x = 1 for x >= 0, by values", [=](Claim& c) {
    x_is(c, ValueFact::Kind::nonnegative);
    return quotient(c);
  }));
  list.push_back(false_claim("x / x = 1 by values", quotient));
  list.push_back(true_claim("max(x, 0) = x for x >= 0, by values", [=](Claim& c) {
    x_is(c, ValueFact::Kind::nonnegative);
    return claimed(c, {times_one(maximum({piece(x()), Piece{}})), minus(x())}, "v(0,1:0 0)");
  }));
  list.push_back(true_claim("(x = 0) / x = 0 by values", [=](Claim& c) {
    const Factor is_zero = function(Function::equal, value(x()));
    return claimed(c, {product(1, {}, {power(x(), -1), power(is_zero, 1)}), times_one(y()), minus(y())}, "v(0,1,2:0 1 0 2 2)");
  }));
  list.push_back(false_claim("sqrt(x)^2 = x by values", [=](Claim& c) {
    return claimed(c, {product(1, {}, {power(function(Function::sqrt, value(x())), 2)}), minus(x())}, "v(0,1:0 1 1)");
  }));
  list.push_back(false_claim("(0 < x) + (0 < -x) = 1 by values", [=](Claim& c) {
    const Expression negative = {{minus(x())}};
    return claimed(c, {times_one(function(Function::less, value(x()))), times_one(function(Function::less, negative)), product(-1, {}, {})},
                   "v(0,1,2:0 1 2 1)");
  }));
  list.push_back(true_claim("(x = 0) + x / x = 1 by values", [=](Claim& c) {
    return claimed(c,
                   {times_one(function(Function::equal, value(x()))), product(1, {}, {power(x(), 1), power(x(), -1)}), product(-1, {}, {})},
                   "v(0,1,2:0 1 1 1)");
  }));
}

}  // namespace

std::vector<Check> claims() {
  std::vector<Check> list;
  sums_of_terms(list);
  maps(list);
  conditions(list);
  factors(list);
  maxima(list);
  values(list);
  return list;
}

}  // namespace xflow::verifier
