// The roofline of a GPU from what its driver says, against data sheets.
#include "src/devices/gpu_roofline.h"

#include <gtest/gtest.h>

#include "src/devices/profile/profile_device.h"
#include "src/ops/kernel_text.h"
#include "tests/devices/host_gpu.h"

namespace xflow::cost {
namespace {

constexpr double kTera = 1e12;

// NVIDIA A100 40 GB: 108 multiprocessors at 1.41 GHz, memory at 1215 MHz on 5120 bits.
constexpr gpu::Gpu::Sheet kA100{80, 108, 1.41e9, 2 * 1.215e9 * 640};
constexpr std::size_t kA100Cache = 40U << 20U;

struct Known {
  gpu::Gpu::Sheet sheet;
  double float32;  // of the data sheet, operations a second
  double float16;
};

TEST(GpuRoofline, HasThePeaksOfDataSheets) {
  const std::array known = {Known{kA100, 19.5 * kTera, 312 * kTera},
                            Known{{70, 80, 1.53e9, 900e9}, 15.7 * kTera, 125 * kTera},    // V100
                            Known{{75, 40, 1.59e9, 320e9}, 8.1 * kTera, 65 * kTera},      // T4
                            Known{{86, 84, 1.74e9, 696e9}, 37.4 * kTera, 149.7 * kTera},  // A40
                            Known{{89, 142, 2.52e9, 864e9}, 91.6 * kTera, 362 * kTera},   // L40S
                            Known{{90, 132, 1.83e9, 3352e9}, 62 * kTera, 989 * kTera}};   // H100
  for (const Known& gpu : known) {
    const auto roofline = roofline_of(gpu.sheet, 0, Nanoseconds{2'000});
    ASSERT_TRUE(roofline) << gpu.sheet.capability;
    EXPECT_NEAR(roofline->peak.at(ir::DataType::float32) / gpu.float32, 1, 0.03) << gpu.sheet.capability;
    EXPECT_NEAR(roofline->peak.at(ir::DataType::float16) / gpu.float16, 1, 0.03) << gpu.sheet.capability;
    EXPECT_EQ(roofline->peak.contains(ir::DataType::bfloat16), gpu.sheet.capability >= 80);
    EXPECT_EQ(roofline->multiprocessors, gpu.sheet.multiprocessors);
  }
  const auto roofline = roofline_of(kA100, kA100Cache, Nanoseconds{2'000});
  EXPECT_NEAR(roofline->bandwidth, 1'555e9, 1e9);
  EXPECT_EQ(roofline->cache, 40.0 * (1U << 20U));
  EXPECT_EQ(roofline->launch.count(), 2'000);
}

TEST(GpuRoofline, IsUnknownWhereTheDriverOrTheTableSaysNothing) {
  EXPECT_FALSE(roofline_of({}, kA100Cache, Nanoseconds{1}));
  for (const int capability : {0, 52, 130}) EXPECT_FALSE(roofline_of({capability, 108, 1.41e9, 1.5e12}, kA100Cache, Nanoseconds{1}));
  EXPECT_FALSE(roofline_of({80, 0, 1.41e9, 1.5e12}, kA100Cache, Nanoseconds{1}));
  EXPECT_FALSE(roofline_of({80, 108, 0, 1.5e12}, kA100Cache, Nanoseconds{1}));
  EXPECT_FALSE(roofline_of({80, 108, 1.41e9, 0}, kA100Cache, Nanoseconds{1}));
}

TEST(GpuRoofline, IsThatOfAProfileThatWasRecordedThere) {
  testing::HostGpu gpu;
  profile::Profile profile;
  const auto record = [&](const char* kernel, double time, Acceptance ran) {
    profile.kernels[{ops::to_string(ops::parse_kernel(kernel).value()), Layout::plain}] = {KernelCost{Nanoseconds{time}}, std::move(ran)};
  };
  add_roofline(profile, gpu);
  EXPECT_FALSE(profile.roofline.given());  // nothing was recorded
  record("pointwise/exp(float32[64]) -> float32[64]", 2'500, accepted());
  record("pointwise/exp(float32[6400]) -> float32[6400]", 2'700, accepted());
  record("pointwise/exp(float32[640]) -> float32[640]", 0, refused("cannot run it here"));
  add_roofline(profile, gpu);
  EXPECT_FALSE(profile.roofline.given());  // the driver says nothing
  gpu.given_sheet = kA100;
  add_roofline(profile, gpu);
  ASSERT_TRUE(profile.roofline.given());
  EXPECT_EQ(profile.roofline.launch.count(), 2'500);
  // Its products are modelled by waves, as those of published tables.
  profile::ProfileDevice device(profile);
  const ops::KernelSpec product = ops::parse_kernel("matmul(float32[4096,4096], const float32[4096,4096]) -> float32[4096,4096]").value();
  const double time = device.measure(product, Layout::plain)->median.count();
  EXPECT_GT(time, 2e9 * 4096 * 4096 * 4096 / (19.5 * kTera));
  EXPECT_LT(time, 2 * 2e9 * 4096 * 4096 * 4096 / (19.5 * kTera));
}

}  // namespace
}  // namespace xflow::cost
