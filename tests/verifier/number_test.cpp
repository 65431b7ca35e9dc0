// Numbers of concrete evaluation that are none.
#include "src/verifier/algebra/number.h"

#include <gtest/gtest.h>

#include <array>

namespace xflow::verifier {
namespace {

using ops::Function;

Number applied(Function f, const Number& a) { return apply_function(f, std::array{a}); }
Number applied(Function f, const Number& a, const Number& b) { return apply_function(f, std::array{a, b}); }

TEST(Numbers, LeaveInfinityOutOfMaximaAndMinimaAlone) {
  const Number least = Number::negative_infinity();
  const Number largest = Number::positive_infinity();
  EXPECT_EQ(applied(Function::maximum, least, Number(-3)).to_string(), "-3");
  EXPECT_EQ(applied(Function::maximum, Number(-3), least).to_string(), "-3");
  EXPECT_EQ(applied(Function::minimum, largest, Number::approximate(0.5L)).to_string(), "0.500000");
  EXPECT_TRUE(applied(Function::maximum, least, least).is_infinite());
  EXPECT_EQ(applied(Function::maximum, least, least).to_string(), "-inf");
  EXPECT_TRUE(applied(Function::maximum, least, Number::undefined()).is_undefined());
  for (const Number& n : {least, largest}) {
    EXPECT_FALSE(n.has_value());
    EXPECT_FALSE(n.is_undefined());
    EXPECT_TRUE(applied(Function::negate, n).is_undefined());
    EXPECT_TRUE(applied(Function::exp, n).is_undefined());
    EXPECT_TRUE(applied(Function::less, Number(0), n).is_undefined());
    EXPECT_TRUE(add(n, Number(1)).is_undefined());
    EXPECT_TRUE(add(Number::approximate(1), n).is_undefined());
    EXPECT_TRUE(multiply(Number(), n).is_undefined());
    EXPECT_TRUE(convert(ir::DataType::float32, ir::DataType::int8, n).is_undefined());
    EXPECT_TRUE(convert(ir::DataType::float64, ir::DataType::float16, n).is_infinite());
  }
  EXPECT_TRUE(from_literal(ir::negative_infinity()).is_infinite());
  EXPECT_EQ(from_literal(ir::positive_infinity()).to_string(), "inf");
}

TEST(Numbers, ThatAreTooLargeAreNotKnown) {
  Number n(12);
  for (int k = 0; k < 3; ++k) n = applied(Function::exp, n);
  EXPECT_TRUE(n.is_unknown());
  EXPECT_TRUE(multiply(Number::approximate(1e4000L), Number::approximate(1e4000L)).is_unknown());
  EXPECT_EQ(multiply(Number(), Number::approximate(1e4000L)).to_string(), "0");
}

TEST(Numbers, OfNarrowTypesAreNotConverted) {
  EXPECT_TRUE(convert(ir::DataType::float32, ir::DataType::float8e4m3fn, Number(1)).is_unknown());
  EXPECT_TRUE(convert(ir::DataType::int8, ir::DataType::uint4, Number(1)).is_unknown());
  EXPECT_TRUE(convert(ir::DataType::float4e2m1, ir::DataType::float32, Number(1)).is_unknown());
}

}  // namespace
}  // namespace xflow::verifier
