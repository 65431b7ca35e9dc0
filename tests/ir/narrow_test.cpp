#include "src/ir/narrow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "src/ir/constant.h"

namespace xflow::ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Format {
  DataType type;
  double largest;
  double least;  // the smallest number above 0
};
constexpr Format kFormats[] = {{DataType::float8e4m3fn, 448, 0x1p-9},
                               {DataType::float8e4m3fnuz, 240, 0x1p-10},
                               {DataType::float8e5m2, 57344, 0x1p-16},
                               {DataType::float8e5m2fnuz, 57344, 0x1p-17},
                               {DataType::float4e2m1, 6, 0.5}};

// The bits of the numbers that are not negative, in ascending order.
std::vector<std::uint8_t> ascending(const Format& format) {
  std::vector<std::uint8_t> result;
  for (int b = 0; b < 1 << (bits(format.type) - 1); ++b)
    if (std::isfinite(narrow_to_double(format.type, static_cast<std::uint8_t>(b)))) result.push_back(static_cast<std::uint8_t>(b));
  return result;
}

TEST(Narrow, FloatsHaveTheNumbersOfTheirDefinition) {
  const std::vector<double> halves = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (std::size_t b = 0; b < halves.size(); ++b)
    EXPECT_EQ(narrow_to_double(DataType::float4e2m1, static_cast<std::uint8_t>(b)), halves[b]);
  for (const Format& format : kFormats) {
    const std::vector<std::uint8_t> all = ascending(format);
    EXPECT_EQ(narrow_to_double(format.type, all[1]), format.least) << name(format.type);
    EXPECT_EQ(narrow_to_double(format.type, all.back()), format.largest) << name(format.type);
    for (std::size_t k = 1; k < all.size(); ++k)
      EXPECT_LT(narrow_to_double(format.type, all[k - 1]), narrow_to_double(format.type, all[k])) << name(format.type);
  }
  EXPECT_EQ(narrow_to_double(DataType::float8e4m3fn, 0x38), 1);
  EXPECT_EQ(narrow_to_double(DataType::float8e4m3fn, 0xC4), -3);
  EXPECT_EQ(narrow_to_double(DataType::float8e4m3fnuz, 0x40), 1);
  EXPECT_EQ(narrow_to_double(DataType::float8e5m2, 0x3C), 1);
  EXPECT_EQ(narrow_to_double(DataType::float8e5m2fnuz, 0x40), 1);
  EXPECT_EQ(narrow_to_double(DataType::float8e5m2, 0x7C), kInfinity);
  EXPECT_EQ(narrow_to_double(DataType::float8e5m2, 0xFC), -kInfinity);
  EXPECT_TRUE(std::signbit(narrow_to_double(DataType::float8e4m3fn, 0x80)));
}

TEST(Narrow, FloatsAreRoundedToNearestAndEven) {
  for (const Format& format : kFormats) {
    const std::vector<std::uint8_t> all = ascending(format);
    for (std::size_t k = 0; k < all.size(); ++k) {
      const double x = narrow_to_double(format.type, all[k]);
      EXPECT_EQ(double_to_narrow(format.type, x), all[k]) << name(format.type) << " " << x;
      if (k == 0) continue;
      EXPECT_EQ(narrow_to_double(format.type, double_to_narrow(format.type, -x)), -x) << name(format.type);
      const double below = narrow_to_double(format.type, all[k - 1]);
      const double middle = (below + x) / 2;
      EXPECT_EQ(double_to_narrow(format.type, middle), all[k] % 2 == 0 ? all[k] : all[k - 1]) << name(format.type) << " " << middle;
      EXPECT_EQ(double_to_narrow(format.type, std::nextafter(middle, x)), all[k]) << name(format.type) << " " << middle;
      EXPECT_EQ(double_to_narrow(format.type, std::nextafter(middle, below)), all[k - 1]) << name(format.type) << " " << middle;
    }
  }
}

TEST(Narrow, FloatsAreKeptInRange) {
  for (const Format& format : kFormats) {
    for (const double large : {format.largest * 1.01, format.largest * 3, kInfinity}) {
      EXPECT_EQ(narrow_to_double(format.type, double_to_narrow(format.type, large)), format.largest) << name(format.type);
      EXPECT_EQ(narrow_to_double(format.type, double_to_narrow(format.type, -large)), -format.largest) << name(format.type);
    }
    const double nan = narrow_to_double(format.type, double_to_narrow(format.type, kNan));
    if (format.type == DataType::float4e2m1) {
      EXPECT_EQ(nan, 6);
    } else {
      EXPECT_TRUE(std::isnan(nan)) << name(format.type);
    }
  }
  // These have one zero.
  EXPECT_EQ(double_to_narrow(DataType::float8e4m3fnuz, -0.0), 0);
  EXPECT_EQ(double_to_narrow(DataType::float8e5m2fnuz, -0x1p-20), 0);
  EXPECT_EQ(double_to_narrow(DataType::float8e4m3fn, -0.0), 0x80);
}

TEST(Narrow, IntegersArePacked) {
  for (const DataType type : {DataType::int4, DataType::uint4, DataType::int2, DataType::uint2}) {
    const int count = 1 << bits(type);
    const int low = is_unsigned(type) ? 0 : -count / 2;
    std::vector<std::int64_t> values;
    for (int k = 0; k < count; ++k) values.push_back(low + k);
    values.push_back(low);  // the last byte is not full
    const Constant constant = make_integer_constant(type, {static_cast<std::int64_t>(values.size())}, values);
    EXPECT_EQ(constant.source->size(), storage_bytes(type, values.size())) << name(type);
    EXPECT_EQ(integers(constant).value(), values) << name(type);
    EXPECT_EQ(doubles(constant).value(), std::vector<double>(values.begin(), values.end())) << name(type);
    EXPECT_EQ(wrap_narrow(type, low - 1), low + count - 1) << name(type);
  }
  // The first element is in the low bits.
  const Constant four = make_integer_constant(DataType::uint4, {2}, std::vector<std::int64_t>{1, 2});
  EXPECT_EQ(four.source->bytes().value()[0], std::byte{0x21});
}

TEST(Narrow, FloatsOfAConstantAreNumbersAndNoIntegers) {
  const Constant constant{DataType::float4e2m1, {3}, owned_bytes({std::byte{0x72}, std::byte{0x09}})};
  EXPECT_EQ(doubles(constant).value(), (std::vector<double>{1, 6, -0.5}));
  ASSERT_FALSE(integers(constant).has_value());
  EXPECT_EQ(integers(constant).error().text(), "expected an integer tensor, found float4e2m1");
}

}  // namespace
}  // namespace xflow::ir
