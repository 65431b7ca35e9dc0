// This CPU as a device: layouts, threads, refusals.
#include "tests/devices/cpu_kernels.h"

namespace xflow::cost::cpu {
namespace {

// Timing. -------------------------------------------------------------------------------------------------------------------------------

TEST(CpuDevice, MeasuresAndSaysWhichLayoutItChose) {
  const auto cost = device().measure(convolutions()[1].spec("convolution"), Layout::any);
  ASSERT_TRUE(cost) << cost.error().text();
  EXPECT_GT(cost->median.count(), 0);
  EXPECT_GE(cost->spread.count(), 0);
  EXPECT_GE(cost->repeats, 3);
  EXPECT_NE(cost->results, Layout::any);
  EXPECT_EQ(device().info().name, "cpu");
}

TEST(CpuDevice, ReordersOfEqualBytesAreFree) {
  EXPECT_EQ(device().measure(reorder_spec(tensor({1, 32, 1, 1}), Layout::channels_last, Layout::plain), Layout::any)->median.count(), 0);
  EXPECT_EQ(device().measure(reorder_spec(tensor({1, 1, 8, 8}), Layout::channels_last, Layout::plain), Layout::any)->median.count(), 0);
  EXPECT_EQ(device().measure(reorder_spec(tensor({1, 32, 1, 1}), Layout::blocked16, Layout::plain), Layout::any)->median.count(), 0);
  EXPECT_GT(device().measure(reorder_spec(tensor({1, 24, 1, 1}), Layout::blocked16, Layout::plain), Layout::any)->median.count(), 0);
  EXPECT_GT(device().measure(reorder_spec(tensor({1, 32, 8, 8}), Layout::channels_last, Layout::plain), Layout::any)->median.count(), 0);
}

TEST(CpuDevice, TimesWithSeveralThreads) {
  const auto two = open_cpu_device({.threads = 2, .timing = {}});
  ASSERT_TRUE(two) << two.error().text();
  EXPECT_EQ((*two)->info().threads, 2);
  EXPECT_EQ((*two)->info().clock, "wall time");
  EXPECT_GT((*two)->measure(convolutions()[1].spec("convolution"), Layout::any)->median.count(), 0);
}

TEST(CpuDevice, NothingToComputeCostsNothing) {
  EXPECT_EQ(device().measure(pointwise("exp", {tensor({4, 0})}, {4, 0}), Layout::plain)->median.count(), 0);
}

TEST(CpuDevice, RefusesKernelsThatDoNotFitInMemory) {
  const Dims huge = {1 << 20, 1 << 20};
  const auto cost = device().measure(pointwise("exp", {tensor(huge)}, huge), Layout::plain);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().message,
            "cannot run pointwise/exp(float32[1048576,1048576]) -> float32[1048576,1048576] here: it needs 16384 GiB");
}

TEST(CpuDevice, SaysWhatRanBetweenLaunches) {
  CpuOptions options;
  options.cache_footprint = std::size_t{4} << 20U;
  const auto cold = open_cpu_device(options).value();
  EXPECT_EQ(cold->info().library, device().info().library + ", 4 MiB between launches");
  EXPECT_EQ(cold->info().model, device().info().model);
  for (const ops::KernelSpec& spec : {convolutions()[1].spec("convolution"), pointwise("exp", {tensor({4, 64})}, {4, 64})}) {
    const auto cost = cold->measure(spec, cold->chooses_layout(spec) ? Layout::any : Layout::plain);
    ASSERT_TRUE(cost) << cost.error().text();
    EXPECT_GT(cost->median.count(), 0);
  }
}

TEST(CpuDevice, RefusesZeroThreads) {
  const auto device = open_cpu_device({.threads = 0, .timing = {}});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message, "expected at least 1 thread, found 0");
}

}  // namespace
}  // namespace xflow::cost::cpu
