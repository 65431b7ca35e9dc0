// Times of kernels that memory bounds, on a GPU without measured kernels.
#include "src/devices/profile/memory_model.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/devices/profile/profile_device.h"
#include "src/devices/profile/roofline_time.h"
#include "src/ops/kernel_text.h"
#include "tests/devices/gpu_profile.h"

namespace xflow::cost::profile {
namespace {

constexpr std::string_view kPlain = "roofline launch 10000\nroofline bandwidth 9e+11\nroofline peak float32 1.4e+13\n";
constexpr std::string_view kGpu = "roofline multiprocessors 80\nroofline cache 6000000\n";
const std::string kAdd = "pointwise/add(float32[8192,8192], float32[8192,8192]) -> float32[8192,8192]";
const std::string kSoftmaxKernel = "softmax(float32[8192,8192]) -> float32[8192,8192] axis=[1]";

Roofline roofline(std::string_view more = kGpu) { return testing::gpu_profile(std::string(kPlain) + std::string(more)).roofline; }
ops::KernelSpec spec_of_kernel(const std::string& text) { return ops::parse_kernel(text).value(); }

TEST(MemoryModel, HasSharesOfTheBandwidthThatClassesOfKernelsReach) {
  const auto ratio = [](const std::string& text) {
    const ops::KernelSpec spec = spec_of_kernel(text);
    return memory_bound_time(roofline(), spec).value().count() / roofline_time(roofline(), spec).value().count();
  };
  EXPECT_NEAR(ratio(kAdd), 1.3, 0.02);
  EXPECT_NEAR(ratio(kSoftmaxKernel), 1.59, 0.03);
  EXPECT_NEAR(
      ratio(
          "normalization:layer(float32[8192,8192], const float32[8192], const float32[8192]) -> float32[8192,8192] axes=[1] epsilon=1e-05"),
      1.91, 0.03);
}

TEST(MemoryModel, IsTheLaunchWhereNothingIsMoved) {
  const ops::KernelSpec small = spec_of_kernel("pointwise/relu(float32[4]) -> float32[4]");
  EXPECT_NEAR(memory_bound_time(roofline(), small).value().count(), 10000, 1);
}

TEST(MemoryModel, PricesWhatItKnowsOfGpusAlone) {
  for (const std::string other :
       {"matmul(float32[64,64], const float32[64,64]) -> float32[64,64]", "sort(float32[64]) -> float32[64] axis=[0]"})
    EXPECT_FALSE(memory_bound_time(roofline(), spec_of_kernel(other))) << other;
  EXPECT_FALSE(memory_bound_time(roofline(""), spec_of_kernel(kAdd)));
  EXPECT_FALSE(memory_bound_time(Roofline(), spec_of_kernel(kAdd)));
  // So does a device; a profile of another one keeps its roofline.
  for (const std::string& text : {kAdd, kSoftmaxKernel}) {
    const ops::KernelSpec spec = spec_of_kernel(text);
    ProfileDevice gpu(testing::gpu_profile(std::string(kPlain) + std::string(kGpu)));
    ProfileDevice other(testing::gpu_profile(std::string(kPlain)));
    EXPECT_EQ(gpu.measure(spec, Layout::plain).value().median, *memory_bound_time(roofline(), spec));
    EXPECT_EQ(other.measure(spec, Layout::plain).value().median, *roofline_time(roofline(), spec));
    EXPECT_NEAR(gpu.error_of(spec, Layout::plain).deviation, 0.2, 1e-9);
    EXPECT_NEAR(other.error_of(spec, Layout::plain).deviation, 0.6, 1e-9);
  }
}

}  // namespace
}  // namespace xflow::cost::profile
