// Numbers that are rounded fractions.
#include "src/equivalence/fractions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace xflow::equivalence {
namespace {

using ir::DataType;

std::string fraction(double number, DataType type = DataType::float32) {
  const auto found = rounded_fraction(number, type);
  return found ? found->to_string() : "none";
}

TEST(Fractions, TheNearestFloatOfASimpleFraction) {
  EXPECT_EQ(fraction(1.0F / 6), "1/6");
  EXPECT_EQ(fraction(-1.0F / 6), "-1/6");
  EXPECT_EQ(fraction(10.0F / 3), "10/3");
  EXPECT_EQ(fraction(1.0F / 255), "1/255");
  EXPECT_EQ(fraction(0.1F), "1/10");
  EXPECT_EQ(fraction(1.0 / 6, DataType::float64), "1/6");
}

TEST(Fractions, AFloatBesideTheNearestOneIsNone) {
  for (const float near : {1.0F / 6, 10.0F / 3, 1.0F / 255, 0.1F}) {
    EXPECT_EQ(fraction(std::nextafter(near, 0.0F)), "none") << near;
    EXPECT_EQ(fraction(std::nextafter(near, 9.0F)), "none") << near;
  }
  // 1/6 of a float is none of a double.
  EXPECT_EQ(fraction(1.0F / 6, DataType::float64), "none");
  EXPECT_EQ(fraction(std::nextafter(1.0 / 6, 0.0), DataType::float64), "none");
}

TEST(Fractions, NumbersThatAreExactAreNotRounded) {
  for (const double number : {0.0, 1.0, -3.0, 0.5, 0.375, 1000.0, 65537.0 / 65536}) EXPECT_EQ(fraction(number), "none") << number;
  EXPECT_EQ(fraction(std::numeric_limits<double>::infinity()), "none");
  EXPECT_EQ(fraction(std::numeric_limits<double>::quiet_NaN()), "none");
}

TEST(Fractions, LargeFractionsMeanNothing) {
  EXPECT_EQ(fraction(100.0F / 653), "100/653");
  EXPECT_EQ(fraction(100.0F / 657), "none");
  // A type of few bits has no more than a few of them.
  EXPECT_EQ(fraction(0.333251953125, DataType::float16), "1/3");
  EXPECT_EQ(fraction(0.0999755859375, DataType::float16), "none");  // 1/10
  EXPECT_EQ(fraction(0.333984375, DataType::bfloat16), "none");
}

TEST(Fractions, AttributesAreFloats) {
  EXPECT_EQ(rounded_fraction(ir::Real::from_double(1.0F / 6)).value().to_string(), "1/6");
  EXPECT_FALSE(rounded_fraction(ir::Real(ir::Rational::make(1, 6).value())));
  EXPECT_FALSE(rounded_fraction(ir::Real::from_double(1.0 / 6)));
  EXPECT_FALSE(rounded_fraction(ir::Real::variable("a")));
  EXPECT_FALSE(rounded_fraction(ir::AttributeValue(ir::Poly(6))));
}

TEST(Fractions, AreWithinHalfAUnitInTheLastPlace) {
  const double number = 1.0F / 6;
  const Rounding rounding = rounding_of_fraction(number, rounded_fraction(number, DataType::float32).value(), DataType::float32);
  EXPECT_NEAR(rounding.difference, std::abs(number - 1.0 / 6), 1e-16);
  EXPECT_EQ(rounding.allowed, std::ldexp(1.0, -27));
  EXPECT_EQ(rounding.magnitude, number);
  EXPECT_LE(rounding.difference, rounding.allowed);
}

}  // namespace
}  // namespace xflow::equivalence
