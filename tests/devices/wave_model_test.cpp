// Times of products and convolutions on a GPU, by waves of tiles.
#include "src/devices/profile/wave_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/devices/profile/calibration.h"
#include "src/devices/profile/profile_device.h"
#include "src/devices/profile/roofline_time.h"
#include "src/ops/kernel_text.h"
#include "tests/devices/gpu_profile.h"

namespace xflow::cost::profile {
namespace {

using testing::gpu_profile;

constexpr std::string_view kGpuRoofline = "roofline launch 20000\nroofline bandwidth 9e+11\nroofline peak float32 1.4e+13\n";
constexpr std::string_view kGpu = "roofline multiprocessors 80\nroofline cache 6000000\n";
const GpuSizes kSizes{9e11, 1.4e13, 80, 6e6};

struct Product {
  int batch, m, n, k;
};

std::string text_of(const Product& p) {
  return fmt::format("matmul(float32[{0},{1},{3}], float32[{0},{3},{2}]) -> float32[{0},{1},{2}]", p.batch, p.m, p.n, p.k);
}
ops::KernelSpec spec_of_product(const Product& p) { return ops::parse_kernel(text_of(p)).value(); }

// Nanoseconds on a GPU of 80 multiprocessors that multiplies tiles of 128 by 8, six on each multiprocessor at
// a time, at 0.8 of the peak, and has 0.7 of the bandwidth.
double true_nanoseconds(const Product& p) {
  const auto up = [](int size, int tile) { return std::ceil(static_cast<double>(size) / tile); };
  const double waves = std::ceil(p.batch * up(p.m, 128) * up(p.n, 8) / 480);
  const double arithmetic = waves * 480 * 2 * 128 * 8 * (p.k + 20) / (0.8 * 1.4e13);
  const double bytes = 4.0 * p.batch * (static_cast<double>(p.m) * p.k + static_cast<double>(p.k) * p.n + static_cast<double>(p.m) * p.n);
  return 1e9 * (20e-6 + std::max(arithmetic, bytes / (0.7 * 9e11)));
}

std::vector<Product> random_products(unsigned seed, std::size_t count) {
  std::mt19937 random(seed);
  const auto size = [&](double least, double most) {
    const double part = static_cast<double>(random()) / 4294967296.0;
    return static_cast<int>(least * std::pow(most / least, part));
  };
  std::vector<Product> products(count);
  for (Product& p : products) {
    p.batch = size(4, 256);
    p.m = size(16, 1024);
    p.n = size(16, 1024);
    p.k = size(16, 1024);
  }
  return products;
}

std::string lines_of(const std::vector<Product>& products) {
  std::string lines;
  for (const Product& p : products) lines += fmt::format("kernel plain plain plain {} 0 1 0 1 {}\n", true_nanoseconds(p), text_of(p));
  return lines;
}

// The mean of |predicted / true - 1| of a device.
double mean_error(ProfileDevice& device, const std::vector<Product>& products) {
  double sum = 0;
  for (const Product& p : products)
    sum += std::abs(device.measure(spec_of_product(p), Layout::plain).value().median.count() / true_nanoseconds(p) - 1);
  return sum / static_cast<double>(products.size());
}

TEST(WaveModel, PredictsProductsThatItWasNotFittedOn) {
  const std::string lines = lines_of(random_products(1, 500));
  const std::vector<Product> others = random_products(2, 200);
  ProfileDevice waves(gpu_profile(std::string(kGpuRoofline) + std::string(kGpu) + lines));
  ProfileDevice sum(gpu_profile(std::string(kGpuRoofline) + lines));
  ProfileDevice roofline(gpu_profile(std::string(kGpuRoofline)));
  const double error = mean_error(waves, others);
  EXPECT_LT(error, 0.12);
  EXPECT_LT(error, 0.7 * mean_error(sum, others));
  EXPECT_LT(error, 0.5 * mean_error(roofline, others));
  ProfileDevice same(gpu_profile(std::string(kGpuRoofline) + std::string(kGpu) + lines));
  EXPECT_EQ(error, mean_error(same, others));
}

TEST(WaveModel, NeedsAllSizesOfTheGpuAndEnoughKernels) {
  const std::vector<Product> others = random_products(2, 50);
  const auto error_with = [&](const std::string& sizes, std::size_t kernels) {
    ProfileDevice device(gpu_profile(std::string(kGpuRoofline) + sizes + lines_of(random_products(1, kernels))));
    return mean_error(device, others);
  };
  const double sum = error_with("", 100);
  EXPECT_EQ(error_with("roofline multiprocessors 80\n", 100), sum);
  EXPECT_EQ(error_with("roofline cache 6000000\n", 100), sum);
  EXPECT_NE(error_with(std::string(kGpu), 100), sum);
  EXPECT_EQ(error_with(std::string(kGpu), WaveModel::kLeast - 1), error_with("", WaveModel::kLeast - 1));
}

// The roofline prices other types of products, and other kernels.
TEST(WaveModel, PricesProductsOfAGpuWithoutMeasuredKernels) {
  const std::string rest = "roofline peak float16 1.1e+14\nroofline peak bfloat16 1.1e+14\n";
  ProfileDevice waves(gpu_profile(std::string(kGpuRoofline) + std::string(kGpu) + rest));
  ProfileDevice roofline(gpu_profile(std::string(kGpuRoofline) + rest));
  const auto times = [&](const std::string& text) {
    const ops::KernelSpec spec = ops::parse_kernel(text).value();
    return std::pair(waves.measure(spec, Layout::plain).value().median.count(),
                     roofline.measure(spec, Layout::plain).value().median.count());
  };
  for (const std::string text :
       {"matmul(float32[4096,4096], const float32[4096,4096]) -> float32[4096,4096]",
        "matmul(float32[64,1024,512], float32[64,512,1024]) -> float32[64,1024,1024]",
        "matmul(bfloat16[4096,4096], const bfloat16[4096,4096]) -> bfloat16[4096,4096]",
        "convolution(float32[32,256,32,32], const float32[256,256,5,5]) -> float32[32,256,32,32] pads=[2,2,2,2]"}) {
    const auto [wave, peak] = times(text);
    EXPECT_GT(wave, 0.7 * peak) << text;
    EXPECT_LT(wave, 2 * peak) << text;
    EXPECT_NE(wave, peak) << text;
  }
  // Winograd's algorithm computes less than the peak of the roofline counts.
  const auto [wave, peak] = times("convolution(float32[32,256,32,32], const float32[256,256,3,3]) -> float32[32,256,32,32] pads=[1,1,1,1]");
  EXPECT_GT(wave, 0.4 * peak);
  EXPECT_LT(wave, 0.9 * peak);
  // A product of one row has one wave, however few columns it has.
  EXPECT_GT(times("matmul(float32[1,4096], const float32[4096,8]) -> float32[1,8]").first, 20000);
  for (const std::string text :
       {"matmul(float16[64,64], const float16[64,64]) -> float16[64,64]",
        "matmul(bfloat16[8,64,64], bfloat16[8,64,64]) -> bfloat16[8,64,64]", "sort(float32[64,64]) -> float32[64,64] axis=[1]"})
    EXPECT_EQ(times(text).first, times(text).second) << text;
}

TEST(WaveModel, IsFiniteForTheSmallestAndTheLargestShapes) {
  std::vector<TimedShape> samples;
  for (const Product& p : random_products(1, 100))
    samples.push_back({product_shape_of(spec_of_product(p)).value(), 1e-9 * true_nanoseconds(p)});
  const WaveModel model(samples, kSizes);
  double before = 0;
  for (const int size : {1, 10, 100, 1000, 10000, 100000}) {
    const double time = model.time_of(product_shape_of(spec_of_product({1, size, size, size})).value());
    EXPECT_TRUE(std::isfinite(time)) << size;
    EXPECT_GE(time, before) << size;
    before = time;
  }
}

std::string convolution(int images, int channels, int size, int kernels, const std::string& attributes = "") {
  return fmt::format("convolution(float32[{0},{1},{2},{2}], const float32[{3},{1},3,3]) -> float32[{0},{3},{2},{2}] pads=[1,1,1,1]{4}",
                     images, channels, size, kernels, attributes);
}

// A GPU that runs all convolutions by Winograd's algorithm, and one that runs none.
TEST(WaveModel, TakesTheQuickerAlgorithmOfAConvolution) {
  const auto product_time = [](const ProductShape& s) { return 20e-6 + 2 * s.rows * s.columns * s.inner / (0.8 * 1.4e13); };
  const auto winograd_time = [](const ProductShape& s) {
    const double elements = 36 * (s.winograd->tiles * (s.winograd->channels + s.columns) + s.winograd->channels * s.columns);
    return 60e-6 + 2 * 36 * s.winograd->tiles * s.columns * s.winograd->channels / (0.6 * 1.4e13) + elements * 4 / (0.7 * 9e11);
  };
  const auto random_shapes = [](unsigned seed, std::size_t count) {
    std::vector<ProductShape> shapes;
    for (const Product& p : random_products(seed, count))
      shapes.push_back(product_shape_of(ops::parse_kernel(convolution(p.batch, p.m, 4 + p.k % 50, p.n)).value()).value());
    return shapes;
  };
  for (const bool by_winograd : {false, true}) {
    std::vector<TimedShape> samples;
    const auto time = [&](const ProductShape& s) { return by_winograd ? std::min(winograd_time(s), product_time(s)) : product_time(s); };
    for (const ProductShape& shape : random_shapes(1, 300)) samples.push_back({shape, time(shape)});
    const WaveModel with(samples, kSizes);
    for (TimedShape& sample : samples) sample.shape.winograd.reset();
    const WaveModel without(samples, kSizes);
    double error_with = 0;
    double error_without = 0;
    const std::vector<ProductShape> others = random_shapes(2, 100);
    for (ProductShape shape : others) {
      const double measured = time(shape);
      error_with += std::abs(with.time_of(shape) / measured - 1) / 100;
      shape.winograd.reset();
      error_without += std::abs(without.time_of(shape) / measured - 1) / 100;
    }
    EXPECT_LT(error_with, 0.1) << by_winograd;
    EXPECT_LT(error_with, (by_winograd ? 0.6 : 1.1) * error_without) << by_winograd;
  }
}

TEST(ProductShape, HasTheTilesOfWinogradsAlgorithmWhereItIsKnown) {
  const auto shape_of = [](const std::string& text) { return product_shape_of(ops::parse_kernel(text).value()).value(); };
  const ProductShape shape = shape_of(convolution(2, 3, 9, 5));
  ASSERT_TRUE(shape.winograd);
  EXPECT_EQ(shape.winograd->tiles, 2 * 3 * 3);
  EXPECT_EQ(shape.winograd->channels, 3);
  EXPECT_TRUE(shape_of(convolution(2, 3, 9, 5, " strides=[1,1] dilations=[1,1]")).winograd);
  for (const std::string other :
       {"convolution(float32[2,3,9,9], const float32[5,3,3,3]) -> float32[2,5,4,4] strides=[2,2]",
        "convolution(float32[2,3,9,9], const float32[5,3,3,3]) -> float32[2,5,5,5] dilations=[2,2]",
        "convolution(float32[2,3,9,9], const float32[5,3,5,5]) -> float32[2,5,5,5]",
        "convolution(float32[2,3,9], const float32[5,3,3]) -> float32[2,5,7]", "matmul(float32[3,3], const float32[3,3]) -> float32[3,3]"})
    EXPECT_FALSE(shape_of(other).winograd) << other;
}

TEST(ProductShape, IsThatOfTheLibraryCall) {
  const auto shape_of = [](const std::string& text) { return product_shape_of(ops::parse_kernel(text).value()); };
  const auto batched = shape_of("matmul(float32[2,3,5,7], float32[2,3,7,11]) -> float32[2,3,5,11]");
  ASSERT_TRUE(batched);
  EXPECT_EQ(batched->batches, 6);
  EXPECT_EQ(batched->rows, 5);
  EXPECT_EQ(batched->columns, 11);
  EXPECT_EQ(batched->inner, 7);
  EXPECT_EQ(batched->kind, ProductKind::batched);
  EXPECT_EQ(batched->read, 4.0 * 6 * (5 * 7 + 7 * 11));
  EXPECT_EQ(batched->written, 4.0 * 6 * 5 * 11);
  // All batches share the weight: the product has the rows of all.
  const auto shared = shape_of("matmul(float16[2,3,5,7], const float16[7,11]) -> float16[2,3,5,11] | add(const float16[11])");
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->batches, 1);
  EXPECT_EQ(shared->rows, 30);
  EXPECT_EQ(shared->kind, ProductKind::shared);
  EXPECT_EQ(shared->element, 2);
  EXPECT_EQ(shared->read, 2.0 * (30 * 7 + 7 * 11 + 11));
  const auto convolution = shape_of("convolution(float32[2,3,8,8], const float32[4,3,3,3]) -> float32[2,4,6,6] groups=[1]");
  ASSERT_TRUE(convolution);
  EXPECT_EQ(convolution->kind, ProductKind::convolution);
  EXPECT_EQ(convolution->batches, 1);
  EXPECT_EQ(convolution->rows, 2 * 6 * 6);
  EXPECT_EQ(convolution->columns, 4);
  EXPECT_EQ(convolution->inner, 27);
  for (const std::string other : {"convolution(float32[2,4,8,8], const float32[4,2,3,3]) -> float32[2,4,6,6] groups=[2]",
                                  "convolution(float32[2,3,8,8], const float32[4,3,1,1]) -> float32[2,4,8,8] groups=[1]",
                                  "softmax(float32[2,3]) -> float32[2,3] axis=[1]", "matmul(float32[3], float32[3]) -> float32[]",
                                  "matmul(float32[2,0], float32[0,3]) -> float32[2,3]"})
    EXPECT_FALSE(shape_of(other)) << other;
}

}  // namespace
}  // namespace xflow::cost::profile
