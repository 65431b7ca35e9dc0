// Kernels as source text, compiled here, compute what the interpreter computes of their graphs.
#include "src/kernels/kernel_source.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/devices/device_plugin.h"
#include "src/kernels/device.h"
#include "tests/compiled_text.h"
#include "tests/kernels/kernel_cases.h"
#include "tests/kernels/run_text.h"
#include "tests/ops/made_kernel.h"
#include "tests/places.h"

namespace xflow::cost {
namespace {

using ir::DataType;
using ops::KernelSpec;
using ops::TensorSpec;
using xflow::testing::KernelCase;

TensorSpec tensor(std::vector<std::int64_t> dims, DataType type = DataType::float32) {
  return xflow::testing::tensor_spec(std::move(dims), type);
}

class KernelSourceTest : public ::testing::Test {
 protected:
  // Adds a kernel, whose operands lie between these bounds, to those that are compiled together.
  void add(const KernelSpec& spec, double low = -1.5, double high = 1.5) { add(xflow::testing::case_of(spec, low, high)); }

  void add(KernelCase made, SourceWay way = SourceWay::block) {
    SCOPED_TRACE(ops::to_string(made.spec));
    const std::string name = fmt::format("kernel{}", cases_.size());
    auto source = kernel_source(made.spec, name, way);
    ASSERT_TRUE(source) << source.error().text();
    text_ += source->text + xflow::testing::run_text(*source, name);
    cases_.push_back({std::move(made), *std::move(source)});
  }

  // One of each operator.
  void add_samples() {
    for (KernelCase& made : xflow::testing::operator_cases()) add(std::move(made));
  }

  void add_halves() {
    for (const DataType type : {DataType::float16, DataType::bfloat16}) {
      KernelSpec spec = ops::made_kernel("pointwise/mul", "", {tensor({40}, type), tensor({40}, type)}, {tensor({40}, type)});
      spec.post = {ops::made_step("relu"), ops::made_step("add", {}, {tensor({40}, type)})};
      add(spec);
    }
  }

  const SourceProgram& source(std::size_t k) const { return cases_.at(k).source; }

  std::size_t count() const { return cases_.size(); }
  // Without what only this test's host needs.
  std::string kernels_text() const {
    std::string text;
    for (const Case& one : cases_) text += one.source.text;
    return text;
  }

  // Compares all with the interpreter.
  void compare() {
    void* const library = xflow::testing::compile_and_load(kernel_source_prelude() + text_);
    ASSERT_NE(library, nullptr);
    for (std::size_t number = 0; number < cases_.size(); ++number) {
      SCOPED_TRACE(ops::to_string(cases_[number].made.spec));
      auto* const run =
          reinterpret_cast<void (*)(void* const*, void* const*, void* const*)>(dlsym(library, fmt::format("kernel{}_run", number).c_str()));
      ASSERT_NE(run, nullptr);
      compare(cases_[number], run);
      if (HasFatalFailure()) return;
    }
    dlclose(library);
  }

 private:
  struct Case {
    KernelCase made;
    SourceProgram source;
  };

  template <typename Run>
  static void compare(const Case& one, Run run) {
    const auto values = xflow::testing::values_of(one.made);
    ASSERT_TRUE(values) << values.error().text();
    std::vector<void*> operands;
    for (const ir::Constant& operand : values->operands) operands.push_back(const_cast<std::byte*>(operand.source->bytes().value().data()));
    std::vector<std::vector<std::byte>> results;
    for (const eval::Tensor& tensor : values->results) results.emplace_back(xflow::testing::bytes_of(tensor));
    std::vector<std::vector<std::byte>> scratch;
    for (const std::size_t bytes : one.source.scratch) scratch.emplace_back(bytes);
    const auto places = [](std::vector<std::vector<std::byte>>& all) {
      std::vector<void*> found;
      for (std::vector<std::byte>& bytes : all) found.push_back(bytes.data());
      return found;
    };
    run(operands.data(), places(results).data(), places(scratch).data());
    for (std::size_t k = 0; k < results.size(); ++k) {
      SCOPED_TRACE(fmt::format("result {}", k));
      xflow::testing::expect_near(values->results[k], std::move(results[k]));
    }
  }

  std::string text_;
  std::vector<Case> cases_;
};

TEST_F(KernelSourceTest, OfEveryOperatorComputesItsGraph) {
  add_samples();
  EXPECT_GE(count(), 90U);
  compare();
}

TEST_F(KernelSourceTest, ComputesPostOperationsInTheSameFunction) {
  const TensorSpec x = tensor({2, 3, 4});
  KernelSpec chain = ops::made_kernel("pointwise/add", "", {x, tensor({4})}, {x});
  chain.post = {ops::made_step("relu"), ops::made_step("mul", {}, {tensor({3, 1})}), ops::made_step("sub@1", {}, {x}),
                ops::made_step("clip", {-0.5, 0.5})};
  add(chain);
  EXPECT_EQ(source(0).launches.size(), 1U);
  EXPECT_TRUE(source(0).scratch.empty());
  EXPECT_EQ(source(0).launches[0].arguments.size(), 5U) << "four operands and the result";
  for (const char* function :
       {"square", "hard_swish", "swish", "gelu_erf", "gelu_tanh", "mish", "softplus", "gelu_erf:x;1.4142135;div;erf;1;add;x;mul;0.5;mul"}) {
    KernelSpec product = ops::made_kernel("matmul", "", {tensor({5, 7}), tensor({7, 6})}, {tensor({5, 6})});
    product.post = {ops::made_step("add", {}, {tensor({6})}), ops::made_step(function), ops::made_step("add", {}, {tensor({5, 6})})};
    add(product);
  }
  KernelSpec sum = ops::made_kernel("reduce", "sum", {tensor({3, 500})}, {tensor({3, 1})}, {{"axes", {1}}, {"keep_dims", {1}}});
  sum.post = {ops::made_step("sqrt"), ops::made_step("add", {}, {tensor({1})})};
  add(sum, 0.1, 1);
  EXPECT_EQ(source(9).launches.size(), 1U) << "the block that makes a sum goes on with it";
  EXPECT_EQ(source(9).launches[0].blocks, 3);
  EXPECT_EQ(source(9).launches[0].threads, 256);
  compare();
}

TEST_F(KernelSourceTest, ComputesNormalisationsAndSoftmaxInStages) {
  for (const char* variant : {"layer", "rms"}) {
    KernelSpec spec = ops::made_kernel("normalization", variant, {tensor({6, 300}), tensor({300}), tensor({300})}, {tensor({6, 300})},
                                       {{"axes", {1}}}, {{"epsilon", 1e-5}});
    add(spec);
  }
  add(ops::made_kernel("softmax", "", {tensor({6, 100})}, {tensor({6, 100})}, {{"axis", {1}}}));
  compare();
}

TEST_F(KernelSourceTest, ComputesRowsInOneLaunch) {
  std::vector<KernelSpec> specs;
  for (const char* variant : {"layer", "rms"}) {
    specs.push_back(ops::made_kernel("normalization", variant, {tensor({2, 3, 30, 10}), tensor({30, 10})}, {tensor({2, 3, 30, 10})},
                                     {{"axes", {2, 3}}}, {{"epsilon", 1e-5}}));
  }
  for (const char* kernel : {"softmax", "log_softmax"}) {
    specs.push_back(ops::made_kernel(kernel, "", {tensor({6, 100})}, {tensor({6, 100})}, {{"axis", {1}}}));
    specs.push_back(ops::made_kernel(kernel, "", {tensor({5, 7})}, {tensor({5, 7})}, {{"axis", {1}}}));
  }
  for (const KernelSpec& spec : specs) {
    add(xflow::testing::case_of(spec), SourceWay::row);
    EXPECT_EQ(source(count() - 1).launches.size(), 1U) << ops::to_string(spec);
    add(xflow::testing::case_of(spec), SourceWay::thread);
    EXPECT_GT(source(count() - 1).launches.size(), 1U) << ops::to_string(spec);
  }
  EXPECT_EQ(source(0).launches[0].blocks, 6);
  EXPECT_EQ(source(0).launches[0].threads, 256);
  EXPECT_EQ(source(6).launches[0].threads, 32) << "of rows of 7";
  compare();
}

TEST_F(KernelSourceTest, ComputesInHalfPrecision) {
  add_halves();
  compare();
}

TEST(SourceProgram, BringsTensorsToOtherLayouts) {
  const TensorSpec image = tensor({2, 3, 4, 5});
  const auto there = kernel_source(reorder_spec(image, Layout::plain, Layout::channels_last), "there");
  const auto back = kernel_source(reorder_spec(image, Layout::channels_last, Layout::plain), "back");
  ASSERT_TRUE(there && back);
  void* const library = xflow::testing::compile_and_load(kernel_source_prelude() + there->text + xflow::testing::run_text(*there, "there") +
                                                         back->text + xflow::testing::run_text(*back, "back"));
  ASSERT_NE(library, nullptr);
  std::vector<float> plain(120);
  for (std::size_t k = 0; k < plain.size(); ++k) plain[k] = static_cast<float>(k);
  std::vector<float> last(120);
  std::vector<float> repeated(120);
  using Run = void (*)(void* const*, void* const*, void* const*);
  void* place = plain.data();
  void* other = last.data();
  void* third = repeated.data();
  reinterpret_cast<Run>(dlsym(library, "there_run"))(&place, &other, nullptr);
  reinterpret_cast<Run>(dlsym(library, "back_run"))(&other, &third, nullptr);
  dlclose(library);
  EXPECT_EQ(repeated, plain);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t s = 0; s < 20; ++s) ASSERT_EQ(last[(n * 20 + s) * 3 + c], plain[(n * 3 + c) * 20 + s]);
  const auto blocked = kernel_source(reorder_spec(image, Layout::plain, Layout::blocked8), "blocked");
  ASSERT_FALSE(blocked);
  EXPECT_EQ(blocked.error().message, "cannot bring tensors to and from blocks of channels");
}

TEST(SourceProgram, HasNoLaunchWhereThereAreNoElements) {
  const auto source = kernel_source(ops::made_kernel("pointwise/relu", "", {tensor({0, 4})}, {tensor({0, 4})}), "k");
  ASSERT_TRUE(source) << source.error().text();
  EXPECT_TRUE(source->launches.empty());
}

TEST(SourceProgram, HasRowsOnlyWhereTheyLieSideBySideAndThereAreEnough) {
  const auto refusal = [](const KernelSpec& spec) {
    const auto source = kernel_source(spec, "k", SourceWay::row);
    return source ? std::string() : source.error().message;
  };
  const auto softmax = [](const std::vector<std::int64_t>& dims, std::int64_t axis) {
    return ops::made_kernel("softmax", "", {tensor(dims)}, {tensor(dims)}, {{"axis", {axis}}});
  };
  EXPECT_EQ(refusal(softmax({6, 100}, 1)), "");
  EXPECT_EQ(refusal(softmax({6, 100, 1}, 1)), "");
  EXPECT_EQ(refusal(softmax({6, 100, 2}, 1)), "it has no rows");
  EXPECT_EQ(refusal(softmax({2, 100'000}, 1)), "it has no rows") << "two blocks would do all the work";
  EXPECT_EQ(refusal(ops::made_kernel("pointwise/relu", "", {tensor({6})}, {tensor({6})})), "it has no rows");
}

TEST(SourceProgram, IsTheSameEachTime) {
  const KernelSpec spec = ops::made_kernel("softmax", "", {tensor({6, 100})}, {tensor({6, 100})}, {{"axis", {1}}});
  EXPECT_EQ(kernel_source(spec, "k")->text, kernel_source(spec, "k")->text);
}

#ifdef XFLOW_TEST_CUDA

TEST_F(KernelSourceTest, IsCompiledForGpus) {
  const auto plugin = load_plugin_from(places::cuda_folder(), "cuda");
  ASSERT_TRUE(plugin) << plugin.error().text();
  add_samples();
  add_halves();
  add(xflow::testing::case_of(ops::made_kernel("softmax", "", {tensor({6, 100})}, {tensor({6, 100})}, {{"axis", {1}}})), SourceWay::row);
  for (const int kind : {80, 90}) {
    const auto binary = (*plugin)->compile(kernel_source_prelude() + kernels_text(), kind);
    ASSERT_TRUE(binary) << kind << ": " << binary.error().text();
    EXPECT_TRUE(
        binary->starts_with("\x7f"
                            "ELF"))
        << kind;
    for (std::size_t k = 0; k < count(); ++k)
      for (const SourceLaunch& launch : source(k).launches)
        EXPECT_NE(binary->find(std::string(".text.") + launch.function + '\0'), std::string::npos) << launch.function << " for " << kind;
  }
}

TEST(CudaCompiler, SaysWhatIsWrongWithAText) {
  const auto plugin = load_plugin_from(places::cuda_folder(), "cuda");
  ASSERT_TRUE(plugin) << plugin.error().text();
  const auto wrong = (*plugin)->compile("extern \"C\" __global__ void f() { undeclared = 1; }", 90);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::internal);
  EXPECT_TRUE(
      wrong.error().message.starts_with("NVRTC: NVRTC_ERROR_COMPILATION: xflow.cu(1): error: identifier \"undeclared\" is undefined"))
      << wrong.error().message;
  const auto old = (*plugin)->compile("extern \"C\" __global__ void f() {}", 20);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, ErrorCode::unsupported);
  EXPECT_EQ(old.error().message, "NVRTC does not know --gpu-architecture=sm_20");
}

#endif

}  // namespace
}  // namespace xflow::cost
