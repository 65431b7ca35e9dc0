// Convolutions and products that are timed compute what their specs say, with all that is fused into them.
#include <algorithm>
#include <set>

#include "src/devices/cpu/convert_kernel.h"
#include "src/ir/constant.h"
#include "tests/devices/cpu_kernels.h"
#include "tests/ops/made_kernel.h"

namespace xflow::cost::cpu {
namespace {

// Convolutions. -------------------------------------------------------------------------------------------------------------------

TEST(CpuConvolution, ComputesItsSpec) {
  for (const Convolution& c : convolutions()) {
    const Values x = random_values(c.x, 1);
    const Values w = random_values(c.w, 2);
    expect_computes(c.spec("convolution"), Layout::any, {x, w}, {naive_convolution(c, x, w)});
  }
}

TEST(CpuConvolution, FusesBiasResidualAndActivation) {
  for (const Convolution& c : convolutions()) {
    const Dims channel = {1, c.y[1], 1, 1};
    KernelSpec spec = c.spec("convolution");
    spec.post = {ops::made_step("add", {}, {tensor(channel, true)}), ops::made_step("mul", {}, {tensor(channel, true)}),
                 ops::made_step("add", {}, {tensor(c.y)}), ops::made_step("relu")};
    const Values x = random_values(c.x, 1);
    const Values w = random_values(c.w, 2);
    const Values bias = random_values(channel, 3);
    const Values scale = random_values(channel, 4);
    const Values residual = random_values(c.y, 5);
    Values y = naive_convolution(c, x, w);
    for_each_index(c.y, [&](const Dims& i) {
      double& v = y[row_major(c.y, i)];
      v = std::max((v + broadcast(bias, channel, i)) * broadcast(scale, channel, i) + broadcast(residual, c.y, i), 0.0);
    });
    expect_computes(spec, Layout::any, {x, w, bias, scale, residual}, {y});
  }
}

TEST(CpuConvolution, FusesEveryActivation) {
  const Convolution c = convolutions()[1];
  const Values x = random_values(c.x, 1);
  const Values w = random_values(c.w, 2, -0.3, 0.3);
  const Values plain = naive_convolution(c, x, w);
  for (const Function& f : unary_functions()) {
    if (f.name == "round") continue;  // a sum in another order rounds to another integer
    KernelSpec spec = c.spec("convolution");
    const PostOperation post = ops::made_step(f.name, f.reals);
    ASSERT_TRUE(device().can_fuse(spec, post)) << f.name;
    spec.post = {post};
    expect_computes(spec, Layout::any, {x, w}, {mapped(f.f, plain)}, 1e-4);
  }
}

TEST(CpuConvolution, SubtractsAndDividesInBothOrders) {
  const Convolution c = convolutions()[1];
  const Dims channel = {1, c.y[1], 1, 1};
  const Values x = random_values(c.x, 1);
  const Values w = random_values(c.w, 2);
  const Values other = random_values(channel, 3, 1, 2);
  const Values plain = naive_convolution(c, x, w);
  const std::vector<std::pair<std::string, std::function<double(double, double)>>> cases = {
      {"sub", [](double v, double o) { return v - o; }},
      {"sub@1", [](double v, double o) { return o - v; }},
      {"div", [](double v, double o) { return v / o; }},
      {"maximum", [](double v, double o) { return std::max(v, o); }},
      {"minimum", [](double v, double o) { return std::min(v, o); }},
  };
  for (const auto& example : cases) {
    const std::string& operation = example.first;
    const auto& f = example.second;
    KernelSpec spec = c.spec("convolution");
    spec.post = {ops::made_step("add", {}, {tensor({1, 1, 1, 1}, true)}), ops::made_step(operation, {}, {tensor(channel, true)})};
    Values y = plain;
    for_each_index(c.y, [&](const Dims& i) { y[row_major(c.y, i)] = f(y[row_major(c.y, i)] + 0.25, broadcast(other, channel, i)); });
    expect_computes(spec, Layout::any, {x, w, {0.25}, other}, {y});
  }
}

TEST(CpuTransposedConvolution, ComputesItsSpec) {
  const std::vector<Convolution> cases = {
      {.x = {1, 16, 5, 6}, .w = {16, 24, 2, 2}, .y = {1, 24, 10, 12}, .strides = {2, 2}},
      {.x = {1, 8, 5, 5}, .w = {8, 4, 3, 3}, .y = {1, 8, 10, 10}, .groups = 2, .strides = {2, 2}, .begins = {1, 1}, .ends = {0, 0}},
      {.x = {1, 16, 4, 4}, .w = {16, 1, 4, 4}, .y = {1, 16, 8, 8}, .groups = 16, .strides = {2, 2}, .begins = {1, 1}, .ends = {1, 1}},
  };
  for (const Convolution& c : cases) {
    const Values x = random_values(c.x, 1);
    const Values w = random_values(c.w, 2);
    expect_computes(c.spec("transposed_convolution"), Layout::any, {x, w}, {naive_transposed(c, x, w)});
  }
}

// Products. ------------------------------------------------------------------------------------------------------------------------

TEST(CpuMatmul, ComputesItsSpec) {
  struct Case {
    Dims a, b, y;
    bool constant;
  };
  for (const Case& c : {Case{{5, 7}, {7, 9}, {5, 9}, true}, Case{{2, 3, 5, 7}, {7, 9}, {2, 3, 5, 9}, true},
                        Case{{2, 3, 5, 7}, {2, 3, 7, 4}, {2, 3, 5, 4}, false}, Case{{3, 5, 7}, {1, 7, 4}, {3, 5, 4}, false},
                        Case{{5, 7}, {3, 7, 4}, {3, 5, 4}, true}, Case{{1, 64}, {64, 32}, {1, 32}, true}}) {
    KernelSpec spec = ops::kernel_named("matmul");
    spec.operands = {tensor(c.a), tensor(c.b, c.constant)};
    spec.results = {tensor(c.y)};
    const Values a = random_values(c.a, 1);
    const Values b = random_values(c.b, 2);
    const Values y = naive_matmul(c.a, c.b, c.y, a, b);
    expect_computes(spec, Layout::plain, {a, b}, {y});

    const Dims bias_dims = {c.y.back()};
    spec.post = {ops::made_step("add", {}, {tensor(bias_dims, true)}), ops::made_step("add", {}, {tensor(c.y)}),
                 ops::made_step("gelu_erf")};
    const Values bias = random_values(bias_dims, 3);
    const Values residual = random_values(c.y, 4);
    Values fused = y;
    for_each_index(c.y, [&](const Dims& i) {
      double& v = fused[row_major(c.y, i)];
      v += broadcast(bias, bias_dims, i) + broadcast(residual, c.y, i);
      v = v / 2 * (1 + std::erf(v / std::sqrt(2)));
    });
    expect_computes(spec, Layout::plain, {a, b, bias, residual}, {fused});
  }
}

TEST(CpuMatmul, KeepsTheRankForPostOperationsThatBroadcastWithinIt) {
  KernelSpec spec = ops::kernel_named("matmul");
  spec.operands = {tensor({2, 5, 7}), tensor({7, 4}, true)};
  spec.results = {tensor({2, 5, 4})};
  spec.post = {ops::made_step("add", {}, {tensor({5, 4})})};  // the same for both batches
  const Values a = random_values({2, 5, 7}, 1);
  const Values b = random_values({7, 4}, 2);
  const Values c = random_values({5, 4}, 3);
  Values y = naive_matmul({2, 5, 7}, {7, 4}, {2, 5, 4}, a, b);
  for (std::size_t k = 0; k < y.size(); ++k) y[k] += c[k % c.size()];
  expect_computes(spec, Layout::plain, {a, b, c}, {y});
}

std::set<std::string> implementations(const KernelSpec& spec, Layout layout) {
  std::set<std::string> names;
  const auto kernels = device().build(spec, layout);
  EXPECT_TRUE(kernels) << kernels.error().text();
  for (const auto& kernel : *kernels) names.emplace(kernel->implementation());
  return names;
}

TEST(CpuConvolution, MayAddAResidualInPlace) {
  const Convolution c{.x = {1, 16, 8, 8}, .w = {16, 16, 1, 1}, .y = {1, 16, 8, 8}};
  KernelSpec spec = c.spec("convolution");
  spec.post = {ops::made_step("add", {}, {tensor(c.y)}), ops::made_step("relu")};
  const auto names = implementations(spec, Layout::channels_last);
  EXPECT_TRUE(std::ranges::any_of(names, [](const std::string& name) { return name.ends_with("+sum"); }));
  EXPECT_TRUE(std::ranges::any_of(names, [](const std::string& name) { return !name.ends_with("+sum"); }));
  // A constant must survive the launch.
  spec.post[0].operands[0].constant = true;
  for (const std::string& name : implementations(spec, Layout::channels_last)) EXPECT_FALSE(name.ends_with("+sum")) << name;
}

// With post-operations a kernel of oneDNN ended the process, and another one left out the padding.
TEST(CpuConvolution, OfWindowsThatArePaddingAloneStandsAlone) {
  const Convolution c{.x = {1, 6, 8, 8}, .w = {2, 6, 1, 1}, .y = {1, 2, 10, 10}, .begins = {1, 1}, .ends = {1, 1}};
  KernelSpec spec = c.spec("convolution");
  const Values x = random_values(c.x, 1);
  const Values w = random_values(c.w, 2);
  expect_computes(spec, Layout::channels_last, {x, w}, {naive_convolution(c, x, w)});
  spec.post = {ops::made_step("add", {}, {tensor(c.y)}), ops::made_step("neg")};
  const auto fused = device().build(spec, Layout::channels_last);
  ASSERT_FALSE(fused);
  EXPECT_NE(fused.error().text().find("post-operations where a window is all padding"), std::string::npos) << fused.error().text();
}

TEST(CpuMatmul, WithConstantWeightsMayBeAnInnerProduct) {
  KernelSpec spec = ops::kernel_named("matmul");
  spec.operands = {tensor({2, 5, 16}), tensor({16, 24}, true)};
  spec.results = {tensor({2, 5, 24})};
  spec.post = {ops::made_step("add", {}, {tensor({24}, true)}), ops::made_step("relu")};
  const auto is_inner_product = [](const std::string& name) { return name.starts_with("inner_product:"); };
  EXPECT_TRUE(std::ranges::any_of(implementations(spec, Layout::plain), is_inner_product));
  const Values x = random_values({2, 5, 16}, 1);
  const Values w = random_values({16, 24}, 2);
  const Values bias = random_values({24}, 3);
  Values y = naive_matmul({2, 5, 16}, {16, 24}, {2, 5, 24}, x, w);
  for (std::size_t k = 0; k < y.size(); ++k) y[k] = std::max(y[k] + bias[k % 24], 0.0);
  expect_computes(spec, Layout::plain, {x, w, bias}, {y});
  spec.operands[1].constant = false;
  EXPECT_FALSE(std::ranges::any_of(implementations(spec, Layout::plain), is_inner_product));
}

TEST(CpuHalf, ConvertsEveryHalfAndRoundsToNearest) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t k = 0; k < halves.size(); ++k) halves[k] = static_cast<std::uint16_t>(k);
  std::vector<float> floats(halves.size());
  halves_to_floats(halves.data(), floats.data(), halves.size());
  std::vector<std::uint16_t> back(halves.size());
  floats_to_halves(floats.data(), back.data(), halves.size());
  for (std::size_t k = 0; k < halves.size(); ++k) {
    if (std::isnan(floats[k])) continue;
    ASSERT_EQ(floats[k], ir::half_to_float(halves[k])) << k;
    ASSERT_EQ(back[k], halves[k]) << k;
  }
  std::vector<float> midpoints;
  for (std::size_t k = 0; k + 1 < 0x7c00; ++k) midpoints.push_back(floats[k] + (floats[k + 1] - floats[k]) * 0.5F);
  back.resize(midpoints.size());
  floats_to_halves(midpoints.data(), back.data(), midpoints.size());
  for (std::size_t k = 0; k < midpoints.size(); ++k) ASSERT_EQ(back[k], ir::float_to_half(midpoints[k])) << midpoints[k];
}

TEST(CpuHalf, ConvolutionsAreConvertedComputedAndConvertedBack) {
  const Convolution c{.x = {1, 16, 8, 8}, .w = {16, 16, 1, 1}, .y = {1, 16, 8, 8}};
  KernelSpec spec = c.spec("convolution");
  spec.post = {ops::made_step("add", {}, {tensor(c.y)}), ops::made_step("relu")};
  for (TensorSpec* tensor : {&spec.operands[0], &spec.operands[1], &spec.results[0], &spec.post[0].operands[0]}) {
    tensor->data_type = DataType::float16;
  }
  const Values x = random_values(c.x, 1);
  const Values w = random_values(c.w, 2);
  const Values residual = random_values(c.y, 3);
  Values y = naive_convolution(c, x, w);
  for (std::size_t k = 0; k < y.size(); ++k) y[k] = std::max(y[k] + residual[k], 0.0);
  for (const Layout layout : {Layout::plain, Layout::channels_last}) expect_computes(spec, layout, {x, w, residual}, {y}, 2e-3);
  const auto half = device().measure(spec, Layout::any);
  ASSERT_TRUE(half) << half.error().text();
  EXPECT_GT(half->median.count(), 0);
}

}  // namespace
}  // namespace xflow::cost::cpu
