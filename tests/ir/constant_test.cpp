#include "src/ir/constant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace xflow::ir {
namespace {

TEST(Constant, RoundTripsThroughEveryArithmeticType) {
  const std::vector<double> values{0, 1, 2, 3, 100};
  for (const DataType type : {DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16, DataType::int8, DataType::uint8,
                              DataType::int16, DataType::uint16, DataType::int32, DataType::uint32, DataType::int64, DataType::uint64}) {
    const auto c = make_constant(type, {5}, values);
    ASSERT_TRUE(c) << name(type);
    EXPECT_EQ(*doubles(*c), values) << name(type);
  }
}

TEST(Constant, RejectsValuesThatDoNotFit) {
  const auto c = make_constant(DataType::int8, {1}, std::vector<double>{128});
  ASSERT_FALSE(c);
  EXPECT_EQ(c.error().text(), "value 128.000000 does not fit int8");
  EXPECT_FALSE(make_constant(DataType::uint8, {1}, std::vector<double>{-1}));
  EXPECT_FALSE(make_constant(DataType::float8e5m2, {1}, std::vector<double>{1}));
}

TEST(Half, EveryBitPatternSurvives) {
  for (std::uint32_t b = 0; b < 0x10000; ++b) {
    const float f = half_to_float(static_cast<std::uint16_t>(b));
    if (std::isnan(f)) continue;
    EXPECT_EQ(float_to_half(f), b);
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(half_to_float(float_to_half(1.0F + 1.0F / 2048)), 1.0F);
  EXPECT_EQ(half_to_float(float_to_half(1.0F + 3.0F / 2048)), 1.0F + 2.0F / 1024);
  EXPECT_EQ(float_to_half(65519.0F), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_half(2049.0F), float_to_half(2048.0F));
  EXPECT_EQ(half_to_float(float_to_half(std::ldexp(1.0F, -25))), 0.0F);
  EXPECT_EQ(float_to_half(std::ldexp(1.5F, -25)), 1);
}

TEST(Bfloat16, EveryBitPatternSurvivesAndDoublesRoundOnce) {
  for (std::uint32_t b = 0; b < 0x10000; ++b) {
    const float f = bfloat16_to_float(static_cast<std::uint16_t>(b));
    if (std::isnan(f)) continue;
    EXPECT_EQ(float_to_bfloat16(f), b);
  }
  // Just above a tie: rounding to float first would make it the tie and round down to even.
  const double above = 1.0 + 1.0 / 256 + std::ldexp(1.0, -40);
  const auto c = make_constant(DataType::bfloat16, {1}, std::vector<double>{above});
  ASSERT_TRUE(c);
  EXPECT_EQ(doubles(*c)->front(), 1.0 + 1.0 / 128);
}

TEST(Constant, TooFewBytesIsAnErrorNotACrash) {
  const Constant c{DataType::float32, {4}, owned_bytes(std::vector<std::byte>(7))};
  const auto values = doubles(c);
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().text(), "constant of 4 float32 elements has 7 bytes, expected 16");
}

}  // namespace
}  // namespace xflow::ir
