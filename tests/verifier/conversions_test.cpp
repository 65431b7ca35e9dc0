// Conversions between element types: which keep every value, and what evaluation makes of the others.
#include "src/verifier/algebra/conversions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/verifier/algebra/number.h"

namespace xflow::verifier {
namespace {

using ir::DataType;
using ir::Rational;

Number converted(DataType from, DataType to, std::int64_t value) { return convert(from, to, Number(value)); }

void expect_number(const Number& n, const std::string& text) { EXPECT_EQ(n.to_string(), text); }

TEST(Conversions, KeepValuesOfNarrowerTypes) {
  const std::pair<DataType, DataType> kept[] = {
      {DataType::int8, DataType::int64},    {DataType::uint8, DataType::int16},      {DataType::int8, DataType::float16},
      {DataType::uint8, DataType::float16}, {DataType::uint8, DataType::bfloat16},   {DataType::int16, DataType::float32},
      {DataType::uint16, DataType::int32},  {DataType::int32, DataType::float64},    {DataType::uint32, DataType::float64},
      {DataType::uint32, DataType::int64},  {DataType::float16, DataType::float32},  {DataType::bfloat16, DataType::float32},
      {DataType::boolean, DataType::int8},  {DataType::boolean, DataType::bfloat16}, {DataType::float32, DataType::float64}};
  for (const auto& [from, to] : kept) EXPECT_TRUE(keeps_values(from, to)) << ir::name(from) << " to " << ir::name(to);
  const std::pair<DataType, DataType> lost[] = {
      {DataType::int8, DataType::uint64},     {DataType::uint8, DataType::int8},       {DataType::int16, DataType::float16},
      {DataType::uint16, DataType::bfloat16}, {DataType::int32, DataType::float32},    {DataType::uint32, DataType::float32},
      {DataType::int64, DataType::float64},   {DataType::uint64, DataType::float64},   {DataType::uint64, DataType::int64},
      {DataType::float16, DataType::int64},   {DataType::float16, DataType::bfloat16}, {DataType::bfloat16, DataType::float16},
      {DataType::float32, DataType::float16}, {DataType::float64, DataType::float32},  {DataType::int8, DataType::boolean},
      {DataType::undefined, DataType::int8}};
  for (const auto& [from, to] : lost) EXPECT_FALSE(keeps_values(from, to)) << ir::name(from) << " to " << ir::name(to);
}

TEST(Conversions, OfIntegersWrap) {
  expect_number(converted(DataType::int64, DataType::int8, 128), "-128");
  expect_number(converted(DataType::int64, DataType::int8, -129), "127");
  expect_number(converted(DataType::int64, DataType::uint8, -1), "255");
  expect_number(converted(DataType::int64, DataType::uint16, 65536 * 3 + 7), "7");
  expect_number(converted(DataType::int8, DataType::uint64, -1), "18446744073709551615");
  expect_number(converted(DataType::int64, DataType::int32, std::int64_t{1} << 31), "-2147483648");
}

TEST(Conversions, ToFloatingTypesRoundToEven) {
  expect_number(converted(DataType::int64, DataType::float16, 2049), "2048");
  expect_number(converted(DataType::int64, DataType::float16, 2051), "2052");
  expect_number(converted(DataType::int64, DataType::float32, (std::int64_t{1} << 24) + 1), "16777216");
  expect_number(converted(DataType::int64, DataType::float64, (std::int64_t{1} << 53) + 1), "9007199254740992");
  expect_number(converted(DataType::int64, DataType::bfloat16, -257), "-256");
  expect_number(convert(DataType::float32, DataType::float16, Number(*Rational::make(1, 3))), "1365/4096");
  // The least step of float16 is 2^-24; half of it goes to the even neighbour, 0.
  expect_number(convert(DataType::float32, DataType::float16, Number(*Rational::make(1, 1 << 25))), "0");
  expect_number(convert(DataType::float32, DataType::float16, Number(*Rational::make(3, 1 << 25))), "1/8388608");
  expect_number(converted(DataType::float32, DataType::float16, 65519), "65504");
  EXPECT_TRUE(converted(DataType::float32, DataType::float16, 65520).is_unknown()) << "infinite";
  // Of an approximation the rounding is known where it is far from the middle of two numbers.
  expect_number(convert(DataType::float64, DataType::float16, Number::approximate(std::sqrt(2.0L))), "181/128");
  EXPECT_TRUE(convert(DataType::float64, DataType::float16, Number::approximate(2049.0L)).is_unknown());
}

TEST(Conversions, ToIntegersTruncate) {
  expect_number(convert(DataType::float32, DataType::int64, Number(*Rational::make(-3, 2))), "-1");
  expect_number(converted(DataType::float32, DataType::uint8, 255), "255");
  EXPECT_TRUE(converted(DataType::float32, DataType::uint8, 256).is_undefined());
  EXPECT_TRUE(converted(DataType::float32, DataType::int8, -129).is_undefined());
  expect_number(converted(DataType::float32, DataType::boolean, -2), "1");
}

}  // namespace
}  // namespace xflow::verifier
