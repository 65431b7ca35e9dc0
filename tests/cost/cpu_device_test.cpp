// This CPU as a device: layouts, threads, refusals.
#include "src/cost/cpu/sequence.h"
#include "tests/cost/cpu_kernels.h"

namespace xflow::cost::cpu {
namespace {

// Timing. -------------------------------------------------------------------------------------------------------------------------------

TEST(CpuDevice, MeasuresAndSaysWhichLayoutItChose) {
  const auto cost = device().measure(convolutions()[1].spec("convolution"), Layout::any);
  ASSERT_TRUE(cost) << cost.error().text();
  EXPECT_GT(cost->median.value, 0);
  EXPECT_GE(cost->spread.value, 0);
  EXPECT_GE(cost->repeats, 3);
  EXPECT_NE(cost->results, Layout::any);
  EXPECT_EQ(device().info().name, "cpu");
}

TEST(CpuDevice, ReordersOfEqualBytesAreFree) {
  EXPECT_EQ(device().measure(reorder_spec(tensor({1, 32, 1, 1}), Layout::channels_last, Layout::plain), Layout::any)->median.value, 0);
  EXPECT_EQ(device().measure(reorder_spec(tensor({1, 1, 8, 8}), Layout::channels_last, Layout::plain), Layout::any)->median.value, 0);
  EXPECT_EQ(device().measure(reorder_spec(tensor({1, 32, 1, 1}), Layout::blocked16, Layout::plain), Layout::any)->median.value, 0);
  EXPECT_GT(device().measure(reorder_spec(tensor({1, 24, 1, 1}), Layout::blocked16, Layout::plain), Layout::any)->median.value, 0);
  EXPECT_GT(device().measure(reorder_spec(tensor({1, 32, 8, 8}), Layout::channels_last, Layout::plain), Layout::any)->median.value, 0);
}

TEST(CpuDevice, TimesWithSeveralThreads) {
  const auto two = open_cpu_device({.threads = 2, .timing = {}});
  ASSERT_TRUE(two) << two.error().text();
  EXPECT_EQ((*two)->info().threads, 2);
  EXPECT_EQ((*two)->info().clock, "wall time");
  EXPECT_GT((*two)->measure(convolutions()[1].spec("convolution"), Layout::any)->median.value, 0);
}

TEST(CpuDevice, NothingToComputeCostsNothing) {
  EXPECT_EQ(device().measure(pointwise("exp", {tensor({4, 0})}, {4, 0}), Layout::plain)->median.value, 0);
}

TEST(CpuDevice, RefusesKernelsThatDoNotFitInMemory) {
  const Dims huge = {1 << 20, 1 << 20};
  const auto cost = device().measure(pointwise("exp", {tensor(huge)}, huge), Layout::plain);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().message,
            "cannot run pointwise/exp(float32[1048576,1048576]) -> float32[1048576,1048576] here: it needs 16384 GiB");
}

TEST(CpuDevice, RefusesZeroThreads) {
  const auto device = open_cpu_device({.threads = 0, .timing = {}});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message, "expected at least 1 thread, found 0");
}

TEST(CpuSequence, RunsTheLaunchesOfACoverInOrder) {
  const Convolution c{.x = {1, 16, 8, 8}, .w = {16, 16, 1, 1}, .y = {1, 16, 8, 8}};
  KernelSpec convolution = c.spec("convolution");
  convolution.post = {{"add", {}, {tensor({1, 16, 1, 1}, true)}}, {"add", {}, {tensor(c.y)}}, {"relu", {}, {}}};
  const KernelSpec reorder = reorder_spec(tensor(c.x), Layout::plain, Layout::channels_last);
  const std::vector<LaunchSpec> launches = {{reorder, Layout::plain}, {convolution, Layout::channels_last}};
  auto sequence = Sequence::build(device(), launches);
  ASSERT_TRUE(sequence) << sequence.error().text();
  for (int run = 0; run < 2; ++run) {
    const std::vector<Nanoseconds> times = sequence->run();
    ASSERT_EQ(times.size(), 2U);
    for (const Nanoseconds time : times) EXPECT_GT(time.value, 0);
  }
  const auto refused = Sequence::build(device(), launches, 1000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the buffers of 2 launches take more than 0.0 GB");
  KernelSpec unknown = reorder;
  unknown.kernel = "frobnicate";
  EXPECT_FALSE(Sequence::build(device(), {{unknown, Layout::plain}}));
}

}  // namespace
}  // namespace xflow::cost::cpu
