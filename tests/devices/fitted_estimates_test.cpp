// Bounds of kernels that were not timed, from those that were.
#include "src/devices/fitted_estimates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "src/ops/kernel_text.h"
#include "tests/kernels/random_device.h"

namespace xflow::cost {
namespace {

ops::KernelSpec kernel(const std::string& text) { return ops::parse_kernel(text).value(); }

ops::KernelSpec product(std::int64_t m, std::int64_t k, std::int64_t n) {
  const auto size = [](std::int64_t a, std::int64_t b) { return "float32[" + std::to_string(a) + "," + std::to_string(b) + "]"; };
  return kernel("matmul(" + size(m, k) + ", const " + size(k, n) + ") -> " + size(m, n));
}

// 500 ns a launch and 0.05 ns an operation, with errors of up to 20 %.
double time_of(std::int64_t m, std::int64_t k, std::int64_t n, std::mt19937_64& random) {
  return (500 + 0.05 * static_cast<double>(m * k * n)) * std::uniform_real_distribution<double>(0.8, 1.2)(random);
}

class FittedEstimatesTest : public ::testing::Test {
 protected:
  // A product of a random shape with its time.
  std::pair<ops::KernelSpec, double> draw() {
    std::uniform_int_distribution<std::int64_t> size(8, 300);
    const std::int64_t m = size(random_);
    const std::int64_t k = size(random_);
    const std::int64_t n = size(random_);
    return {product(m, k, n), time_of(m, k, n, random_)};
  }
  static void store(Database& database, const std::pair<ops::KernelSpec, double>& timed) {
    database.insert({ops::to_string(timed.first), Layout::plain}, {KernelCost{Nanoseconds{timed.second}}});
  }

  std::mt19937_64 random_{1};
  RandomDevice device_{1, RandomDevice::noisy};
  Database database_ = Database::open("", device_.info());
};

TEST_F(FittedEstimatesTest, AreSeldomAboveTheTimesAndNotFarBelow) {
  for (int k = 0; k < 100; ++k) store(database_, draw());
  FittedEstimates estimates(database_);
  int above = 0;
  double shares = 0;
  for (int k = 0; k < 200; ++k) {
    const auto [spec, time] = draw();
    const auto least = estimates.at_least(spec);
    ASSERT_TRUE(least);
    above += least->count() > time ? 1 : 0;
    shares += least->count() / time / 200;
  }
  EXPECT_LE(above, 10);
  EXPECT_GT(shares, 0.5);
}

TEST_F(FittedEstimatesTest, NeedEightKernelsOfTheClass) {
  FittedEstimates estimates(database_);
  const ops::KernelSpec asked = product(64, 64, 64);
  EXPECT_FALSE(estimates.at_least(asked));
  for (int k = 0; k < 7; ++k) store(database_, draw());
  EXPECT_FALSE(estimates.at_least(asked));
  store(database_, draw());
  EXPECT_TRUE(estimates.at_least(asked));
  EXPECT_FALSE(estimates.at_least(kernel("pointwise/exp(float32[64,64]) -> float32[64,64]")));
}

TEST_F(FittedEstimatesTest, LearnFromKernelsThatAreTimedLater) {
  const ops::KernelSpec asked = product(64, 64, 64);
  for (int k = 0; k < 10; ++k) store(database_, draw());
  FittedEstimates estimates(database_);
  const double before = estimates.at_least(asked).value().count();
  for (int k = 0; k < 500; ++k) {
    const auto [spec, time] = draw();
    store(database_, {spec, 2 * time});
  }
  EXPECT_GT(estimates.at_least(asked).value().count(), 1.3 * before);
}

TEST_F(FittedEstimatesTest, AreTheSameInWhateverOrderKernelsWereTimed) {
  std::vector<std::pair<ops::KernelSpec, double>> kernels;
  for (int k = 0; k < 60; ++k) kernels.push_back(draw());
  for (const auto& timed : kernels) store(database_, timed);
  Database other = Database::open("", device_.info());
  std::reverse(kernels.begin(), kernels.end());
  for (const auto& timed : kernels) store(other, timed);
  FittedEstimates first(database_);
  FittedEstimates second(other);
  for (int k = 0; k < 20; ++k) {
    const ops::KernelSpec asked = draw().first;
    EXPECT_EQ(first.at_least(asked)->count(), second.at_least(asked)->count());
  }
}

TEST_F(FittedEstimatesTest, ExpectTheTimesThatSimilarKernelsTook) {
  for (int k = 0; k < 100; ++k) store(database_, draw());
  FittedEstimates estimates(database_);
  double errors = 0;
  for (int k = 0; k < 200; ++k) {
    const auto [spec, time] = draw();
    const auto expected = estimates.expected(spec, Layout::plain);
    ASSERT_TRUE(expected);
    EXPECT_EQ(expected->cost.operands, Layout::plain);
    EXPECT_LT(estimates.at_least(spec)->count(), expected->cost.median.count());
    errors += std::abs(expected->cost.median.count() / time - 1) / 200;
  }
  EXPECT_LT(errors, 0.2);  // a time differs from another one of the kernel by as much
}

TEST_F(FittedEstimatesTest, ExpectTheLayoutsOfTheMostSimilarKernel) {
  const auto convolution = [](std::int64_t channels) {
    const std::string c = std::to_string(channels);
    return kernel("convolution(float32[1," + c + ",8,8], const float32[" + c + "," + c + ",3,3]) -> float32[1," + c +
                  ",8,8] strides=[1,1] pads=[1,1,1,1] dilations=[1,1] groups=[1]");
  };
  const auto store_with = [&](std::int64_t channels, Layout layout) {
    database_.insert({ops::to_string(convolution(channels)), Layout::any},
                     {KernelCost{Nanoseconds{100.0 * static_cast<double>(channels)}, {}, 1, layout, layout}});
  };
  for (std::int64_t channels = 3; channels < 8; ++channels) store_with(channels, Layout::plain);
  FittedEstimates few(database_);
  EXPECT_FALSE(few.expected(convolution(5), Layout::any));
  for (std::int64_t channels = 64; channels < 70; ++channels) store_with(channels, Layout::blocked16);
  FittedEstimates estimates(database_);
  EXPECT_EQ(estimates.expected(convolution(4), Layout::any)->cost.results, Layout::plain);
  EXPECT_EQ(estimates.expected(convolution(72), Layout::any)->cost.results, Layout::blocked16);
  EXPECT_EQ(estimates.expected(convolution(72), Layout::any)->cost.operands, Layout::blocked16);
}

TEST_F(FittedEstimatesTest, KnowNothingOfImagesFromRows) {
  for (int k = 0; k < 12; ++k) {
    const std::string size = std::to_string(64 + k);
    const ops::KernelSpec row = kernel("convolution(float32[1,8," + size + "], const float32[8,8,3]) -> float32[1,8," + size +
                                       "] strides=[1] pads=[1,1] dilations=[1] groups=[1]");
    database_.insert({ops::to_string(row), Layout::plain}, {KernelCost{Nanoseconds{1'000.0 + k}}});
  }
  FittedEstimates estimates(database_);
  EXPECT_TRUE(estimates.expected(kernel("convolution(float32[1,8,70], const float32[8,8,3]) -> float32[1,8,70] strides=[1] pads=[1,1] "
                                        "dilations=[1] groups=[1]"),
                                 Layout::plain));
  EXPECT_FALSE(estimates.expected(kernel("convolution(float32[1,8,1,70], const float32[8,8,1,3]) -> float32[1,8,1,70] strides=[1,1] "
                                         "pads=[0,1,0,1] dilations=[1,1] groups=[1]"),
                                  Layout::plain));
}

TEST_F(FittedEstimatesTest, IgnoreKernelsThatWereRefused) {
  for (int k = 0; k < 8; ++k)
    database_.insert({ops::to_string(draw().first), Layout::plain}, {KernelCost{}, refused("cannot run it here")});
  FittedEstimates estimates(database_);
  EXPECT_FALSE(estimates.at_least(product(64, 64, 64)));
}

}  // namespace
}  // namespace xflow::cost
