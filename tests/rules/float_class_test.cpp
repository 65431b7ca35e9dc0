// The float class of rules: what overflows, cancels, jumps or differs for NaN, infinities and -0 is seen.
#include <gtest/gtest.h>

#include "tests/rules/rules_for_tests.h"

namespace xflow::rules {
namespace {

std::string class_of(const std::string& source, const std::string& target, const std::string& with = "") {
  const Rule rule = parsed("rule r\n" + with + "  source\n" + source + "\n  target\n" + target + "\n")[0];
  return numbers_text(rule);
}
std::string class_of_y(const std::string& source, const std::string& target, const std::string& with = "") {
  return class_of("    y = " + source, "    y = " + target, with);
}

TEST(FloatClass, OfSoftmaxWithoutItsShiftIsSpecial) {
  const std::string with = "  with\n    x: [A, N]\n";
  const std::string m = "reduce_max(x, axes: [1], keep_dims: 1)";
  const std::string target = "exp(x) / reduce_sum(exp(x), axes: [1], keep_dims: 1)";
  const auto starts = [&](const std::string& text) { return text.substr(0, 8); };
  EXPECT_EQ(starts(class_of_y("exp(x - " + m + ") / reduce_sum(exp(x - " + m + "), axes: [1], keep_dims: 1)", target, with)), "special:");
  EXPECT_EQ(starts(class_of("    e = exp(x - " + m + ")\n    y = e / reduce_sum(e, axes: [1], keep_dims: 1)", "    y = " + target, with)),
            "special:");
  const std::string text = class_of_y("exp(x - " + m + ") / reduce_sum(exp(x - " + m + "), axes: [1], keep_dims: 1)", target, with);
  EXPECT_NE(text.find("changes the range of exp"), std::string::npos) << text;
  EXPECT_NE(text.find("changes what is divided"), std::string::npos) << text;
}

TEST(FloatClass, OfLogSumExpWithoutItsShiftIsSpecial) {
  const std::string with = "  with\n    x: [A, N]\n";
  const std::string m = "reduce_max(x, axes: [1], keep_dims: 1)";
  const std::string text = class_of_y("log(reduce_sum(exp(x - " + m + "), axes: [1], keep_dims: 1)) + " + m,
                                      "log(reduce_sum(exp(x), axes: [1], keep_dims: 1))", with);
  EXPECT_NE(text.find("special"), std::string::npos) << text;
  EXPECT_NE(text.find("changes the range of exp"), std::string::npos) << text;
}

TEST(FloatClass, OfASumThatIsDividedInsteadOfItsTermsIsSpecial) {
  const std::string with = "  with\n    x: [M, K], w: [K, N], s: [M, 1]\n";
  for (const auto& [source, target] :
       {std::pair("matmul(x / s, w)", "matmul(x, w) / s"), std::pair("matmul(x, w) / s", "matmul(x / s, w)")}) {
    const std::string text = class_of_y(source, target, with);
    EXPECT_NE(text.find("special"), std::string::npos) << text;
    EXPECT_NE(text.find("changes what is divided"), std::string::npos) << text;
  }
  // Nothing divides by 0 here.
  EXPECT_EQ(class_of_y("matmul(x / 8, w)", "matmul(x, w) / 8", "  with\n    x: [M, K], w: [K, N]\n").find("special"), std::string::npos);
}

TEST(FloatClass, OfExponentialsOfOtherArgumentsIsSpecial) {
  const std::string text = class_of_y("exp(x - z) * exp(z)", "exp(x + z) * exp(neg(z))");
  EXPECT_NE(text.find("special"), std::string::npos) << text;
  EXPECT_NE(text.find("changes the range of exp"), std::string::npos) << text;
}

TEST(FloatClass, OfVarianceByMomentsIsSpecial) {
  const std::string with = "  with\n    x: [A, N]\n";
  const auto mean = [](const std::string& of) { return "reduce_mean(" + of + ", axes: [1], keep_dims: 1)"; };
  const std::string text =
      class_of_y(mean("(x - " + mean("x") + ") * (x - " + mean("x") + ")"), mean("x * x") + " - " + mean("x") + " * " + mean("x"), with);
  EXPECT_EQ(text, "special: re-associates, can cancel");
}

TEST(FloatClass, OfChoicesThatDifferForNaNIsSpecial) {
  for (const auto& [source, target] : std::vector<std::pair<std::string, std::string>>{
           {"select(less(0, x), x, 0)", "relu(x)"},
           {"not(less(x, z))", "greater_equal(x, z)"},
           {"select(equal(x, x), u, z)", "u"},
           {"select(less(x, 6), x, 6)", "clip(x, max: 6)"},
           {"select(less(x, z), x, z)", "minimum(x, z)"},
       }) {
    const std::string text = class_of_y(source, target);
    EXPECT_EQ(text.substr(0, 8), "special:") << source << ": " << text;
    EXPECT_TRUE(text.find("changes NaN") != std::string::npos || text.find("changes the operands of less") != std::string::npos)
        << source << ": " << text;
  }
}

TEST(FloatClass, OfChoicesThatAgreeForNaNIsExact) {
  for (const auto& [source, target] : std::vector<std::pair<std::string, std::string>>{
           {"relu(relu(x))", "relu(x)"},
           {"clip(x, min: 0, max: inf)", "relu(x)"},
           {"minimum(relu(x), 6)", "clip(x, min: 0, max: 6)"},
           {"greater(x, z)", "less(z, x)"},
           {"select(not(c), x, z)", "select(c, z, x)"},
           {"select(less(x, z), u, w)", "select(greater(z, x), u, w)"},
           {"neg(neg(x))", "x"},
           {"relu(transpose(x, perm: p))", "transpose(relu(x), perm: p)"},
           {"floor(transpose(x, perm: p))", "transpose(floor(x), perm: p)"},
       })
    EXPECT_EQ(class_of_y(source, target), "exact") << source;
}

TEST(FloatClass, OfChoicesAmongZerosIsRounding) {
  EXPECT_EQ(class_of_y("maximum(x, 0)", "relu(x)"), "rounding: re-associates");
  EXPECT_EQ(class_of_y("abs(relu(x))", "relu(x)"), "rounding: re-associates");
  EXPECT_EQ(class_of_y("maximum(x, z)", "maximum(z, x)"), "rounding: re-associates");
  EXPECT_EQ(class_of_y("maximum(w, minimum(x, z))", "maximum(w, minimum(z, x))"), "rounding: re-associates");
  EXPECT_EQ(class_of_y("reciprocal(minimum(x, z))", "reciprocal(minimum(z, x))").substr(0, 8), "rounding");
  // A rule is matched with operands exchanged.
  EXPECT_EQ(class_of_y("transpose(maximum(x, relu(x)), perm: p)", "transpose(maximum(x, relu(x)), perm: p)").substr(0, 8), "rounding");
}

TEST(FloatClass, OfChoicesOfWhichOneIsNoZeroIsExact) {
  EXPECT_EQ(class_of_y("maximum(x, 6)", "maximum(6, x)"), "exact");
  EXPECT_EQ(class_of_y("minimum(x, x)", "x"), "exact");
  EXPECT_EQ(class_of_y("maximum(i, j)", "maximum(j, i)", "  with\n    i: int8[A], j: int8[A]\n"), "exact");
}

TEST(FloatClass, OfTwoTermsOrFactorsInAnotherOrderIsExact) {
  for (const auto& [source, target] : std::vector<std::pair<std::string, std::string>>{
           {"x + z", "z + x"},
           {"x * z", "z * x"},
           {"floor(relu(x + z * w) / s)", "floor(relu(w * z + x) / s)"},
           {"exp(x + z) + tanh(w)", "tanh(w) + exp(z + x)"},
       })
    EXPECT_EQ(class_of_y(source, target), "exact") << source;
  // Three have no order that is kept, and a sum over an axis has none.
  EXPECT_EQ(class_of_y("(x + z) + w", "x + (z + w)"), "rounding: re-associates");
  EXPECT_EQ(class_of_y("x + z + w", "w + x + z"), "rounding: re-associates");
  EXPECT_EQ(class_of_y("matmul(x, z) + w", "w + matmul(x, z)"), "rounding: re-associates");
  EXPECT_EQ(class_of_y("maximum(x + z, w)", "maximum(w, z + x)"), "rounding: re-associates");
}

TEST(FloatClass, OfJumpsWithOtherOperandsIsSpecial) {
  for (const auto& [source, target] : std::vector<std::pair<std::string, std::string>>{
           {"floor(x + 3)", "floor(x) + 3"},
           {"less(x + 1, z + 1)", "less(x, z)"},
           {"less(x * 2, z * 2)", "less(x, z)"},
           {"round(x - 2)", "round(x) - 2"},
           {"cast(x * s * t, to: int64)", "cast(x * (s * t), to: int64)"},
       }) {
    const std::string text = class_of_y(source, target);
    EXPECT_EQ(text.substr(0, 8), "special:") << source << ": " << text;
    EXPECT_NE(text.find("changes the operands of "), std::string::npos) << source << ": " << text;
  }
  EXPECT_EQ(class_of_y("floor(x + z) * s * t", "floor(z + x) * (s * t)").substr(0, 9), "rounding:");
}

// Comparisons of integers have no rounding error, and their results are 0 and 1.
TEST(FloatClass, OfOtherComparisonsOfIntegersIsRounding) {
  const std::string with = "  with\n    i: int64[A], j: int64[A]\n";
  EXPECT_EQ(class_of_y("select(less(i, j + 1), x, z) * s * t", "select(less_equal(i, j), x, z) * (s * t)", with).substr(0, 9), "rounding:");
  EXPECT_EQ(class_of_y("cast(less(i, j), to: float32) * x * s", "cast(less(i, j), to: float32) * (x * s)", with).substr(0, 9), "rounding:");
  // Those of other numbers have one, and so have conversions of other integers.
  EXPECT_EQ(class_of_y("select(less(v, w + 1), x, z) * s * t", "select(less(v - 1, w), x, z) * (s * t)").substr(0, 8), "special:");
  EXPECT_EQ(class_of_y("cast(i + j, to: float16) * x * s", "cast(i - (0 - j), to: float16) * (x * s)", with).substr(0, 8), "special:");
}

// A product with 0 is NaN where the other factor is; a choice is not.
TEST(FloatClass, OfAProductWithATruthAsAChoiceIsSpecial) {
  const std::string with = "  with\n    i: int64[A], j: int64[A]\n";
  const std::string text = class_of_y("cast(equal(i, j), to: float32) * x", "select(equal(i, j), x, 0)", with);
  EXPECT_EQ(text.substr(0, 8), "special:");
  EXPECT_NE(text.find("changes NaN"), std::string::npos) << text;
}

// At one position a comparison of positions always comes out the same. Where the source has its own 0, the
// product is one of 0 and x, which is NaN where x is.
TEST(FloatClass, OfAProductWithATruthOfPositionsIsSpecial) {
  const std::string rows = "iota(shape: [S, 1], data_type: int64)";
  const std::string columns = "iota(shape: [1, S], axis: 1, data_type: int64)";
  const std::string with = "  with\n    x: [S, S]\n";
  const std::string lower = "trilu(x, diagonal: 0, upper: 0)";
  const std::string product = class_of_y(lower, "x * cast(greater_equal(" + rows + ", " + columns + "), to: float32)", with);
  EXPECT_EQ(product, "special: computes with mul instead of nothing, changes NaN");
  EXPECT_EQ(class_of_y(lower, "select(less(" + rows + ", " + columns + "), zeros(shape: []), x)", with), "exact");
  const std::string negative = class_of_y(lower, "select(less(" + rows + ", " + columns + "), neg(zeros(shape: [])), x)", with);
  EXPECT_NE(negative, "exact") << negative;
}

// A target that rounds nothing has the smallest error there is.
TEST(FloatClass, OfATargetThatRoundsNothingHasNoErrorToCancel) {
  const std::string source = "matmul(cast(equal(i, iota(shape: [K], data_type: int64)), to: float32), x)";
  const std::string index = "minimum(maximum(i, 0), slice(iota(shape: [K], data_type: int64), starts: [K - 1], sizes: [1], steps: 1))";
  const std::string target = "select(equal(i, " + index + "), gather(x, reshape(" + index + ", shape: [L]), axis: 0), 0)";
  EXPECT_EQ(class_of_y(source, target, "  with\n    i: int64[L, 1], x: [K, N]\n"), "rounding: computes with nothing instead of matmul");
}

TEST(FloatClass, SeesTheSignOfZero) {
  EXPECT_EQ(class_of_y("x + 0", "x"), "special: computes with nothing instead of add, changes the sign of 0");
  EXPECT_EQ(class_of_y("1 / (x + 0)", "1 / x").substr(0, 8), "special:");
  EXPECT_EQ(class_of_y("0 - x", "neg(x)"), "special: computes with nothing instead of sub, changes the sign of 0");
  EXPECT_EQ(class_of_y("x - 0", "x").substr(0, 9), "rounding:");
  EXPECT_EQ(class_of_y("relu(x + 0)", "relu(x)").substr(0, 9), "rounding:");
  EXPECT_EQ(class_of_y("exp(x + 0)", "exp(x)").substr(0, 8), "special:") << "the operands of exp differ";
}

TEST(FloatClass, SeesWhatIsDivided) {
  EXPECT_EQ(class_of_y("x / s * s", "x").substr(0, 8), "special:");
  EXPECT_EQ(class_of_y("x / s + z / s", "(x + z) / s"), "special: re-associates, changes NaN") << "x = 0, s = 0";
  EXPECT_EQ(class_of_y("x * z / (sigmoid(s) + 1)", "x * (z / (sigmoid(s) + 1))").substr(0, 9), "rounding:");
  EXPECT_EQ(class_of_y("a * reciprocal(b)", "a / b").substr(0, 9), "rounding:");
}

TEST(FloatClass, OfOtherOrdersOfSumsAndProductsIsRounding) {
  for (const auto& [source, target] : std::vector<std::pair<std::string, std::string>>{
           {"(x + z) * s", "x * s + z * s"},
           {"x * s + z * s", "(x + z) * s"},
           {"x + s + t", "x + (s + t)"},
           {"x * s * t", "x * (s * t)"},
           {"pow(x, 2)", "x * x"},
           {"x + x", "x * 2"},
           {"matmul(matmul(x, z), w)", "matmul(x, matmul(z, w))"},
       })
    EXPECT_EQ(class_of_y(source, target).substr(0, 9), "rounding:") << source << ": " << class_of_y(source, target);
}

TEST(FloatClass, OfSquaresOfDifferencesIsSpecial) {
  EXPECT_NE(class_of_y("(x - z) * (x - z)", "x * x - 2 * x * z + z * z").find("can cancel"), std::string::npos);
}

// A function of the results of a merged product computes what it computed before, wherever the parts lie.
TEST(FloatClass, OfMergedAndSplitFunctionsIsRounding) {
  const std::string with = "  with\n    x: [M, K], a: [K, N], b: [K, P]\n";
  const std::string source = "    y1 = relu(matmul(x, a))\n    y2 = relu(matmul(x, b))";
  const auto merged = [](const std::string& left, const std::string& right) {
    return "    y = relu(matmul(" + left + ", concat(" + right + ", axis: 1)))\n    y1, y2 = split(y, axis: 1, sizes: [N, P])";
  };
  EXPECT_EQ(class_of(source, merged("x", "a, b"), with), "rounding: re-associates");
  // What is read twice may cancel.
  EXPECT_NE(class_of(source, merged("x", "a + b - b, b"), with).find("can cancel"), std::string::npos);
  const std::string cancelled =
      "    y1 = relu(matmul(concat(x, x, x, axis: 1), concat(a, b, neg(b), axis: 0)))\n    y2 = relu(matmul(x, b))";
  EXPECT_NE(class_of(source, cancelled, "  with\n    x: [M, K], a: [K, N], b: [K, N]\n").find("can cancel"), std::string::npos);
}

// Each was taken for exact: bits differ for NaN or zeros, or behind a conversion or a sign, whose values
// are opaque. clang-format off
TEST(FloatClass, OfOtherOperandsOfOpaqueFunctionsIsSpecial) {
  for (const char* rule : {
           "  source\n"
           "    y = sign(-x)\n"
           "  target\n"
           "    y = -sign(x)\n",
           "  with\n"
           "    i: int8[A]\n"
           "  source\n"
           "    y = cast(-i, to: float32)\n"
           "  target\n"
           "    y = -cast(i, to: float32)\n",
           "  with\n"
           "    i: int8[A]\n"
           "  source\n"
           "    y = -cast(i, to: float32)\n"
           "  target\n"
           "    y = cast(-i, to: float32)\n",
           "  with\n"
           "    x: float32[A]\n"
           "  source\n"
           "    y = cast(select(less(0, x), x, 0), to: float64)\n"
           "  target\n"
           "    y = cast(relu(x), to: float64)\n",
           "  with\n"
           "    x: float32[A]\n"
           "  source\n"
           "    y = cast(select(less(0, x), x, 0), to: float64)\n"
           "  target\n"
           "    y = relu(cast(x, to: float64))\n",
           "  with\n"
           "    x: float32[A], z: float32[A]\n"
           "  source\n"
           "    y = not(less(cast(x, to: float64), cast(z, to: float64)))\n"
           "  target\n"
           "    y = greater_equal(x, z)\n",
           "  source\n"
           "    y = not(less(-sign(x), z))\n"
           "  target\n"
           "    y = greater_equal(sign(-x), z)\n",
           "  with\n"
           "    x: float32[A]\n"
           "  source\n"
           "    y = select(less(0, cast(-x, to: float64)), -cast(x, to: float64), 0)\n"
           "  target\n"
           "    y = relu(cast(-x, to: float64))\n",
           "  source\n"
           "    y = select(less(x, s), x, s)\n"
           "  target\n"
           "    y = clip(x, max: 6)\n"
           "  where equal(s, 6)\n",
           "  source\n"
           "    y = select(less(0, x), x, s)\n"
           "  target\n"
           "    y = relu(x)\n"
           "  where equal(s, 0)\n",
           "  source\n"
           "    y = abs(x)\n"
           "  target\n"
           "    y = x\n"
           "  where nonnegative(x)\n",
       })
    EXPECT_EQ(numbers_text(parsed(std::string("rule r\n") + rule)[0]).substr(0, 8), "special:") << rule;
}

// Each was taken for rounding: a term that cancels is far larger than the result can be, or NaN comes
// from an element that the source does not read, or the sign of 0 changes.
TEST(FloatClass, OfTermsOfWhichTheSourceHasNoneIsSpecial) {
  for (const char* rule : {
           "  with\n"
           "    x: [A]\n"
           "  source\n"
           "    y = slice(x, starts: [0], sizes: [n], steps: 1)\n"
           "  target\n"
           "    y = slice(x, starts: [0], sizes: [n], steps: 1) + slice(x, starts: [A - n], sizes: [n], steps: 1) - slice(x, starts: [A - "
           "n], sizes: [n], steps: 1)\n",
           "  with\n"
           "    x: [A, B + 1]\n"
           "  source\n"
           "    y = slice(x, starts: [0, B], sizes: [A, 1], steps: 1)\n"
           "  target\n"
           "    y = reduce_sum(x, axes: [1], keep_dims: 1) - reduce_sum(slice(x, starts: [0, 0], sizes: [A, B], steps: 1), axes: [1], "
           "keep_dims: 1)\n",
           "  with\n"
           "    x: [A, B]\n"
           "  source\n"
           "    y = neg(x)\n"
           "  target\n"
           "    y = cumsum(x, axis: 1, exclusive: 1) - cumsum(x, axis: 1)\n",
           "  with\n"
           "    x: [A, A]\n"
           "  source\n"
           "    y = neg(x)\n"
           "  target\n"
           "    y = (transpose(x, perm: [1, 0]) - x) - transpose(x, perm: [1, 0])\n",
           "  with\n"
           "    x: [M, K + 1], w: [K + 1, N]\n"
           "  source\n"
           "    y = matmul(slice(x, starts: 0, sizes: [M, K], steps: 1), slice(w, starts: 0, sizes: [K, N], steps: 1))\n"
           "  target\n"
           "    y = matmul(x, w) - slice(x, starts: [0, K], sizes: [M, 1], steps: 1) * slice(w, starts: [K, 0], sizes: [1, N], steps: 1)\n",
           "  source\n"
           "    y = maximum(x, z)\n"
           "  target\n"
           "    y = x + relu(z - x)\n",
           "  source\n"
           "    y = minimum(x, z)\n"
           "  target\n"
           "    y = x - relu(x - z)\n",
           "  source\n"
           "    y = maximum(x, z)\n"
           "  target\n"
           "    y = (x + z + abs(x - z)) / 2\n",
           "  source\n"
           "    y = clip(x, min: 0, max: 6)\n"
           "  target\n"
           "    y = relu(x) - relu(x - 6)\n",
           "  source\n"
           "    y = minimum(x, 6)\n"
           "  target\n"
           "    y = x - relu(x - 6)\n",
           "  source\n"
           "    y = clip(x, min: -1, max: 1)\n"
           "  target\n"
           "    y = relu(x + 1) - relu(x - 1) - 1\n",
           "  source\n"
           "    y = clip(x, min: -3, max: 3)\n"
           "  target\n"
           "    y = clip(x + 3, min: 0, max: 6) - 3\n",
           "  source\n"
           "    y = minimum(x, 6)\n"
           "  target\n"
           "    y = -relu(6 - x) + 6\n",
           "  source\n"
           "    y = relu(x)\n"
           "  target\n"
           "    y = relu(x + 100) - relu(100 - relu(-x))\n",
           "  with\n"
           "    x: [A, B]\n"
           "  source\n"
           "    y = reduce_max(x, axes: [1], keep_dims: 1)\n"
           "  target\n"
           "    y = reduce_max(x - reduce_mean(x, axes: [1], keep_dims: 1), axes: [1], keep_dims: 1) + reduce_mean(x, axes: [1], "
           "keep_dims: 1)\n",
           "  with\n"
           "    x: [A, A]\n"
           "  source\n"
           "    y = x + x\n"
           "  target\n"
           "    y = x + x + transpose(x, perm: [1, 0]) * 0\n",
           "  source\n"
           "    y = x + s\n"
           "  target\n"
           "    y = x\n"
           "  where equal(s, 0)\n",
           "  source\n"
           "    y = s - x\n"
           "  target\n"
           "    y = -x\n"
           "  where equal(s, 0)\n",
       })
    EXPECT_EQ(numbers_text(parsed(std::string("rule r\n") + rule)[0]).substr(0, 8), "special:") << rule;
}
// clang-format on

TEST(FloatClass, OfChoicesWithOtherTermsIsSpecial) {
  // Sums of a concatenation have no error at the elements beside them.
  EXPECT_NE(class_of_y("concat(x, z, axis: 0)", "concat(x + z - z, z, axis: 0)", "  with\n    x: [A], z: [A]\n").find("can cancel"),
            std::string::npos);
  EXPECT_NE(class_of_y("select(c, x, z)", "select(c, x - z, 0) + z").find("can cancel"), std::string::npos);
  EXPECT_EQ(class_of_y("select(c, x * s, z * s)", "select(c, x, z) * s").substr(0, 9), "rounding:");
  EXPECT_EQ(class_of_y("relu(x * s + z * s)", "relu((x + z) * s)").substr(0, 9), "rounding:");
  // A sum of one element and zeros of a constant is that element; differences of sums are not.
  EXPECT_NE(class_of_y("neg(x)", "conv(cumsum(x, axis: 2), concat(neg(ones(shape: [1, 1, 1])), ones(shape: [1, 1, 1]), axis: 2))",
                       "  with\n    x: [1, 1, K]\n")
                .find("special"),
            std::string::npos);
}

TEST(FloatClass, OfIntegersAndConversionsAmongThemIsExact) {
  EXPECT_EQ(class_of_y("cast(cast(i, to: int16), to: int8)", "i", "  with\n    i: int8[A]\n"), "exact");
  EXPECT_EQ(class_of_y("quantize_linear(concat(x, z, axis: 0), s, p, to: uint8)",
                       "concat(quantize_linear(x, s, p, to: uint8), quantize_linear(z, s, p, to: uint8), axis: 0)",
                       "  with\n    x: [A], z: [B], s: [], p: uint8[]\n"),
            "exact");
}

// The results are far below 1 where x is near 0 or far below it, and 1 is not.
TEST(FloatClass, OfSmallResultsBesideOneIsSpecial) {
  EXPECT_EQ(class_of_y("tanh(x)", "2 * sigmoid(2 * x) - 1"), "special: computes with mul, sigmoid, sub instead of tanh, can cancel");
  EXPECT_EQ(class_of_y("sigmoid(x)", "1/2 + 1/2 * tanh(x / 2)"),
            "special: computes with add, div, mul, tanh instead of sigmoid, can cancel");
  EXPECT_EQ(class_of_y("1 - sigmoid(x)", "sigmoid(neg(x))").substr(0, 9), "rounding:");
  EXPECT_EQ(class_of_y("tanh(neg(x))", "neg(tanh(x))").substr(0, 9), "rounding:");
  EXPECT_EQ(class_of_y("clip(x + 3, min: 0, max: 6) / 6", "hard_sigmoid(x, alpha: 1/6, beta: 1/2)").substr(0, 9), "rounding:");
}

TEST(FloatClass, OfARuleThatWasClassifiedBeforeIsTheOneThatIsKnown) {
  const std::string text = "rule r\n  source y = abs(abs(x))\n  target y = abs(x)\n";
  const Rule computed = parsed(text)[0];
  EXPECT_EQ(numbers_text(computed), "exact");
  const ClassifiedRule known[] = {{computed.hash, FloatClass::special, "drops x\nchanges NaN\n"}};
  const auto read = [&](const std::string& rules) { return numbers_text((*parse_rules(rules, "f.rules", known))[0]); };
  EXPECT_EQ(read(text), "special: drops x, changes NaN");
  EXPECT_EQ(read("# A comment changes nothing.\n" + text), "special: drops x, changes NaN");
  EXPECT_EQ(read("rule r\n  source y = abs(abs(z))\n  target y = abs(z)\n"), "exact") << "of another rule";
}

// A rule may claim that its errors are those of rounding, where nothing but the bound of the error is in the way.
TEST(FloatClass, CanBeClaimed) {
  const std::string square = "  source\n    y = (x - z) * (x - z)\n  target\n    y = x * x - 2 * x * z + z * z\n";
  const Rule computed = parsed("rule r\n" + square)[0];
  EXPECT_EQ(computed.float_class, FloatClass::special);
  const Rule claimed = parsed("rule r\n  numbers rounding\n" + square)[0];
  EXPECT_EQ(claimed.float_class, FloatClass::rounding);
  EXPECT_EQ(numbers_text(claimed).substr(0, 30), "rounding: claimed by the rule,");
  EXPECT_EQ(claimed.number_effects.size(), computed.number_effects.size() + 1) << "the reasons stay";
  EXPECT_EQ(print(parsed(print(claimed))[0]), print(claimed));
  EXPECT_NE(claimed.hash, computed.hash);
  const Rule exact = parsed("rule r\n  numbers rounding\n  source\n    y = relu(relu(x))\n  target\n    y = relu(x)\n")[0];
  EXPECT_EQ(exact.float_class, FloatClass::exact) << "a claim makes no class weaker";
}

TEST(FloatClass, CannotBeClaimedWhereMoreThanTheErrorChanges) {
  const auto error_of = [](const std::string& text) { return parse_rules(text, "r.rules").error().text(); };
  EXPECT_EQ(error_of("rule r\n  numbers rounding\n  source\n    y = exp(x - z)\n  target\n    y = exp(x) * exp(neg(z))\n"),
            "r.rules:1:6: the rule says 'numbers rounding', but changes the range of exp");
  EXPECT_EQ(error_of("rule r\n  numbers rounding\n  source\n    y = x - x + z\n  target\n    y = z\n"),
            "r.rules:1:6: the rule says 'numbers rounding', but changes NaN");
  EXPECT_EQ(error_of("rule r\n  numbers exact\n  source\n    y = x\n  target\n    y = x\n"),
            "r.rules:2:11: expected 'rounding': the only class that a rule can claim, found 'exact'");
}

}  // namespace
}  // namespace xflow::rules
