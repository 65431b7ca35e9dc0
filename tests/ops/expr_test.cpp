#include "src/ops/expr.h"

#include <gtest/gtest.h>

namespace xflow::ops {
namespace {

class ExprTest : public testing::Test {
 protected:
  ir::Poly dimension(const char* name) { return ir::Poly(symbols.named(ir::SymbolKind::dimension, name)); }
  ir::Poly index(const char* name) { return ir::Poly(symbols.named(ir::SymbolKind::index, name)); }
  std::string print(const Expr& expr) { return to_string(symbols, expr, {"x", "y"}); }

  ir::Symbols symbols;
  Builder b{symbols};
};

TEST_F(ExprTest, PrintsOperatorsWithFewParentheses) {
  const Expr x = b.read(0, {index("i")});
  const Expr y = b.read(1, {});
  EXPECT_EQ(print(x + y * x), "x[i] + y * x[i]");
  EXPECT_EQ(print((x + y) * x), "(x[i] + y) * x[i]");
  EXPECT_EQ(print(x - (y - x)), "x[i] - (y - x[i])");
  EXPECT_EQ(print(x - y - x), "x[i] - y - x[i]");
  EXPECT_EQ(print(x / (y / x)), "x[i] / (y / x[i])");
  EXPECT_EQ(print(b.apply(Function::negate, x + y)), "-(x[i] + y)");
  EXPECT_EQ(print(b.literal(ir::Rational::make(1, 6).value()) * x), "1/6 * x[i]");
  EXPECT_EQ(print(x * b.literal(ir::Rational::make(1, 6).value())), "x[i] * (1/6)");
  EXPECT_EQ(print(b.literal(-2) * x), "-2 * x[i]");
  EXPECT_EQ(print(b.integer(dimension("N") + 1) * x), "(N + 1) * x[i]");
  EXPECT_EQ(print(b.apply(Function::choose, b.apply(Function::less, x, y), x, b.cast(ir::DataType::int32, y))),
            "choose(less(x[i], y), x[i], cast(y, int32))");
}

TEST_F(ExprTest, NumbersOperandsWithoutNames) { EXPECT_EQ(to_string(symbols, b.read(0, {}) + b.read(3, {})), "%0 + %3"); }

TEST_F(ExprTest, PrintsEqualTextForExpressionsMadeAgain) {
  const auto make = [&] { return b.sum({dimension("N"), 3}, [&](const std::vector<ir::Poly>& k) { return b.read(0, {k[1], k[0]}); }); };
  const std::string first = print(make());
  EXPECT_EQ(first, "sum(k'1 < N, sum(k'2 < 3, x[k'2, k'1]))");
  EXPECT_EQ(print(make()), first);
}

TEST_F(ExprTest, LeavesOutConditionsThatAreKnown) {
  const Expr x = b.read(0, {index("i")});
  const Expr zero = b.literal(0);
  EXPECT_EQ(b.select({}, x, zero), x);
  EXPECT_EQ(b.select({at_least(3, 2), equal(2, 2), different(1, 2)}, x, zero), x);
  EXPECT_EQ(b.select({at_least(index("i"), 0)}, x, zero), x) << "an index is at least 0";
  EXPECT_EQ(b.select({at_least(1, 2)}, x, zero), zero);
  EXPECT_EQ(b.select({at_least(index("i"), 1), equal(1, 2)}, x, zero), zero);
  EXPECT_EQ(print(b.select({at_least(index("i"), 1), less_than(index("i"), dimension("N")), different(index("i"), 4)}, x, zero)),
            "select(i - 1 >= 0 and -i + N - 1 >= 0 and i - 4 != 0, x[i], 0)");
}

TEST_F(ExprTest, SumsOverNoBinderAreTheirBody) {
  const Expr x = b.read(0, {});
  EXPECT_EQ(b.sum(std::vector<ir::Poly>{}, [&](const std::vector<ir::Poly>&) { return x; }), x);
  EXPECT_EQ(b.maximum(std::vector<ir::Poly>{}, [&](const std::vector<ir::Poly>&) { return x; }), x);
}

TEST_F(ExprTest, ReadsIndicesFromIntegerOperands) { EXPECT_EQ(print(b.read(0, {b.element(1, {index("i")})})), "x[%1[i]]"); }

TEST(Function, HasANameAndAnArity) {
  EXPECT_EQ(arity(Function::negate), 1);
  EXPECT_EQ(arity(Function::equal), 2);
  EXPECT_EQ(arity(Function::choose), 3);
  EXPECT_STREQ(name(Function::round_even), "round_even");
}

}  // namespace
}  // namespace xflow::ops
