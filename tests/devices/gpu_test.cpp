// Devices and programs on a GPU that is this CPU.
#include <gtest/gtest.h>

#include "src/cost/cost_model.h"
#include "src/cost/kernel_costs.h"
#include "src/devices/device_costs.h"
#include "src/devices/gpu/gpu_device.h"
#include "src/devices/gpu/gpu_program.h"
#include "tests/devices/expect_outputs.h"
#include "tests/devices/host_gpu.h"
#include "tests/kernels/graph_test.h"
#include "tests/ops/made_kernel.h"

namespace xflow::cost::gpu {
namespace {

using ir::DataType;
using ir::Poly;
using ir::ValueId;
using ops::KernelSpec;
using ops::TensorSpec;
using xflow::testing::HostGpu;
using xflow::testing::graphs::list;

TensorSpec tensor(std::vector<std::int64_t> dims, DataType type = DataType::float32, bool constant = false) {
  return {type, std::move(dims), constant};
}

KernelSpec product() {
  return ops::made_kernel("matmul", "", {tensor({8, 16}), tensor({16, 8}, DataType::float32, true)}, {tensor({8, 8})});
}

TEST(GpuDevice, TimesTheQuickestWay) {
  HostGpu gpu;
  gpu.computes = false;
  gpu.ways_of_products = 3;
  GpuDevice device(gpu);
  const auto cost = device.measure(product(), Layout::plain);
  ASSERT_TRUE(cost) << cost.error().text();
  EXPECT_EQ(cost->median.count(), 2000) << "of 3000, 2000 and 2000 the first that is least";
  EXPECT_EQ(cost->spread.count(), 0);
  EXPECT_EQ(cost->samples, 5);
  EXPECT_EQ(cost->outliers, 0);
  EXPECT_EQ(cost->repeats, 100) << "20 launches in each recorded graph";
  EXPECT_EQ(gpu.most_launches, 20U);
  EXPECT_EQ((*device.quickest(product(), Layout::plain))->implementation(), "host product 1");
}

TEST(GpuDevice, HasConstantsAndResultsInAsMuchMemoryAsARunGoesThrough) {
  HostGpu gpu;
  gpu.computes = false;
  GpuOptions options;
  options.cache_footprint = 100 * (512 + 256);  // a constant of 512 bytes, a result of 256
  GpuDevice device(gpu, options);
  EXPECT_EQ(device.info().library, "host 1, 0 MiB between launches");
  ASSERT_TRUE(device.measure(product(), Layout::plain));
  EXPECT_EQ(gpu.most_launches, 64U) << "no more sets than that";
}

TEST(DeviceCosts, KeepAGpuUnlessItIsLost) {
  api::DeviceCosts costs;
  auto opened = std::make_unique<HostGpu>();
  HostGpu& gpu = *opened;
  costs.opened_gpu = std::move(opened);
  costs.gpu = std::make_unique<GpuDevice>(gpu);
  EXPECT_TRUE(costs.can_be_kept());
  gpu.memory = 0;
  EXPECT_TRUE(costs.can_be_kept()) << "memory may be given back";
  gpu.is_lost = true;
  EXPECT_FALSE(costs.can_be_kept());
}

TEST(GpuDevice, SaysWhatItCannotRun) {
  HostGpu gpu;
  gpu.refuses_convolutions = true;
  gpu.memory = 1000;
  GpuDevice device(gpu);
  const KernelSpec convolution = ops::made_kernel("convolution", "", {tensor({1, 4, 8, 8}), tensor({4, 4, 1, 1})}, {tensor({1, 4, 8, 8})},
                                                  {{"strides", {1, 1}}, {"pads", {0, 0, 0, 0}}, {"dilations", {1, 1}}, {"groups", {1}}});
  const auto refused = device.measure(convolution, Layout::plain);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_EQ(refused.error().message, "cannot run " + ops::to_string(convolution) + " here: no plan of cuDNN supports it");
  const auto large = device.measure(product(), Layout::plain);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::limit);
  EXPECT_EQ(large.error().message, "cannot run " + ops::to_string(product()) + " here: the GPU has no 0 MiB left");
  gpu.memory = std::size_t{1} << 30U;
  GpuOptions little;
  little.most_bytes = 1024;
  GpuDevice small(gpu, little);
  EXPECT_EQ(small.measure(product(), Layout::plain).error().code, ErrorCode::unsupported);
}

TEST(GpuDevice, ThatIsLostSaysSo) {
  HostGpu gpu;
  gpu.computes = false;
  gpu.lost_after = 6;
  GpuDevice device(gpu);
  const auto lost = device.measure(product(), Layout::plain);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::io);
  EXPECT_EQ(lost.error().message, "the GPU is lost");
}

TEST(GpuDevice, ThatIsLostRefusesKernelsThatAreTriedAgainLater) {
  HostGpu lost;
  lost.computes = false;
  lost.lost_after = 1;
  GpuDevice device(lost);
  Database database = Database::open("", device.info());
  KernelCosts costs(device, database);
  EXPECT_EQ(costs.of(product(), Layout::plain).ran.reason, "the GPU is lost");
  EXPECT_EQ(database.size(), 0U);
}

TEST(GpuDevice, CountsWhatCouldNotBeTimedAndGoesOn) {
  HostGpu gpu;
  gpu.memory = 1000;
  GpuDevice device(gpu);
  Database database = Database::open("", device.info());
  KernelCosts costs(device, database);
  KernelSpec unknown = product();
  unknown.family = ops::KernelFamily::other;
  unknown.function = {.unknown = "abacus"};
  EXPECT_NE(costs.of(unknown, Layout::plain).ran.reason, "");
  EXPECT_NE(costs.of(product(), Layout::plain).ran.reason, "");
  gpu.memory = std::size_t{1} << 30U;
  const KernelSpec other = ops::made_kernel("matmul", "", {tensor({4, 8}), tensor({8, 4})}, {tensor({4, 4})});
  EXPECT_EQ(costs.of(other, Layout::plain).ran.reason, "");
  EXPECT_EQ(costs.statistics().measured, 3U);
  EXPECT_EQ(costs.statistics().refused, 2U);
  EXPECT_EQ(costs.statistics().failed, 1U);
  EXPECT_EQ(costs.statistics().failure, "cannot run " + ops::to_string(product()) + " here: the GPU has no 0 MiB left");
}

TEST(GpuDevice, TimesAtALowerClockAreProvisional) {
  HostGpu gpu;
  EXPECT_EQ(GpuDevice(gpu).info().calibration, "");
  gpu.cycle_time = 0.5;
  GpuDevice device(gpu);
  EXPECT_EQ(device.info().calibration, "cycle");
  EXPECT_EQ(device.measure(product(), Layout::plain)->interference, 0);
  gpu.cycle_time = 0.75;
  EXPECT_NEAR(device.measure(product(), Layout::plain)->interference, 0.5, 1e-9);
  EXPECT_EQ(device.fastest_calibration().count(), 0.5);
  // As a database tells of an earlier run.
  GpuDevice later(gpu);
  later.know_fastest_calibration(Nanoseconds{0.6});
  EXPECT_NEAR(later.measure(product(), Layout::plain)->interference, 0.25, 1e-9);
}

TEST(GpuDevice, TimesKernelsOnValuesThatAreNotZero) {
  HostGpu gpu;
  GpuDevice device(gpu);
  ASSERT_TRUE(device.measure(product(), Layout::plain));
  EXPECT_GT(gpu.last_result, 0) << "of a product";
}

TEST(GpuDevice, FusesWhatItsLibrariesAndItsTextsCan) {
  HostGpu gpu;
  const GpuDevice device(gpu);
  EXPECT_TRUE(device.can_fuse(product(), ops::made_step("relu")));
  EXPECT_TRUE(device.can_fuse(product(), ops::made_step("add", {}, {tensor({8})})));
  EXPECT_FALSE(device.can_fuse(product(), ops::made_step("gelu_erf")));
  EXPECT_FALSE(device.can_fuse(product(), ops::made_step("mul", {}, {tensor({8})})));
  const KernelSpec pointwise = ops::made_kernel("pointwise/relu", "", {tensor({8, 8})}, {tensor({8, 8})});
  EXPECT_TRUE(device.can_fuse(pointwise, ops::made_step("gelu_erf")));
  EXPECT_TRUE(device.can_fuse(pointwise, ops::made_step("sub@1", {}, {tensor({8})})));
  EXPECT_FALSE(device.can_fuse(pointwise, ops::made_step("add", {}, {tensor({2, 8, 8})}))) << "the result would be larger";
  EXPECT_FALSE(device.can_fuse(pointwise, ops::made_step("frobnicate")));
  EXPECT_FALSE(
      device.can_fuse(ops::made_kernel("softmax", "", {tensor({8, 8})}, {tensor({8, 8})}, {{"axis", {1}}}), ops::made_step("relu")));
}

TEST(GpuDevice, WorksInLayoutsInWhichItHasKernels) {
  HostGpu gpu;
  const GpuDevice device(gpu);
  const TensorSpec image = tensor({1, 4, 8, 8});
  const auto works = [&](std::vector<TensorSpec> operands, Layout layout) {
    return device.works_in(ops::made_kernel("pointwise/add", "", std::move(operands), {image}), layout);
  };
  EXPECT_TRUE(works({image, image}, Layout::plain));
  EXPECT_TRUE(works({image, image}, Layout::channels_last));
  EXPECT_TRUE(works({image, tensor({4, 1, 1})}, Layout::channels_last));
  EXPECT_FALSE(works({image, tensor({4, 8, 8})}, Layout::channels_last)) << "it is plain, having three dimensions of its own";
  EXPECT_FALSE(works({image, image}, Layout::blocked8));
}

TEST(GpuDevice, TakesTheLayoutInWhichAConvolutionIsClearlyQuicker) {
  const KernelSpec convolution = ops::made_kernel("convolution", "", {tensor({1, 4, 8, 8}), tensor({4, 4, 1, 1})}, {tensor({1, 4, 8, 8})});
  HostGpu gpu;
  gpu.computes = false;
  GpuDevice device(gpu);
  EXPECT_TRUE(device.chooses_layout(convolution));
  EXPECT_FALSE(device.chooses_layout(product()));
  for (const auto& [factor, layout] : {std::pair(1.0, Layout::plain), {0.95, Layout::plain}, {0.5, Layout::channels_last}}) {
    gpu.channels_last = factor;
    const auto cost = device.measure(convolution, Layout::any);
    ASSERT_TRUE(cost) << cost.error().text();
    EXPECT_EQ(cost->operands, layout) << factor;
    EXPECT_EQ(cost->results, layout) << factor;
  }
  EXPECT_EQ(device.measure(product(), Layout::any)->operands, Layout::plain);
}

class GpuTest : public xflow::testing::graphs::GraphTest {
 protected:
  GpuTest() : device_(gpu_), database_(Database::open("", device_.info())) {}

  Result<GpuProgram> build(const ir::Graph& graph) {
    CostModel costs(arena, device_, database_, sizes_);
    gpu_.computes = false;
    XFLOW_TRY(const std::vector<CoveredLaunch> cover, costs.launches(graph));
    reorders_ = static_cast<std::size_t>(
        std::ranges::count_if(cover, [](const CoveredLaunch& l) { return l.spec.is(ops::KernelFamily::reorder); }));
    auto program = GpuProgram::build(device_, arena, make_plan(arena, graph, cover, sizes_), sizes_);
    gpu_.computes = true;
    if (!program) return program;
    for (const auto& [value, tensor] : bindings_) EXPECT_TRUE(program->write(value, tensor));
    return program;
  }

  void expect_computes(const ir::Graph& graph) {
    auto program = build(graph);
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(program->plan().share_not_run(), 0);
    ASSERT_TRUE(program->run(2));
    xflow::testing::expect_outputs(arena, graph, bindings_, [&](std::size_t k) { return program->read(k); });
  }

  HostGpu gpu_;
  GpuDevice device_;
  Database database_;

 public:
  using GraphTest::arena;
  using GraphTest::op;

 protected:
  std::size_t reorders_ = 0;
};

TEST_F(GpuTest, RunsConvolutionsWithResidualsAndActivations) {
  const ValueId x = input({1, 3, 6, 6});
  const ValueId a = op("relu", {convolution(x, 3, 8, 3)});
  const ValueId b = op("relu", {op("add", {op("add", {convolution(a, 8, 8, 1), constant({1, 8, 1, 1})}), a})});
  const ValueId c = op("hard_sigmoid", {convolution(b, 8, 8, 3, 8)});
  const ValueId pooled = op("max_pool", {c}, {{"kernel", list({2, 2})}, {"strides", list({2, 2})}});
  const ValueId mean = op("reduce_mean", {pooled}, {{"axes", list({2, 3})}, {"keep_dims", Poly(0)}});
  expect_computes({{op("matmul", {mean, constant({8, 10})}), b}});
}

TEST_F(GpuTest, RunsConvolutionsWithChannelsLastAndWhatStandsBetweenThem) {
  gpu_.channels_last = 0.5;
  const ValueId x = input({2, 3, 6, 5});
  const ValueId a = op("sigmoid", {op("relu", {convolution(x, 3, 8, 3)})});
  const ValueId b = op("mul", {op("add", {a, convolution(a, 8, 8, 1)}), constant({8, 1, 1})});
  const ValueId c = op("tanh", {convolution(b, 8, 4, 3)});
  expect_computes({{c, op("softmax", {b}, {{"axis", Poly(1)}})}});
  EXPECT_GT(reorders_, 0U) << "nothing was brought to another layout";
}

TEST_F(GpuTest, RunsProductsWithEpiloguesAndSoftmax) {
  const ValueId x = input({2, 5, 16});
  const ValueId q = op("add", {op("matmul", {x, constant({16, 16}, 0.3)}), constant({16})});
  const ValueId k = op("transpose", {op("matmul", {x, constant({16, 16}, 0.3)})}, {{"perm", list({0, 2, 1})}});
  const ValueId weights = op("softmax", {op("matmul", {q, k})}, {{"axis", Poly(2)}});
  const ValueId mixed = op("matmul", {weights, x});
  expect_computes({{op("add", {op("tanh", {op("mul", {mixed, mixed})}), x})}});
}

// Two heads of depth 8, in half precision: the key is transposed from [batch, columns, heads, depth].
ValueId attention(GpuTest& test, ValueId q, ValueId k, ValueId v, std::optional<ValueId> mask) {
  const ValueId scale = test.arena.constant(ir::make_constant(DataType::float16, {}, std::vector<double>{0.25}).value());
  ValueId scores = test.op("mul", {test.op("matmul", {q, test.op("transpose", {k}, {{"perm", list({0, 2, 3, 1})}})}), scale});
  if (mask) scores = test.op("add", {scores, *mask});
  return test.op("matmul", {test.op("softmax", {scores}, {{"axis", Poly(3)}}), v});
}

TEST_F(GpuTest, RunsAttentionAsOneKernel) {
  const auto half = DataType::float16;
  const ValueId q = input({2, 2, 5, 8}, half);
  const ValueId k = input({2, 6, 2, 8}, half);
  const ValueId v = input({2, 2, 6, 16}, half);
  const ValueId mask = input({2, 1, 1, 6}, half);
  for (const auto& given : {std::optional<ValueId>(), std::optional(mask)}) {
    const ir::Graph graph{{op("relu", {attention(*this, q, k, v, given)})}};
    for (const bool refuses : {false, true}) {
      gpu_.refuses_attention = refuses;
      auto program = build(graph);
      ASSERT_TRUE(program) << program.error().text();
      ASSERT_EQ(program->plan().launches.size(), 2U) << "the attention and what follows it";
      EXPECT_TRUE(program->plan().launches[0].spec.is(ops::KernelFamily::attention));
      EXPECT_EQ(program->implementation(0) == "host attention", !refuses) << program->implementation(0);
      expect_computes(graph);
    }
  }
}

TEST_F(GpuTest, AttentionOfFloatsIsTwoProductsAndASoftmax) {
  const ValueId q = input({2, 2, 5, 8});
  const ValueId k = op("transpose", {input({2, 6, 2, 8})}, {{"perm", list({0, 2, 3, 1})}});
  const ir::Graph graph{{op("matmul", {op("softmax", {op("matmul", {q, k})}, {{"axis", Poly(3)}}), input({2, 2, 6, 8})})}};
  const auto program = build(graph);
  ASSERT_TRUE(program);
  for (const PlannedLaunch& launch : program->plan().launches) EXPECT_FALSE(launch.spec.is(ops::KernelFamily::attention));
  expect_computes(graph);
}

TEST_F(GpuTest, AttentionOfWhichAPartIsReadElsewhereIsNoKernel) {
  const auto half = DataType::float16;
  const ValueId q = input({1, 2, 5, 8}, half);
  const ValueId k = op("transpose", {input({1, 6, 2, 8}, half)}, {{"perm", list({0, 2, 3, 1})}});
  const ValueId weights = op("softmax", {op("matmul", {q, k})}, {{"axis", Poly(3)}});
  const auto program = build({{op("matmul", {weights, input({1, 2, 6, 8}, half)}), weights}});
  ASSERT_TRUE(program);
  for (const PlannedLaunch& launch : program->plan().launches) EXPECT_FALSE(launch.spec.is(ops::KernelFamily::attention));
}

TEST_F(GpuTest, HasConstantsInTheLayoutOfTheirKernel) {
  const ValueId x = input({1, 4, 5, 5});
  const ir::Graph graph{{op("sigmoid", {convolution(x, 4, 6, 3)})}};
  CostModel costs(arena, device_, database_, sizes_);
  auto cover = costs.launches(graph);
  ASSERT_TRUE(cover);
  // As if a convolution were quicker so: the value is brought there and back.
  Plan plan = make_plan(arena, graph, *cover, sizes_);
  ASSERT_EQ(plan.launches.size(), 1U);
  plan.launches[0].operand_layout = plan.launches[0].result_layout = Layout::channels_last;
  auto program = GpuProgram::build(device_, arena, std::move(plan), sizes_);
  ASSERT_TRUE(program) << program.error().text();
  // Both tensors lie with channels last.
  const auto turned = [](const eval::Tensor& t, std::int64_t channels, std::int64_t spatial, bool back) {
    const std::vector<double> values = doubles(t).value();
    std::vector<double> result(values.size());
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t s = 0; s < spatial; ++s) {
        const auto plain = static_cast<std::size_t>(c * spatial + s);
        const auto last = static_cast<std::size_t>(s * channels + c);
        result[back ? plain : last] = values[back ? last : plain];
      }
    return eval::Tensor::of_doubles(DataType::float32, t.dims, std::move(result));
  };
  ASSERT_TRUE(program->write(x, turned(bindings_.at(x), 4, 25, false)));
  ASSERT_TRUE(program->run());
  const auto reference = eval::evaluate(arena, graph, bindings_);
  const std::vector<double> found = doubles(turned(*program->read(0), 6, 25, true)).value();
  const std::vector<double> wanted = doubles((*reference)[0]).value();
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], wanted[k], 1e-5);
}

TEST_F(GpuTest, GivesAllMemoryBack) {
  const ValueId x = input({64, 64});
  {
    auto program = build({{op("matmul", {op("relu", {x}), constant({64, 64})})}});
    ASSERT_TRUE(program);
    EXPECT_GE(program->memory_bytes(), 3U * 64 * 64 * 4);
    EXPECT_GE(gpu_.peak_bytes(), program->memory_bytes());
  }
  gpu_.memory = 1024;
  const auto large = build({{op("matmul", {x, constant({64, 64})})}});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::limit);
}

// All that a program needs is one block: with a byte less there is none, and what was made for it is given back.
TEST_F(GpuTest, BuildsAProgramWhereItsMemoryIsLeftAndNoneWhereAByteIsMissing) {
  const ir::Graph graph{{op("matmul", {op("relu", {input({512, 1024})}), constant({1024, 512})})}};
  CostModel costs(arena, device_, database_, sizes_);
  gpu_.computes = false;
  const auto cover = costs.launches(graph);
  ASSERT_TRUE(cover);
  const auto make = [&] { return GpuProgram::build(device_, arena, make_plan(arena, graph, *cover, sizes_), sizes_); };
  std::size_t bytes = 0;
  {
    const auto program = make();
    ASSERT_TRUE(program) << program.error().text();
    bytes = program->memory_bytes();
    EXPECT_GE(bytes, std::size_t{7} << 20U) << "the input, its copy without what is negative, the weights and the result";
  }
  gpu_.memory = bytes;
  EXPECT_TRUE(make());
  gpu_.memory = bytes - 1;
  const auto none = make();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::limit);
  EXPECT_EQ(none.error().message, "the GPU has no 7 MiB left");
  gpu_.memory = bytes;
  EXPECT_TRUE(make()) << "memory was not given back";
}

TEST_F(GpuTest, BuildsNoProgramToItsEndWhereItsDeviceIsStopped) {
  ValueId y = input({4, 8});
  for (int k = 0; k < 20; ++k) y = op("softmax", {y}, {{"axis", Poly(1)}});
  ASSERT_TRUE(build({{y}}));  // every kernel is known from now on
  CostModel costs(arena, device_, database_, sizes_);
  const auto cover = costs.launches({{y}});
  ASSERT_TRUE(cover);
  int asked = 0;
  device_.stop_when([&] { return ++asked == 7; });
  const auto program = GpuProgram::build(device_, arena, make_plan(arena, {{y}}, *cover, sizes_), sizes_);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::limit);
  EXPECT_EQ(program.error().message, "time is over");
  EXPECT_EQ(asked, 7);
}

}  // namespace
}  // namespace xflow::cost::gpu
