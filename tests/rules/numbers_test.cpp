// What rules do to floating point results.
#include "tests/rules/rules_for_tests.h"

namespace xflow::rules {
namespace {

std::string numbers_of(const std::string& source, const std::string& target, const std::string& guards = "") {
  const std::string where = guards.empty() ? "" : "  where " + guards + "\n";
  const auto rules = parsed("rule r\n  source\n    y = " + source + "\n  target\n    y = " + target + "\n" + where);
  return rules.empty() ? "" : numbers_text(rules.front());
}

TEST(Numbers, AreExactWhereElementsAreMovedOrChosen) {
  EXPECT_EQ(numbers_of("transpose(transpose(x, perm: p), perm: q)", "transpose(x, perm: permute(p, q))"), "exact");
  EXPECT_EQ(numbers_of("relu(relu(x))", "relu(x)"), "exact");
  EXPECT_EQ(numbers_of("neg(neg(x))", "x"), "exact");
}

TEST(Numbers, AreRoundedAgainWhereOperationsAreReordered) {
  EXPECT_EQ(numbers_of("matmul(matmul(x, a), b)", "matmul(x, matmul(a, b))"), "rounding: re-associates");
  EXPECT_EQ(numbers_of("(x + z) + w", "x + (z + w)"), "rounding: re-associates");
  EXPECT_EQ(numbers_of("x * a + z * a", "(x + z) * a"), "rounding: re-associates");
}

TEST(Numbers, AreRoundedAgainWhereOtherOperationsComputeThem) {
  EXPECT_EQ(numbers_of("x + x", "x * 2"), "rounding: computes with mul instead of add");
}

TEST(Numbers, ChangeSpecialValuesWhereTheRangeOfAFunctionChanges) {
  EXPECT_EQ(numbers_of("exp(x + z)", "exp(x) * exp(z)"), "special: computes with exp, mul instead of add, exp, changes the range of exp");
  // Both sides divide by z: the same zeros.
  EXPECT_EQ(numbers_of("x / z", "x * reciprocal(z) * 1"), "rounding: computes with mul, reciprocal instead of div");
  EXPECT_EQ(numbers_of("sqrt(x) * sqrt(x)", "x"),
            "special: computes with nothing instead of mul, sqrt, changes the range of sqrt, changes the sign of 0");
}

TEST(Numbers, ChangeSpecialValuesWhereAnOperandIsDropped) {
  EXPECT_EQ(numbers_of("(x + z) - z", "x"), "special: computes with nothing instead of add, sub, changes NaN, drops z");
}

TEST(Numbers, AreNamed) {
  for (const FloatClass c : {FloatClass::exact, FloatClass::rounding, FloatClass::special}) EXPECT_EQ(float_class_from_name(name(c)), c);
  EXPECT_FALSE(float_class_from_name("precise"));
}

}  // namespace
}  // namespace xflow::rules
