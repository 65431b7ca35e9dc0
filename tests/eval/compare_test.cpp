#include "src/eval/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace xflow::eval {
namespace {

Tensor floats(std::vector<double> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return Tensor::of_doubles(ir::DataType::float32, {size}, std::move(values));
}

TEST(Compare, AllowsFourTimesTheOwnErrorAndAFractionOfTheMagnitude) {
  const Tensor reference = floats({1, 100});
  const Tensor own = floats({1.5, 100});
  EXPECT_TRUE(compare(reference, own, floats({3, 100})).agrees);  // 4 * 0.5 + 1e-5 * 100
  EXPECT_TRUE(compare(reference, own, floats({1, 97.9995})).agrees);
  const Comparison worse = compare(reference, own, floats({3.01, 100}));
  EXPECT_FALSE(worse.agrees);
  EXPECT_EQ(worse.reason, "3.01 instead of 1 at [0] (error 2.01, allowed 2)");
  EXPECT_EQ(worse.worst, 0U);
}

TEST(Compare, WantsNaNWhereTheReferenceHasIt) {
  EXPECT_TRUE(compare(floats({NAN}), floats({NAN}), floats({NAN})).agrees);
  EXPECT_FALSE(compare(floats({NAN}), floats({NAN}), floats({1})).agrees);
  EXPECT_FALSE(compare(floats({1}), floats({1}), floats({NAN})).agrees);
  EXPECT_EQ(compare(floats({1}), floats({1}), floats({NAN})).severity(), std::numeric_limits<double>::infinity());
}

TEST(Compare, WantsTheSameInfinity) {
  EXPECT_TRUE(compare(floats({INFINITY}), floats({INFINITY}), floats({INFINITY})).agrees);
  EXPECT_FALSE(compare(floats({INFINITY}), floats({INFINITY}), floats({-INFINITY})).agrees);
  // What overflows in A's own float arithmetic may overflow in B.
  EXPECT_TRUE(compare(floats({1e39}), floats({INFINITY}), floats({INFINITY})).agrees);
}

TEST(Compare, WantsIntegersAndStringsExactly) {
  const Tensor a = Tensor::of_integers(ir::DataType::int64, {2, 2}, {1, 2, 3, 4});
  const Tensor b = Tensor::of_integers(ir::DataType::int64, {2, 2}, {1, 2, 3, 5});
  EXPECT_TRUE(compare(a, a, a).agrees);
  EXPECT_EQ(compare(a, a, b).reason, "5 instead of 4 at [1,1]");
  const Tensor s = Tensor::of_strings({1}, {"x"});
  const Tensor t = Tensor::of_strings({1}, {"y"});
  EXPECT_TRUE(compare(s, s, s).agrees);
  EXPECT_EQ(compare(s, s, t).reason, "y instead of x at [0]");
}

// 25.5 in double and slightly less in float, rounded.
TEST(Compare, TakesAnIntegerThatAHasInFloat) {
  const auto bytes = [](std::vector<std::int64_t> values) { return Tensor::of_integers(ir::DataType::uint8, {2}, std::move(values)); };
  EXPECT_TRUE(compare(bytes({26, 1}), bytes({25, 1}), bytes({25, 1})).agrees);
  EXPECT_TRUE(compare(bytes({26, 1}), bytes({25, 1}), bytes({26, 1})).agrees);
  EXPECT_EQ(compare(bytes({26, 1}), bytes({25, 1}), bytes({24, 1})).reason, "24 instead of 26 at [0]");
  EXPECT_EQ(compare(bytes({26, 1}), bytes({25, 1}), bytes({25, 2})).reason, "2 instead of 1 at [1]");
}

TEST(Compare, WantsTheSameTypeAndShape) {
  EXPECT_EQ(compare(floats({1}), floats({1}), floats({1, 2})).reason, "shape [2] instead of [1]");
  const Tensor wide = Tensor::of_doubles(ir::DataType::float64, {1}, {1});
  EXPECT_EQ(compare(floats({1}), floats({1}), wide).reason, "float64[1] instead of float32[1]");
}

}  // namespace
}  // namespace xflow::eval
