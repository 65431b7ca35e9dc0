// Pointwise kernels that are timed compute what their specs say.
#include <cstring>

#include "tests/devices/cpu_kernels.h"
#include "tests/ops/made_kernel.h"

namespace xflow::cost::cpu {
namespace {

// Pointwise chains. ------------------------------------------------------------------------------------------------------------------

TEST(CpuPointwise, ComputesEveryFunction) {
  const Dims dims = {2, 19, 5, 7};
  const Values x = random_values(dims, 1, -4, 4);
  for (const auto* functions : {&unary_functions(), &loop_functions()}) {
    for (const Function& f : *functions) {
      for (const Layout layout : kLayouts) {
        expect_computes(pointwise(f.name, {tensor(dims)}, dims, f.reals), layout, {x}, {mapped(f.f, x)}, 1e-5);
      }
    }
  }
  const Values positive = random_values(dims, 2, 0.1, 9);
  expect_computes(pointwise("sqrt", {tensor(dims)}, dims), Layout::plain, {positive},
                  {mapped([](double v) { return std::sqrt(v); }, positive)});
  expect_computes(pointwise("log", {tensor(dims)}, dims), Layout::plain, {positive},
                  {mapped([](double v) { return std::log(v); }, positive)});
  expect_computes(pointwise("reciprocal", {tensor(dims)}, dims), Layout::plain, {positive},
                  {mapped([](double v) { return 1 / v; }, positive)});
}

TEST(CpuPointwise, BroadcastsOperandsInEveryLayout) {
  const Dims y = {2, 32, 5, 7};
  for (const Dims& other :
       {Dims{2, 32, 5, 7}, Dims{1, 32, 1, 1}, Dims{32, 1, 1}, Dims{}, Dims{1}, Dims{2, 1, 5, 7}, Dims{7}, Dims{5, 1}, Dims{2, 32, 1, 1}}) {
    for (const bool first : {false, true}) {
      const Values a = random_values(y, 1);
      const Values b = random_values(other, 2, 1, 2);
      Values expected(a.size());
      for_each_index(y, [&](const Dims& i) {
        const double u = broadcast(a, y, i);
        const double v = broadcast(b, other, i);
        expected[row_major(y, i)] = first ? v / u : u / v;
      });
      for (const Layout layout : kLayouts) {
        if (first) expect_computes(pointwise("div", {tensor(other), tensor(y)}, y), layout, {b, a}, {expected});
        if (!first) expect_computes(pointwise("div", {tensor(y), tensor(other)}, y), layout, {a, b}, {expected});
      }
    }
  }
}

TEST(CpuPointwise, RunsChainsInBlocks) {
  // x * clip(x + 3, 0, 6) / 6 and then c - that, over more elements than a block.
  const Dims dims = {3, 48, 11, 9};
  const Dims channel = {1, 48, 1, 1};
  KernelSpec spec = pointwise("add", {tensor(dims), tensor({}, true)}, dims);
  spec.post = {ops::made_step("clip", {0, 6}), ops::made_step("mul", {}, {tensor(dims)}), ops::made_step("div", {}, {tensor({1}, true)}),
               ops::made_step("sub@1", {}, {tensor(channel, true)})};
  const Values x = random_values(dims, 1, -5, 5);
  const Values c = random_values(channel, 2);
  Values y = mapped([](double v) { return v * clip(v + 3, 0, 6) / 6; }, x);
  for_each_index(dims, [&](const Dims& i) { y[row_major(dims, i)] = broadcast(c, channel, i) - y[row_major(dims, i)]; });
  for (const Layout layout : kLayouts) expect_computes(spec, layout, {x, {3}, x, {6}, c}, {y});
}

TEST(CpuPointwise, ComparesSelectsAndCasts) {
  const Dims dims = {4, 300};
  const Values a = random_values(dims, 1);
  const Values b = random_values(dims, 2);
  KernelSpec less = pointwise("less", {tensor(dims), tensor(dims)}, dims);
  less.results[0].data_type = DataType::boolean;
  Values smaller(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) smaller[k] = a[k] < b[k] ? 1 : 0;
  expect_computes(less, Layout::plain, {a, b}, {smaller});

  KernelSpec select = pointwise("select", {tensor(dims), tensor(dims), tensor(dims)}, dims);
  select.operands[0].data_type = DataType::boolean;
  Values least(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) least[k] = std::min(a[k], b[k]);
  expect_computes(select, Layout::plain, {smaller, a, b}, {least});

  KernelSpec cast = pointwise("cast", {tensor(dims)}, dims);
  cast.results[0].data_type = DataType::int64;
  expect_computes(cast, Layout::plain, {a}, {mapped([](double v) { return std::trunc(v); }, a)});
}

TEST(CpuPointwise, RefusesWhatItLacks) {
  KernelSpec spec = pointwise("add", {tensor({4}), tensor({4})}, {4});
  for (TensorSpec* t : {&spec.operands[0], &spec.operands[1], &spec.results[0]}) t->data_type = DataType::complex64;
  const auto cost = device().measure(spec, Layout::plain);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().code, ErrorCode::unsupported);
  EXPECT_EQ(cost.error().message,
            "cannot run pointwise/add(complex64[4], complex64[4]) -> complex64[4] here: there is no loop for add of complex64");
}

TEST(CpuPointwise, WhatHasNoLoopIsComputedInIndexNotation) {
  KernelSpec spec = pointwise("add", {tensor({4}), tensor({4})}, {4});
  for (TensorSpec* t : {&spec.operands[0], &spec.operands[1], &spec.results[0]}) t->data_type = DataType::uint16;
  const auto kernels = device().build(spec, Layout::plain);
  ASSERT_TRUE(kernels) << kernels.error().text();
  ASSERT_EQ(kernels->size(), 1U);
  CpuKernel& kernel = *kernels->front();
  EXPECT_EQ(kernel.implementation(), "index notation, loop");
  const std::vector<std::uint16_t> a = {1, 2, 3, 65535};
  for (std::size_t k = 0; k < 2; ++k) std::memcpy(kernel.operand_bytes(k).data(), a.data(), 8);
  kernel.run();
  std::vector<std::uint16_t> sum(4);
  std::memcpy(sum.data(), kernel.result_bytes(0).data(), 8);
  EXPECT_EQ(sum, (std::vector<std::uint16_t>{2, 4, 6, 65534}));
}

}  // namespace
}  // namespace xflow::cost::cpu
