// On a GPU: what its kernels compute, and what is said when its memory is full. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "src/cost/cost_model.h"
#include "src/devices/device_plugin.h"
#include "src/devices/gpu/gpu_device.h"
#include "src/devices/gpu/gpu_program.h"
#include "src/support/shared_library.h"
#include "tests/devices/expect_outputs.h"
#include "tests/kernels/graph_test.h"
#include "tests/kernels/kernel_cases.h"
#include "tests/ops/made_kernel.h"
#include "tests/places.h"

namespace xflow::cost::gpu {
namespace {

using ir::DataType;
using ir::Poly;
using ir::ValueId;
using ops::KernelSpec;
using ops::PostOperation;
using xflow::testing::KernelCase;
using xflow::testing::tensor_spec;
using xflow::testing::graphs::list;

// The first GPU; nothing where there is none. That one is there and cannot be opened is an error.
Result<std::unique_ptr<Gpu>> open_first_gpu(bool& there) {
#ifdef XFLOW_TEST_CUDA
  there = true;  // for all that is known, until the library of devices can be asked
  // Where it was built, or on another machine beside the program.
  std::error_code none;
  const std::string folder = std::filesystem::exists(places::cuda_folder(), none) ? places::cuda_folder() : own_folder();
  XFLOW_TRY(DevicePlugin* const plugin, load_plugin_from(folder, "cuda"));
  const auto listed = plugin->devices();
  there = listed && !listed->empty() && (*listed)[0].usable.accepted;
  if (there) return plugin->open(0, {});
#else
  there = false;
#endif
  return std::unique_ptr<Gpu>();
}

class OnGpu : public xflow::testing::graphs::GraphTest {
 protected:
  void SetUp() override {
    bool there = false;
    auto opened = open_first_gpu(there);
    if (!there) GTEST_SKIP() << "no CUDA device";
    ASSERT_TRUE(opened) << opened.error().text();
    gpu_ = *std::move(opened);
  }

  // Every way to run the kernel computes what the interpreter does.
  void expect_computes(const KernelCase& made, Layout layout = Layout::plain) {
    SCOPED_TRACE(ops::to_string(made.spec) + " " + std::string(name(layout)));
    const auto values = xflow::testing::values_of(made);
    ASSERT_TRUE(values) << values.error().text();
    const auto kernels = kernels_of(made.spec, layout, "k");
    ASSERT_TRUE(kernels) << kernels.error().text();
    for (const GpuKernel& kernel : *kernels) {
      SCOPED_TRACE(kernel.text);
      expect_computes(*values, kernel);
      if (HasFatalFailure()) return;
    }
  }

  void expect_computes(const xflow::testing::KernelValues& values, const GpuKernel& kernel) {
    const auto ways = gpu_->prepare(kernel);
    ASSERT_TRUE(ways) << ways.error().text();
    std::vector<Block> blocks;
    const auto place = [&](std::size_t bytes) {
      auto block = Block::allocate(*gpu_, std::max<std::size_t>(bytes, 1));
      EXPECT_TRUE(block);
      blocks.push_back(*std::move(block));
      return blocks.back().address();
    };
    std::size_t worked = 0;
    for (const std::unique_ptr<Ready>& way : *ways) {
      SCOPED_TRACE(std::string(way->implementation()));
      Launch launch;
      launch.kernel = way.get();
      for (const ir::Constant& operand : values.operands) {
        const auto bytes = operand.source->bytes().value();
        launch.operands.push_back(place(bytes.size()));
        ASSERT_TRUE(gpu_->write(launch.operands.back(), bytes));
      }
      for (const eval::Tensor& result : values.results) launch.results.push_back(place(xflow::testing::bytes_of(result)));
      for (const std::size_t bytes : way->scratch()) launch.scratch.push_back(place(bytes));
      launch.workspace = place(way->workspace_bytes());
      const auto recorded = gpu_->record({&launch, 1});
      const auto time = recorded ? gpu_->run(**recorded, 1) : Result<Nanoseconds>(fail(recorded.error()));
      if (!time) {
        ASSERT_NE(time.error().code, ErrorCode::io) << time.error().text();
        continue;  // a proposal that does not run after all
      }
      EXPECT_GT(time->count(), 0);
      ++worked;
      for (std::size_t k = 0; k < values.results.size(); ++k) {
        std::vector<std::byte> bytes(xflow::testing::bytes_of(values.results[k]));
        ASSERT_TRUE(gpu_->read(launch.results[k], bytes));
        xflow::testing::expect_near(values.results[k], std::move(bytes));
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_GT(worked, 0U) << "no way works";
  }

  // A whole graph, with the layouts that are quickest.
  void expect_computes(const ir::Graph& graph) {
    GpuDevice device(*gpu_);
    Database database = Database::open("", device.info());
    CostModel costs(arena, device, database, sizes_);
    const auto cover = costs.launches(graph);
    ASSERT_TRUE(cover) << cover.error().text();
    auto program = GpuProgram::build(device, arena, make_plan(arena, graph, *cover, sizes_), sizes_);
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(program->plan().share_not_run(), 0);
    for (const auto& [value, tensor] : bindings_) ASSERT_TRUE(program->write(value, tensor));
    ASSERT_TRUE(program->run(3));
    xflow::testing::expect_outputs(arena, graph, bindings_, [&](std::size_t k) { return program->read(k); });
  }

  std::unique_ptr<Gpu> gpu_;
};

TEST_F(OnGpu, EveryOperatorComputesItsGraph) {
  for (const KernelCase& made : xflow::testing::operator_cases()) {
    expect_computes(made);
    if (HasFatalFailure()) return;
  }
}

TEST_F(OnGpu, ProductsComputeWithEveryEpilogue) {
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    const auto tensor = [&](std::vector<std::int64_t> dims) { return tensor_spec(std::move(dims), type); };
    const PostOperation bias = ops::made_step("add", {}, {tensor({24})});
    const PostOperation residual = ops::made_step("add", {}, {tensor({2, 16, 24})});
    for (const std::vector<PostOperation>& post : {std::vector<PostOperation>{},
                                                   {bias},
                                                   {residual},
                                                   {bias, residual},
                                                   {bias, ops::made_step("relu")},
                                                   {ops::made_step("gelu_tanh")},
                                                   {residual, bias, ops::made_step("relu")}})
      expect_computes(xflow::testing::case_of(
          ops::made_kernel("matmul", "", {tensor({2, 16, 32}), tensor({32, 24})}, {tensor({2, 16, 24})}, {}, {}, post), -0.5, 0.5));
    expect_computes(xflow::testing::case_of(
        ops::made_kernel("matmul", "", {tensor({3, 16, 32}), tensor({3, 32, 24})}, {tensor({3, 16, 24})}), -0.5, 0.5));
    expect_computes(
        xflow::testing::case_of(ops::made_kernel("matmul", "", {tensor({16, 32}), tensor({3, 32, 24})}, {tensor({3, 16, 24})}), -0.5, 0.5));
  }
}

TEST_F(OnGpu, ConvolutionsCompute) {
  const auto convolution = [&](std::vector<std::int64_t> image, std::vector<std::int64_t> weights, std::vector<std::int64_t> result,
                               std::vector<std::int64_t> strides, std::vector<std::int64_t> pads, std::vector<std::int64_t> dilations,
                               std::int64_t groups, std::vector<PostOperation> post = {}, const char* kernel = "convolution",
                               DataType type = DataType::float32) {
    for (ops::PostOperation& p : post)
      for (ops::TensorSpec& operand : p.operands) operand.data_type = type;
    return xflow::testing::case_of(
        ops::made_kernel(
            kernel, "", {tensor_spec(std::move(image), type), tensor_spec(std::move(weights), type)},
            {tensor_spec(std::move(result), type)},
            {{"strides", std::move(strides)}, {"pads", std::move(pads)}, {"dilations", std::move(dilations)}, {"groups", {groups}}}, {},
            std::move(post)),
        -0.5, 0.5);
  };
  const std::vector<PostOperation> everything = {ops::made_step("add", {}, {tensor_spec({16, 1, 1})}),
                                                 ops::made_step("add", {}, {tensor_spec({2, 16, 10, 10})}), ops::made_step("relu")};
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16})
    expect_computes(
        convolution({2, 8, 10, 10}, {16, 8, 3, 3}, {2, 16, 10, 10}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, everything, "convolution", type));
  expect_computes(convolution({2, 8, 11, 9}, {16, 8, 3, 3}, {2, 16, 5, 4}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1));
  expect_computes(convolution({1, 8, 12, 12}, {16, 8, 3, 3}, {1, 16, 8, 8}, {1, 1}, {0, 0, 0, 0}, {2, 2}, 1));
  expect_computes(convolution({1, 8, 6, 6}, {16, 4, 3, 3}, {1, 16, 6, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2));
  expect_computes(convolution({1, 8, 6, 6}, {8, 1, 3, 3}, {1, 8, 6, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 8));
  expect_computes(convolution({2, 8, 14}, {16, 8, 3}, {2, 16, 12}, {1}, {0, 0}, {1}, 1));
  expect_computes(convolution({1, 16, 5, 5}, {16, 8, 2, 2}, {1, 8, 10, 10}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1, {}, "transposed_convolution"));
}

TEST_F(OnGpu, RunsGraphsOfConvolutions) {
  const ValueId x = input({2, 3, 20, 20});
  const ValueId a = op("relu", {op("add", {convolution(x, 3, 32, 3), constant({32, 1, 1})})});
  const ValueId b = op("relu", {op("add", {op("add", {convolution(a, 32, 32, 3), constant({1, 32, 1, 1})}), a})});
  const ValueId c = op("mul", {b, op("sigmoid", {convolution(b, 32, 32, 3, 32)})});
  const ValueId pooled = op("max_pool", {c}, {{"kernel", list({2, 2})}, {"strides", list({2, 2})}});
  const ValueId mean = op("reduce_mean", {pooled}, {{"axes", list({2, 3})}, {"keep_dims", Poly(0)}});
  expect_computes({{op("matmul", {mean, constant({32, 10})}), b}});
}

TEST_F(OnGpu, RunsAttention) {
  const ValueId x = input({2, 40, 64});
  const ValueId q = op("add", {op("matmul", {x, constant({64, 64}, 0.2)}), constant({64})});
  const ValueId k = op("transpose", {op("matmul", {x, constant({64, 64}, 0.2)})}, {{"perm", list({0, 2, 1})}});
  const ValueId weights = op("softmax", {op("matmul", {q, k})}, {{"axis", Poly(2)}});
  expect_computes({{op("add", {op("tanh", {op("matmul", {weights, x})}), x})}});
}

TEST_F(OnGpu, AttentionComputes) {
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    for (const bool masked : {false, true}) {
      KernelSpec spec = ops::made_kernel(
          "attention", "", {tensor_spec({2, 3, 40, 64}, type), tensor_spec({2, 48, 3, 64}, type), tensor_spec({2, 3, 48, 64}, type)},
          {tensor_spec({2, 3, 40, 64}, type)}, {{"perm", {0, 2, 3, 1}}}, {{"scale", 0.125}});
      if (masked) spec.operands.push_back(tensor_spec({2, 1, 40, 48}, type));
      expect_computes(xflow::testing::case_of(spec, -0.5, 0.5));
    }
  }
}

TEST_F(OnGpu, TimesAreThoseOfTheWork) {
  GpuDevice device(*gpu_);
  const auto product = [](std::int64_t n) {
    return ops::made_kernel("matmul", "", {tensor_spec({n, n}), tensor_spec({n, n})}, {tensor_spec({n, n})});
  };
  const auto small = device.measure(product(256), Layout::plain);
  const auto large = device.measure(product(4096), Layout::plain);
  ASSERT_TRUE(small && large);
  EXPECT_GT(large->median.count(), 20 * small->median.count()) << "4,096 times the work";
  EXPECT_GT(small->median.count(), 500) << "no kernel is launched in half a microsecond";
}

TEST_F(OnGpu, SaysThatItsMemoryIsFullAndGoesOn) {
  const auto block = Block::allocate(*gpu_, std::size_t{1} << 46U);
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().code, ErrorCode::limit);
  EXPECT_EQ(block.error().message, "the GPU has no 67108864 MiB left");
  expect_computes(xflow::testing::case_of(ops::made_kernel("pointwise/relu", "", {tensor_spec({8})}, {tensor_spec({8})})));
}

}  // namespace
}  // namespace xflow::cost::gpu
