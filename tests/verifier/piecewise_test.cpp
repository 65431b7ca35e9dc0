#include "src/verifier/algebra/piecewise.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <utility>
#include <vector>

namespace xflow::verifier {
namespace {

using Kind = RealNode::Kind;
using ir::Rational;

RealExpr node(Kind kind, std::vector<RealExpr> arguments) {
  auto e = std::make_shared<RealNode>();
  e->kind = kind;
  e->arguments = std::move(arguments);
  return e;
}
RealExpr literal(const Rational& value) {
  auto e = std::make_shared<RealNode>();
  e->kind = Kind::literal;
  e->literal = value;
  return e;
}
RealExpr literal(std::int64_t value) { return literal(Rational(value)); }
RealExpr r(int number = 0) {
  auto e = std::make_shared<RealNode>();
  e->kind = Kind::variable;
  e->variable = number;
  return e;
}
RealExpr operator+(RealExpr a, RealExpr b) { return node(Kind::sum, {std::move(a), std::move(b)}); }
RealExpr operator*(RealExpr a, RealExpr b) { return node(Kind::product, {std::move(a), std::move(b)}); }
RealExpr operator-(RealExpr a, RealExpr b) { return std::move(a) + literal(-1) * std::move(b); }
RealExpr max(RealExpr a, RealExpr b) { return node(Kind::maximum, {std::move(a), std::move(b)}); }
RealExpr min(RealExpr a, RealExpr b) { return literal(0) - max(literal(0) - std::move(a), literal(0) - std::move(b)); }
RealExpr clip(RealExpr a, std::int64_t low, std::int64_t high) { return min(max(std::move(a), literal(low)), literal(high)); }

TEST(Piecewise, FindsFunctionsOfOneNumberEqual) {
  EXPECT_TRUE(is_zero_by_cases(literal(0)));
  EXPECT_TRUE(is_zero_by_cases(max(r(), literal(0)) + min(r(), literal(0)) - r()));
  // |max(r, 0)| = max(r, 0)
  const RealExpr positive = max(r(), literal(0));
  EXPECT_TRUE(is_zero_by_cases(max(positive, literal(0) - positive) - positive));
  // r clip(r + 3, 0, 6) / 6 = r clip(r / 6 + 1 / 2, 0, 1)
  const RealExpr sixth = literal(*Rational::make(1, 6));
  const RealExpr half = literal(*Rational::make(1, 2));
  EXPECT_TRUE(is_zero_by_cases(r() * clip(r() + literal(3), 0, 6) * sixth - r() * clip(r() * sixth + half, 0, 1)));
  // Maxima whose zeros lie in each other's pieces.
  EXPECT_TRUE(is_zero_by_cases(max(max(r(), literal(2)), literal(5) - r()) - max(max(literal(5) - r(), r()), literal(2))));
}

TEST(Piecewise, TellsFunctionsApartThatDifferSomewhere) {
  EXPECT_FALSE(is_zero_by_cases(literal(1)));
  EXPECT_FALSE(is_zero_by_cases(max(r(), literal(0)) - r()));
  EXPECT_FALSE(is_zero_by_cases(max(r(), literal(0))));
  EXPECT_FALSE(is_zero_by_cases(clip(r(), 0, 6) - clip(r(), 0, 7)));
  // Only between 2 and 3; nowhere, if the 3 is a 2.
  EXPECT_FALSE(is_zero_by_cases(max(max(r(), literal(3)), literal(5) - r()) - max(r(), literal(5) - r())));
  EXPECT_TRUE(is_zero_by_cases(max(max(r(), literal(2)), literal(5) - r()) - max(r(), literal(5) - r())));
}

TEST(Piecewise, IsSilentWhereItDoesNotDecide) {
  EXPECT_FALSE(is_zero_by_cases(r(0) + r(1) - r(1) - r(0)));                                // two variables
  EXPECT_FALSE(is_zero_by_cases(max(r() * r(), literal(1)) - max(literal(1), r() * r())));  // a difference of degree 2
  auto conditional = std::make_shared<RealNode>();
  conditional->kind = Kind::conditional;
  conditional->arguments = {literal(0)};
  EXPECT_FALSE(is_zero_by_cases(conditional));
  const RealExpr large = literal(std::int64_t{1} << 62);
  EXPECT_FALSE(is_zero_by_cases(large * large * r() - large * large * r()));  // does not fit 64 bits
  RealExpr power = r();
  for (int k = 0; k < 6; ++k) power = power * power;
  EXPECT_FALSE(is_zero_by_cases(power - power));
}

// b is 1 where a > 0, else 0: as the checker says it.
std::vector<RealClause> less_clauses(const RealExpr& b, const RealExpr& a) {
  using Relation = RealFact::Relation;
  return {{{Relation::zero, b}, {Relation::zero, b - literal(1)}},
          {{Relation::zero, b}, {Relation::positive, a}},
          {{Relation::not_zero, b}, {Relation::at_least_zero, literal(0) - a}}};
}

TEST(Piecewise, KnowsWhatClausesSayOfBooleans) {
  const RealExpr b = r(1);
  const std::vector<RealClause> is_positive = less_clauses(b, r());
  const RealExpr tenth = literal(*Rational::make(1, 10)) * r();
  const RealExpr leaky = b * r() + (literal(1) - b) * tenth;
  EXPECT_TRUE(is_zero_by_cases(leaky - max(r(), tenth), is_positive));
  EXPECT_FALSE(is_zero_by_cases(leaky - max(r(), tenth)));
  EXPECT_FALSE(is_zero_by_cases(leaky - max(r(), tenth), std::span(is_positive).first(2)));
  EXPECT_FALSE(is_zero_by_cases(leaky - max(r(), tenth), std::span(is_positive).last(2)));
  EXPECT_FALSE(is_zero_by_cases(leaky - max(r(), literal(2) * r()), is_positive));
  EXPECT_FALSE(is_zero_by_cases(b * r(), is_positive));
  EXPECT_FALSE(is_zero_by_cases((b - literal(1)) * r(), is_positive));
}

TEST(Piecewise, KnowsWhereClausesHold) {
  using Relation = RealFact::Relation;
  const auto where = [](Relation relation, const RealExpr& value) { return std::vector<RealClause>{{{relation, value}}}; };
  EXPECT_TRUE(is_zero_by_cases(max(r(), literal(0)) - r(), where(Relation::at_least_zero, r())));
  EXPECT_TRUE(is_zero_by_cases(max(r(), literal(0)) - r(), where(Relation::positive, r())));
  EXPECT_FALSE(is_zero_by_cases(max(r(), literal(0)) - r(), where(Relation::at_least_zero, r() + literal(1))));
  EXPECT_FALSE(is_zero_by_cases(max(r(), literal(0)) - r(), where(Relation::not_zero, r())));
  // At one point, where no interval is: r = 3 where 3 >= r >= 3.
  std::vector<RealClause> three = where(Relation::at_least_zero, r() - literal(3));
  three.push_back({{Relation::at_least_zero, literal(3) - r()}});
  EXPECT_TRUE(is_zero_by_cases(r() - literal(3), three));
  EXPECT_FALSE(is_zero_by_cases(r() - literal(2), three));
  // A clause about something else, or that is not decided, says nothing.
  EXPECT_FALSE(is_zero_by_cases(max(r(), literal(0)) - r(), where(Relation::at_least_zero, r(1))));
  EXPECT_FALSE(is_zero_by_cases(max(r(), literal(0)) - r(), where(Relation::at_least_zero, r() * r() * r())));
  // One of two holds.
  EXPECT_TRUE(is_zero_by_cases(max(r(), literal(0)) - r(), std::vector<RealClause>{{{Relation::positive, r()}, {Relation::zero, r()}}}));
  EXPECT_FALSE(is_zero_by_cases(max(r(), literal(0)) - r(),
                                std::vector<RealClause>{{{Relation::positive, r()}, {Relation::zero, r() + literal(1)}}}));
}

// The value at one point.
Rational value(const RealExpr& e, const Rational& at) {
  if (e->kind == Kind::literal) return e->literal;
  if (e->kind == Kind::variable) return at;
  Rational result = value(e->arguments[0], at);
  for (std::size_t k = 1; k < e->arguments.size(); ++k) {
    const Rational next = value(e->arguments[k], at);
    if (e->kind == Kind::sum) result = *ir::add(result, next);
    if (e->kind == Kind::product) result = *ir::multiply(result, next);
    if (e->kind == Kind::maximum && result.to_double() < next.to_double()) result = next;
  }
  return result;
}

// Expressions are drawn; whatever is called 0 is 0 at many points, and what is 0 at all of them is called 0.
TEST(Piecewise, AgreesWithValuesAtManyPoints) {
  std::mt19937 random(5);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto line = [&] { return literal(draw(5) - 2) * r() + literal(draw(7) - 3); };
  int zeros = 0;
  for (int round = 0; round < 500; ++round) {
    RealExpr a = max(line(), line());
    RealExpr b = max(line(), line());
    if (draw(2) == 0) a = max(a, line());
    if (draw(2) == 0) b = min(b, line());
    const RealExpr e = draw(2) == 0 ? a - b : max(a, b) + min(a, b) - (draw(2) == 0 ? a + b : a + a);
    bool is_zero = true;
    for (std::int64_t k = -1200; k <= 1200 && is_zero; ++k) is_zero = value(e, *Rational::make(k, 120)) == Rational(0);
    ASSERT_EQ(is_zero_by_cases(e), is_zero) << round;
    zeros += is_zero ? 1 : 0;
  }
  EXPECT_GT(zeros, 25);
}

}  // namespace
}  // namespace xflow::verifier
