// Kernels that no launch of which can be ended are refused where they cannot be timed in the time that is left, and no others.
#include "src/kernels/small_kernel.h"

#include <fmt/format.h>

#include "src/kernels/kernel_graph.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"
#include "tests/devices/cpu_kernels.h"
#include "tests/kernels/kernel_cases.h"

namespace xflow::cost::cpu {
namespace {

KernelSpec product(Dims a, Dims b, Dims result, DataType type = DataType::float32) {
  KernelSpec spec = ops::kernel_named("matmul");
  spec.operands = {{type, std::move(a), false}, {type, std::move(b), false}};
  spec.results = {{type, std::move(result), false}};
  return spec;
}

KernelSpec square(std::int64_t size, DataType type = DataType::float32) { return product({size, size}, {size, size}, {size, size}, type); }

std::vector<KernelSpec> large() {
  std::vector<KernelSpec> specs = {
      square(2048),
      square(1300, DataType::float64),
      square(1300, DataType::int32),
      product({64, 512, 512}, {512, 512}, {64, 512, 512}),
      product({64, 512, 512}, {64, 512, 512}, {64, 512, 512}),
      Convolution{.x = {4, 256, 64, 64}, .w = {256, 256, 3, 3}, .y = {4, 256, 64, 64}, .begins = {1, 1}, .ends = {1, 1}}.spec(
          "convolution"),
      Convolution{.x = {8, 512, 256, 256},
                  .w = {512, 1, 7, 7},
                  .y = {8, 512, 128, 128},
                  .groups = 512,
                  .strides = {2, 2},
                  .begins = {3, 3},
                  .ends = {2, 2}}
          .spec("convolution"),
      Convolution{.x = {4, 256, 64, 64}, .w = {256, 256, 2, 2}, .y = {4, 256, 128, 128}, .strides = {2, 2}}.spec("transposed_convolution"),
  };
  specs.back().integers.emplace_back("output_padding", Dims{0, 0});
  KernelSpec pool = ops::kernel_named("pool_average");
  pool.operands = {tensor({4, 200, 256, 256})};
  pool.results = {tensor({4, 200, 256, 256})};
  pool.integers = {
      {"kernel", {31, 31}}, {"strides", {1, 1}}, {"pads", {15, 15, 15, 15}}, {"dilations", {1, 1}}, {"count_include_pad", {1}}};
  specs.push_back(pool);
  return specs;
}

TEST(SmallKernel, IsAKernelOfTheSameKindThatTakesAMoment) {
  for (const KernelSpec& spec : large()) {
    SCOPED_TRACE(ops::to_string(spec));
    EXPECT_TRUE(check_shapes(spec));
    for (const int threads : {1, 4}) {
      const auto small = small_kernel_of(spec, threads);
      ASSERT_TRUE(small);
      EXPECT_EQ(small->spec.family, spec.family);
      EXPECT_EQ(small->spec.function, spec.function);
      const auto sound = check_shapes(small->spec);
      EXPECT_TRUE(sound) << sound.error().text();
      EXPECT_GT(small->operations, 2e9);
      EXPECT_LT(small->share * small->operations, threads * 5e8);
      EXPECT_GT(small->share * small->operations, 1e6);
    }
  }
}

TEST(SmallKernel, CountsOperations) {
  EXPECT_EQ(small_kernel_of(square(1024))->operations, std::pow(1024.0, 3));
  EXPECT_EQ(small_kernel_of(product({8, 2, 3}, {3, 5}, {8, 2, 5}))->operations, 8 * 2 * 3 * 5);
  EXPECT_EQ(small_kernel_of(product({3}, {3, 5}, {5}))->operations, 3 * 5);
  const Convolution grouped{.x = {2, 8, 6, 6}, .w = {4, 2, 3, 3}, .y = {2, 4, 4, 4}, .groups = 4};
  EXPECT_EQ(small_kernel_of(grouped.spec("convolution"))->operations, 2 * 4 * 4 * 4 * (2 * 3 * 3));
}

TEST(SmallKernel, OfASmallKernelIsTheKernel) {
  for (const testing::KernelCase& kernel : testing::operator_cases()) {
    const auto small = small_kernel_of(kernel.spec);
    if (!small) continue;
    const auto sound = check_shapes(small->spec);
    EXPECT_TRUE(sound) << ops::to_string(kernel.spec) << ": " << sound.error().text();
    EXPECT_LE(small->share, 1) << ops::to_string(kernel.spec);
  }
  EXPECT_EQ(small_kernel_of(square(8))->spec, square(8));
  EXPECT_EQ(small_kernel_of(product({3}, {3, 5}, {5}))->spec, product({3}, {3, 5}, {5}));
  EXPECT_EQ(small_kernel_of(product({4000, 2000}, {2000}, {4000}))->spec, product({256, 1024}, {1024}, {256}));
}

TEST(LongKernels, AreRefusedWithoutALaunch) {
  const auto device = open_cpu_device().value();
  device->set_seconds_left([] { return 0.5; });
  const std::vector<KernelSpec> specs = {
      square(1 << 14), square(1 << 13, DataType::float64),
      Convolution{.x = {1, 4096, 64, 64}, .w = {4096, 4096, 5, 5}, .y = {1, 4096, 60, 60}}.spec("convolution")};
  for (const KernelSpec& spec : specs) {
    const auto cost = device->measure(spec, device->chooses_layout(spec) ? Layout::any : Layout::plain);
    ASSERT_FALSE(cost);
    EXPECT_EQ(cost.error().code, ErrorCode::limit) << "it is not remembered";
    const std::string begin = fmt::format("cannot run {} here: timing it takes at least ", ops::to_string(spec));
    EXPECT_EQ(cost.error().message.substr(0, begin.size()), begin);
    EXPECT_TRUE(cost.error().message.ends_with(" s, and 0.5 s are left")) << cost.error().message;
  }
}

TEST(LongKernels, AreTimedWhereThereIsTime) {
  const auto device = open_cpu_device().value();
  for (const bool bounded : {false, true}) {
    if (bounded) device->set_seconds_left([] { return 1e6; });
    EXPECT_TRUE(device->measure(square(1300), Layout::plain));
  }
}

// The bound is one: no kernel is quicker.
TEST(LongKernels, TakeAtLeastTheTimeThatTheirSmallKernelSays) {
  const auto device = open_cpu_device().value();
  device->set_seconds_left([] { return 1e6; });
  std::size_t seen = 0;
  for (const KernelSpec& spec : large()) {
    if (small_kernel_of(spec)->operations > 1e10) continue;
    SCOPED_TRACE(ops::to_string(spec));
    const Layout layout = device->chooses_layout(spec) ? Layout::any : Layout::plain;
    const auto kernels = device->build(spec, layout);
    ASSERT_TRUE(kernels);
    double quickest = 1e30;
    for (const auto& kernel : *kernels) {
      const Clocks begin = now();
      kernel->run();
      quickest = std::min(quickest, (now().thread - begin.thread).count());
    }
    const double least = device->least_time(spec, layout).count();
    EXPECT_LE(least, quickest);
    EXPECT_GE(least, 0.02 * quickest) << "a bound that says next to nothing";
    ++seen;
  }
  EXPECT_GE(seen, 5U);
}

TEST(LongKernels, OfOursEndInALaunch) {
  const std::vector<KernelSpec> specs = {square(1 << 12, DataType::int64), [] {
                                           KernelSpec spec = square(1 << 12, DataType::uint8);
                                           spec.family = ops::KernelFamily::other;
                                           spec.function.op = ops::Op::MatmulInteger;
                                           spec.operands[0].dims = spec.results[0].dims = {1 << 12, 1 << 12};
                                           spec.results[0].data_type = DataType::int32;
                                           return spec;
                                         }()};
  for (const KernelSpec& spec : specs) {
    SCOPED_TRACE(ops::to_string(spec));
    auto kernels = device().build(spec, Layout::plain);
    ASSERT_TRUE(kernels) << kernels.error().text();
    int asked = 0;
    const std::function<bool()> stop = [&] { return ++asked == 3; };
    for (const auto& kernel : *kernels) {
      asked = 0;
      kernel->stop_when(stop);
      kernel->run();
      EXPECT_EQ(asked, 3);
      EXPECT_TRUE(kernel->was_stopped());
    }
  }
}

}  // namespace
}  // namespace xflow::cost::cpu
