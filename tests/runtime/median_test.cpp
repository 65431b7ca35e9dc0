#include "src/runtime/median.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace xflow::cost {
namespace {

TEST(MedianInterval, IsMadeOfOrderStatistics) {
  std::vector<double> values;
  for (int k = 15; k > 0; --k) values.push_back(k);
  const MedianInterval interval = median_interval(values);
  EXPECT_EQ(interval.median, 8);
  EXPECT_EQ(interval.low, 4);  // 2 P(at most 3 of 15) = 0.035, at most 4: 0.118
  EXPECT_EQ(interval.high, 12);
  EXPECT_EQ(median_interval(std::vector<double>{2, 1}).median, 1.5);
}

TEST(MedianInterval, IsTheWholeRangeOfFewValues) {
  const MedianInterval interval = median_interval(std::vector<double>{3, 1, 2});
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 3);
  EXPECT_EQ(median_interval({}).median, 0);
  const MedianInterval one = median_interval(std::vector<double>{5});
  EXPECT_EQ(one.low, 5);
  EXPECT_EQ(one.high, 5);
}

TEST(MedianInterval, HoldsTheMedianAsOftenAsItSays) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> skewed(0, 1);  // its median is 1
  int held = 0;
  for (int k = 0; k < 1000; ++k) {
    std::vector<double> values(31);
    for (double& value : values) value = skewed(random);
    const MedianInterval interval = median_interval(values);
    if (interval.low <= 1 && 1 <= interval.high) ++held;
  }
  EXPECT_GE(held, 950);
  EXPECT_LT(held, 1000);
}

}  // namespace
}  // namespace xflow::cost
