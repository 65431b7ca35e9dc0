// The loops of this CPU compute the scalar functions of the table, and oneDNN what the table says.
#include "src/ops/fused_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "src/devices/cpu/block_functions.h"
#include "src/devices/gpu/gpu_kernels.h"
#include "tests/devices/cpu_kernels.h"
#include "tests/ops/made_kernel.h"

namespace xflow::cost::cpu {
namespace {

template <typename T>
void expect_block(const ops::FusedFunction& function, ir::DataType type, double tolerance) {
  SCOPED_TRACE(function.name);
  const auto block = find_block_operator(ops::step_named(function.name).function, type, type);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->operands, 1);
  EXPECT_EQ(static_cast<std::size_t>(block->reals), ops::real_count(function));
  EXPECT_EQ(block->result, type);
  const double reals[] = {0.25, 0.5};
  std::vector<T> x;
  for (double at = -9.03; at < 9; at += 0.0625) x.push_back(static_cast<T>(at));
  std::vector<T> y(x.size());
  const void* operands[] = {x.data()};
  block->function(operands, y.data(), x.size(), reals);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double expected = function.value(static_cast<double>(x[k]), reals[0], reals[1]);
    if (!std::isfinite(expected)) continue;  // logarithms and roots of negative numbers
    // Where a function is steep its own steps are.
    const double step = function.value(static_cast<double>(x[k]) + tolerance, reals[0], reals[1]) - expected;
    EXPECT_NEAR(static_cast<double>(y[k]), expected, tolerance * (1 + std::abs(expected)) + std::abs(step)) << static_cast<double>(x[k]);
  }
}

TEST(FusedFunctionLoops, ComputeEveryRow) {
  for (const ops::FusedFunction& function : ops::fused_functions()) {
    expect_block<float>(function, ir::DataType::float32, 2e-6);
    expect_block<double>(function, ir::DataType::float64, 1e-12);
  }
}

TEST(FusedFunctionLoops, AreThereForIntegersWhereTheTableSaysNumeric) {
  std::set<std::string_view> numeric;
  for (const ops::FusedFunction& function : ops::fused_functions())
    if (find_block_operator(ops::step_named(function.name).function, ir::DataType::int32, ir::DataType::int32))
      numeric.insert(function.name);
  for (const char* name : {"abs", "clip", "identity", "neg", "relu", "sign", "square"}) EXPECT_TRUE(numeric.contains(name)) << name;
  for (const char* name : {"exp", "floor", "hard_swish", "sigmoid"}) EXPECT_FALSE(numeric.contains(name)) << name;
}

TEST(FusedFunctionLoops, AreNotThereForOtherNames) {
  EXPECT_FALSE(find_block_operator(ops::step_named("swoosh").function, ir::DataType::float32, ir::DataType::float32));
  KernelSpec spec = pointwise("relu", {tensor({4})}, {4});
  spec.post = {ops::made_step("swoosh")};
  EXPECT_FALSE(device().can_fuse(pointwise("relu", {tensor({4})}, {4}), spec.post[0]));
  const auto cost = device().measure(spec, Layout::plain);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().text(),
            "cannot run pointwise/relu(float32[4]) -> float32[4] | swoosh here: there is no loop for swoosh of float32");
}

// Those that oneDNN has behind a convolution compute the same there.
TEST(FusedFunctionsOfOneDnn, ComputeTheirScalarFunction) {
  const Convolution c = convolutions()[1];
  const Values x = random_values(c.x, 1);
  const Values w = random_values(c.w, 2, -0.3, 0.3);
  const Values plain = naive_convolution(c, x, w);
  std::size_t count = 0;
  for (const ops::FusedFunction& function : ops::fused_functions()) {
    SCOPED_TRACE(function.name);
    KernelSpec spec = c.spec("convolution");
    PostOperation post = ops::made_step(function.name);
    if (ops::real_count(function) > 0) post.reals = {0.25};
    if (ops::real_count(function) > 1) post.reals = {0.25, 0.5};
    if (!device().can_fuse(spec, post)) continue;
    ++count;
    if (function.name == "round" || function.name == "sqrt" || function.name == "log" || function.name == "reciprocal") continue;
    spec.post = {post};
    const auto value = [&](double v) { return function.value(v, 0.25, 0.5); };
    expect_computes(spec, Layout::any, {x, w}, {mapped(value, plain)}, 1e-4);
  }
  EXPECT_GE(count, 21U);
}

TEST(FusedFunctionsOfGpus, AreThoseThatTheirLibrariesHave) {
  using gpu::Activation;
  std::set<std::string_view> cudnn;
  std::set<std::string_view> cublaslt;
  for (std::size_t k = 0; k <= ops::fused_functions().size(); ++k) {
    const auto activation = static_cast<Activation>(k);
    if (gpu::is_of_cudnn(activation)) cudnn.insert(gpu::name(activation));
    if (gpu::is_of_cublaslt(activation)) cublaslt.insert(gpu::name(activation));
  }
  for (const char* name : {"gelu_tanh", "none", "relu", "sigmoid", "swish", "tanh"}) EXPECT_TRUE(cudnn.contains(name)) << name;
  for (const char* name : {"gelu_erf", "hard_swish", "exp"}) EXPECT_FALSE(cudnn.contains(name)) << name;
  EXPECT_EQ(cublaslt, (std::set<std::string_view>{"gelu_tanh", "none", "relu"}));
}

}  // namespace
}  // namespace xflow::cost::cpu
