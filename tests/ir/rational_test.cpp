#include "src/ir/rational.h"

#include <gtest/gtest.h>

#include <cmath>

namespace xflow::ir {
namespace {

TEST(Rational, ParsesWhatIsWritten) {
  EXPECT_EQ(Rational::parse("1/6"), Rational::make(1, 6));
  EXPECT_EQ(Rational::parse("-0.25"), Rational::make(-1, 4));
  EXPECT_EQ(Rational::parse("1e-5"), Rational::make(1, 100000));
  EXPECT_EQ(Rational::parse("2.5e3"), Rational(2500));
  EXPECT_EQ(Rational::parse("6/4"), Rational::make(3, 2));
  for (const char* bad : {"", "-", "1/0", "x", "1e", "1.2.3", "99999999999999999999", "1 "})
    EXPECT_EQ(Rational::parse(bad), std::nullopt) << bad;
}

TEST(Rational, ArithmeticIsExactOrNothing) {
  EXPECT_EQ(add(*Rational::make(1, 6), *Rational::make(1, 3)), Rational::make(1, 2));
  EXPECT_EQ(multiply(*Rational::make(2, 3), *Rational::make(3, 2)), Rational(1));
  EXPECT_EQ(divide(Rational(1), Rational(0)), std::nullopt);
  EXPECT_EQ(multiply(Rational(INT64_MAX), Rational(2)), std::nullopt);
}

TEST(Rational, DoublesAreTakenExactly) {
  EXPECT_EQ(Rational::from_double(0.5), Rational::make(1, 2));
  EXPECT_EQ(Rational::from_double(-3.0), Rational(-3));
  EXPECT_EQ(Rational::from_double(static_cast<double>(0.1F))->to_double(), static_cast<double>(0.1F));
  EXPECT_EQ(Rational::from_double(INFINITY), std::nullopt);
  EXPECT_EQ(Real::from_double(1e300).to_double(), 1e300);
}

TEST(Real, LiteralMatchesTheNearestValueOfItsType) {
  const Real sixth = *Rational::make(1, 6);
  EXPECT_TRUE(sixth.nearest_in_type(static_cast<double>(1.0F / 6.0F), 24));
  EXPECT_TRUE(sixth.nearest_in_type(static_cast<double>(0.16666667F), 24));
  EXPECT_FALSE(sixth.nearest_in_type(static_cast<double>(std::nextafter(1.0F / 6.0F, 1.0F)), 24));
  EXPECT_FALSE(sixth.nearest_in_type(1.0 / 6.0, 24));
  EXPECT_TRUE(sixth.nearest_in_type(1.0 / 6.0, 53));
  EXPECT_TRUE(Real(3).nearest_in_type(3.0, 24));
  EXPECT_TRUE(positive_infinity().nearest_in_type(INFINITY, 24));
  EXPECT_FALSE(Real(0).nearest_in_type(1e-30, 24));
}

}  // namespace
}  // namespace xflow::ir
