// Verdicts, their texts, and what makes them.
#include <gtest/gtest.h>

#include "src/verifier/algebra/ranges.h"
#include "src/verifier/checker/checker.h"
#include "src/verifier/proof/proof.h"
#include "src/verifier/proof/solver.h"
#include "tests/verifier/hand_made.h"

namespace xflow::verifier {
namespace {

using ir::Poly;
using ir::ValueId;

ir::Attributes axes(std::int64_t axis) { return {{"axes", ir::polys(std::vector<std::int64_t>{axis})}, {"keep_dims", Poly(0)}}; }

TEST(Decide, SaysWithWhatTheSidesDiffer) {
  HandMade r;
  const ValueId x = r.variable("x", {}), y = r.variable("y", {});
  r.source({r.sub(x, y)});
  r.target({r.sub(y, x)});
  const Decision d = r.decide();
  ASSERT_EQ(d.verdict, Verdict::refuted);
  EXPECT_EQ(d.counterexample->to_string(), "x = 0; y = 1; output 0 at []: -1 != 1");
}

TEST(Decide, ShowsBothNormalForms) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), n = r.dim("N");
  const ValueId x = r.variable("x", {m, k}), w = r.variable("w", {k, n});
  r.source({r.matmul(x, w)});
  r.target({r.matmul(x, w)});
  EXPECT_EQ(r.decide().verdict, Verdict::proved);
  HandMade s;
  const ValueId u = s.variable("u", {}), v = s.variable("v", {});
  s.source({s.add(u, v)});
  s.target({s.add(v, u)});
  const Decision d = s.decide();
  EXPECT_EQ(d.verdict, Verdict::proved);
  EXPECT_EQ(d.normal_source, "u[] + v[]");
  EXPECT_EQ(d.normal_target, "v[] + u[]");
  EXPECT_EQ(d.certificate, "0: u[]\n1: v[]\n2: -v[]\n3: -u[]\n0 and 3 cancel\n1 and 2 cancel");
}

TEST(Decide, DoesNotProveFromContradictoryFacts) {
  HandMade r;
  const Poly n = r.dim("N");
  const ValueId x = r.variable("x", {n});
  r.fact(ops::less_than(n, Poly(1)));
  r.source({r.op("neg", {x})});
  r.target({x});
  const Decision d = r.decide();
  EXPECT_EQ(d.verdict, Verdict::ill_typed);
  EXPECT_EQ(d.open, "vacuous: no shapes satisfy the guards and the typing of the source");
}

TEST(Decide, SaysWhatTheTargetAsksFor) {
  HandMade r;
  const Poly n = r.dim("N"), m = r.dim("M");
  const ValueId x = r.variable("x", {n, m});
  r.source({r.op("neg", {x})});
  r.target({r.op("neg", {r.transpose(x, {1, 0})})});
  const Decision d = r.decide();
  ASSERT_EQ(d.verdict, Verdict::refuted);
  EXPECT_NE(d.counterexample->to_string().find(
                "the source has a type, but the target has it only where M = N (the shapes of both sides to be equal)"),
            std::string::npos)
      << d.counterexample->to_string();
}

// The sides have one type for no sizes, which one choice of sizes shows.
TEST(Decide, RefutesATargetThatNeverHasTheTypeOfTheSource) {
  HandMade r;
  const Poly n = r.dim("N");
  const ValueId x = r.variable("x", {n, n + Poly(1)});
  r.source({r.op("neg", {x})});
  r.target({r.op("neg", {r.transpose(x, {1, 0})})});
  const Decision d = r.decide();
  ASSERT_EQ(d.verdict, Verdict::refuted);
  EXPECT_EQ(d.counterexample->to_string(),
            "N = 1; the source has a type, but no sizes make both sides well typed: the shapes of both sides to be equal (0 = 1)");
}

TEST(Decide, IsIllTypedWhereNoShapesTypeBothSidesAndNoneAreFoundForTheSource) {
  HandMade r;
  const Poly n = r.dim("N");
  const ValueId x = r.variable("x", {n, n + Poly(1)});
  const Poly m = r.dim("M");
  r.fact(ops::equal(n * m, Poly(37 * 41)));  // no small sizes
  r.fact(ops::at_least(n, Poly(2)));
  r.fact(ops::at_least(m, Poly(2)));
  r.source({r.op("neg", {x})});
  r.target({r.op("neg", {r.transpose(x, {1, 0})})});
  const Decision d = r.decide();
  EXPECT_EQ(d.verdict, Verdict::ill_typed);
  EXPECT_EQ(d.open, "no shapes make both sides well typed: the shapes of both sides to be equal (0 = 1)");
}

TEST(Decide, StopsAtItsStepLimit) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), n = r.dim("N");
  const ValueId x = r.variable("x", {m, k}), v = r.variable("v", {k, n}), w = r.variable("w", {k, n});
  r.source({r.add(r.matmul(x, v), r.matmul(x, w))});
  r.target({r.matmul(x, r.add(v, w))});
  Options few;
  few.steps = 5;
  const Decision d = decide(r.instance(), few);
  EXPECT_EQ(d.verdict, Verdict::timeout);
  EXPECT_EQ(d.open, "the limit of rewriting steps was reached");
}

// The indices agree after j = 2 k, and so do the ranges: only that 2 k is no bijection of the integers tells the sums apart.
TEST(Alignment, IsUnimodular) {
  HandMade r;
  const Poly n = r.dim("N");
  const ValueId x = r.variable("x", {Poly(2) * n});
  const ValueId even =
      r.op("slice", {x}, {{"starts", std::vector<Poly>{0}}, {"sizes", std::vector<Poly>{n}}, {"steps", std::vector<Poly>{2}}});
  r.source({r.op("reduce_sum", {even}, axes(0))});
  r.target({r.op("reduce_sum", {x}, axes(0))});
  expect_refuted(r);
  Proof proof(r.instance(), {});
  EXPECT_FALSE(proof.run());
}

TEST(Checker, RejectsMapsThatAreNoBijection) {
  ir::Symbols symbols;
  Solver solver(symbols, 1'000'000);
  Algebra algebra(symbols, {});
  const Checker checker(solver, algebra, symbols);
  const SymbolId a = symbols.fresh(ir::SymbolKind::parameter, "a"), b = symbols.fresh(ir::SymbolKind::parameter, "b");
  const Poly n = symbols.named(ir::SymbolKind::dimension, "N");
  EXPECT_TRUE(checker.unimodular({Poly(a) + Poly(b), Poly(b)}, {a, b}));
  EXPECT_TRUE(checker.unimodular({n - Poly(a)}, {a}));
  EXPECT_TRUE(checker.unimodular({Poly(2) * Poly(a) + Poly(b), Poly(a) + Poly(b)}, {a, b}));
  EXPECT_FALSE(checker.unimodular({Poly(2) * Poly(a)}, {a}));
  EXPECT_FALSE(checker.unimodular({Poly(a) + Poly(b), Poly(a) + Poly(b)}, {a, b}));
  EXPECT_FALSE(checker.unimodular({Poly(a) + Poly(b), Poly(a) - Poly(b)}, {a, b}));
  EXPECT_FALSE(checker.unimodular({n * Poly(a)}, {a}));
  EXPECT_FALSE(checker.unimodular({Poly(a) * Poly(a)}, {a}));
  EXPECT_FALSE(checker.unimodular({symbols.floor_div(Poly(a), Poly(2))}, {a}));
}

// Certificates that the search would not make.
TEST(Checker, RejectsCertificatesThatWereChanged) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), n = r.dim("N");
  const ValueId x = r.variable("x", {m, k}), v = r.variable("v", {k, n}), w = r.variable("w", {k, n});
  r.source({r.add(r.matmul(x, v), r.matmul(x, w))});
  r.target({r.matmul(x, r.add(v, w))});
  Proof proof(r.instance(), {});
  ASSERT_TRUE(proof.run());
  const Proof::OutputProof& p = proof.outputs()[0];
  ASSERT_EQ(p.terms.size(), 4U);
  Solver solver(r.symbols(), 1'000'000);
  Algebra algebra(r.symbols(), {});
  Checker checker(solver, algebra, r.symbols());
  ASSERT_TRUE(checker.zero(p.terms, p.context, *p.certificate));

  Certificate without = *p.certificate;
  without.clusters.pop_back();
  EXPECT_FALSE(checker.zero(p.terms, p.context, without)) << "a term is not spoken of";
  Certificate twice = *p.certificate;
  twice.clusters.push_back(twice.clusters.front());
  EXPECT_FALSE(checker.zero(p.terms, p.context, twice)) << "a term is spoken of twice";
  Certificate shifted = *p.certificate;
  shifted.clusters[0].members[1].maps[0] += Poly(1);
  EXPECT_FALSE(checker.zero(p.terms, p.context, shifted)) << "an index is off by one";
  Certificate swapped = *p.certificate;
  std::swap(swapped.clusters[0].members[1].pairing[0], swapped.clusters[0].members[1].pairing[1]);
  EXPECT_FALSE(checker.zero(p.terms, p.context, swapped)) << "factors are paired with others";
  Certificate scalar;
  scalar.arithmetic.terms = {0, 1, 2, 3};
  EXPECT_FALSE(checker.zero(p.terms, p.context, scalar)) << "left to arithmetic, which says no";
  std::vector<NormalTerm> changed = p.terms;
  changed[0].coefficient = Rational(2);
  EXPECT_FALSE(checker.zero(changed, p.context, *p.certificate)) << "coefficients do not cancel";
  changed = p.terms;
  changed[0].conditions.pop_back();
  EXPECT_FALSE(checker.zero(changed, p.context, *p.certificate)) << "a range is missing";
}

TEST(ValueFacts, LetADivisionCancel) {
  for (const bool known : {false, true}) {
    HandMade r;
    const ValueId x = r.variable("x", {}), y = r.variable("y", {});
    if (known) r.value_fact(y, rules::ValueFact::Kind::nonzero);
    r.source({r.add(x, r.sub(y, y))});
    r.target({r.mul(r.div(x, y), y)});
    EXPECT_EQ(r.decide().verdict == Verdict::proved, known);
  }
}

TEST(ValueFacts, AreNotNeededWhereTheSourceDivides) {
  HandMade r;
  const ValueId x = r.variable("x", {}), y = r.variable("y", {});
  r.source({r.mul(r.div(x, y), y)});
  r.target({x});
  expect_proved(r);
}

TEST(ValueFacts, LetARootOfASquareVanish) {
  HandMade r;
  const ValueId x = r.variable("x", {});
  r.value_fact(x, rules::ValueFact::Kind::nonnegative);
  r.source({r.op("sqrt", {r.mul(x, x)})});
  r.target({x});
  expect_proved(r);
}

TEST(Booleans, FollowDeMorgan) {
  HandMade r;
  const Poly n = r.dim("N");
  const ValueId a = r.variable("a", {n}, ir::DataType::boolean), b = r.variable("b", {n}, ir::DataType::boolean);
  r.source({r.op("not", {r.op("and", {a, b})}), r.op("xor", {a, b})});
  r.target({r.op("or", {r.op("not", {a}), r.op("not", {b})}), r.op("and", {r.op("or", {a, b}), r.op("not", {r.op("and", {a, b})})})});
  expect_proved(r);
}

TEST(Booleans, AndIsNotOr) {
  HandMade r;
  const ValueId a = r.variable("a", {}, ir::DataType::boolean), b = r.variable("b", {}, ir::DataType::boolean);
  r.source({r.op("and", {a, b})});
  r.target({r.op("or", {a, b})});
  expect_refuted(r);
}

TEST(Identity, IsAProductWithTheIdentityMatrixOnEitherSide) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K");
  const ValueId x = r.variable("x", {m, k});
  r.source({r.matmul(x, r.op("identity_matrix", {}, {{"size", k}})), r.matmul(r.op("identity_matrix", {}, {{"size", m}}), x)});
  r.target({x, x});
  expect_proved(r);
}

TEST(Identity, IsAConvolutionWithTheIdentityKernel) {
  HandMade r;
  const Poly n = r.dim("N"), g = r.dim("G"), c = r.dim("C"), h = r.dim("H");
  const ValueId x = r.variable("x", {n, g * c, h});
  const ValueId kernel = r.op("identity_kernel", {}, {{"channels", g * c}, {"kernel", std::vector<Poly>{3}}, {"groups", g}});
  const std::vector<Poly> one = {1}, pads = {1, 1};
  r.source({r.op("conv", {x, kernel}, {{"strides", one}, {"pads", pads}, {"dilations", one}, {"groups", g}})});
  r.target({x});
  expect_proved(r);
}

TEST(Divisions, OfTheTargetNeedAPositiveDivisor) {
  for (const bool known : {false, true}) {
    HandMade r;
    const Poly n = r.dim("N");
    const Poly d = known ? r.parameter("d", 1) : Poly(r.symbols().named(ir::SymbolKind::parameter, "d"));
    const ValueId x = r.variable("x", {n});
    r.source({r.op("neg", {x})});
    // Padded by floor(N / d) and cut again.
    const Poly extra = r.symbols().floor_div(n, d);
    const ValueId padded = r.op("pad", {x}, {{"begins", std::vector<Poly>{0}}, {"ends", std::vector<Poly>{extra}}});
    r.target({r.op("neg", {r.op("slice", {padded},
                                {{"starts", std::vector<Poly>{0}}, {"sizes", std::vector<Poly>{n}}, {"steps", std::vector<Poly>{1}}})})});
    const Decision decision = r.decide();
    EXPECT_EQ(decision.verdict, known ? Verdict::proved : Verdict::refuted) << decision.open;
    if (!known) {
      const std::string text = decision.counterexample->to_string();
      EXPECT_NE(text.find("(a divisor of at least 1, found d)"), std::string::npos) << text;
    }
  }
}

TEST(Solver, KnowsProductsOfSizes) {
  ir::Symbols symbols;
  Solver solver(symbols, 20'000'000);
  const Poly c = symbols.named(ir::SymbolKind::dimension, "C"), g = symbols.named(ir::SymbolKind::dimension, "G");
  const Poly i = symbols.fresh(ir::SymbolKind::index, "i"), j = symbols.fresh(ir::SymbolKind::index, "j");
  const Condition digits = {ops::at_least(i, 0), ops::less_than(i, g), ops::at_least(j, 0), ops::less_than(j, c)};
  EXPECT_TRUE(solver.implies(digits, ops::less_than(c * i + j, g * c), Solver::Effort::full));
  EXPECT_FALSE(solver.implies(digits, ops::less_than(c * i + j, g * c - Poly(1)), Solver::Effort::full));
  EXPECT_TRUE(solver.contradictory(std::vector<Atom>{ops::less_than(c * g, c)}, Solver::Effort::linear));
}

TEST(Solver, DividesWithRemainder) {
  ir::Symbols symbols;
  Solver solver(symbols, 20'000'000);
  const Poly n = symbols.named(ir::SymbolKind::dimension, "N");
  const Poly half = symbols.floor_div(n, Poly(2));
  EXPECT_TRUE(solver.implies({}, ops::at_least(n, Poly(2) * half), Solver::Effort::linear));
  EXPECT_TRUE(solver.implies({}, ops::at_least(Poly(2) * half + Poly(1), n), Solver::Effort::linear));
  EXPECT_FALSE(solver.implies({}, ops::equal(Poly(2) * half, n), Solver::Effort::full));
}

TEST(Ranges, BoundDigitsBySizes) {
  ir::Symbols symbols;
  const Poly c = symbols.named(ir::SymbolKind::dimension, "C"), g = symbols.named(ir::SymbolKind::dimension, "G");
  const Poly i = symbols.fresh(ir::SymbolKind::index, "i"), j = symbols.fresh(ir::SymbolKind::index, "j");
  const Condition digits = {ops::at_least(i, 0), ops::less_than(i, g), ops::at_least(j, 0), ops::less_than(j, c)};
  const Ranges ranges(symbols, {digits});
  EXPECT_TRUE(ranges.in_range(c * i + j, g * c));
  EXPECT_FALSE(ranges.in_range(c * i + j + Poly(1), g * c));
  EXPECT_FALSE(ranges.at_least_zero(j - Poly(1)));
  // Nothing is known of an index but its conditions.
  EXPECT_FALSE(Ranges(symbols, {std::span<const Atom>{}}).at_least_zero(i));
}

}  // namespace
}  // namespace xflow::verifier
