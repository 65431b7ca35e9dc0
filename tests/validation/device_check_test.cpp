#include "src/validation/device_check.h"

#include <gtest/gtest.h>

#include "src/devices/gpu/gpu_device.h"
#include "src/devices/gpu/gpu_program.h"
#include "tests/devices/host_gpu.h"

namespace xflow::api {
namespace {

using xflow::testing::HostGpu;

// On a GPU that is this CPU; `change` may spoil what it computes.
Result<DeviceCheck> check_on(HostGpu& gpu, const std::function<void(eval::Tensor&)>& change = {}) {
  cost::gpu::GpuDevice device(gpu);
  cost::Database database = cost::Database::open("", device.info());
  return check_device(device, database,
                      [&](ir::Arena& arena, const cost::Plan& plan, const SampleGraph& sample) -> Result<std::vector<eval::Tensor>> {
                        gpu.computes = true;
                        const auto sizes = [](ir::SymbolId) { return std::nullopt; };
                        XFLOW_TRY(auto program, cost::gpu::GpuProgram::build(device, arena, plan, sizes));
                        for (const auto& [value, tensor] : sample.inputs) XFLOW_CHECK(program.write(value, tensor));
                        XFLOW_CHECK(program.run());
                        std::vector<eval::Tensor> outputs;
                        for (std::size_t k = 0; k < sample.graph.outputs.size(); ++k) {
                          XFLOW_TRY(outputs.emplace_back(), program.read(k));
                          if (change) change(outputs.back());
                        }
                        gpu.computes = false;
                        return outputs;
                      });
}

TEST(DeviceCheck, PassesWhereTheGraphsComputeWhatTheReferenceDoes) {
  HostGpu gpu;
  gpu.computes = false;
  const auto result = check_on(gpu);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->passed);
  EXPECT_EQ(result->failure, "");
  EXPECT_EQ(result->graphs, 4U);
  EXPECT_GT(result->values, 4000U);
}

TEST(DeviceCheck, SaysWhatIsWrong) {
  HostGpu gpu;
  gpu.computes = false;
  const auto result = check_on(gpu, [](eval::Tensor& tensor) {
    std::vector<double> values = eval::doubles(tensor).value();
    values.back() += 0.5;
    tensor = eval::Tensor::of_doubles(ir::DataType::float32, tensor.dims, std::move(values));
  });
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->passed);
  EXPECT_EQ(result->graphs, 0U);
  EXPECT_TRUE(result->failure.starts_with("the graph of convolutions: output 0: ")) << result->failure;
}

TEST(DeviceCheck, SaysWhatCannotBeRun) {
  HostGpu gpu;
  gpu.computes = false;
  gpu.refuses_convolutions = true;
  const auto refused = check_on(gpu);
  ASSERT_TRUE(refused) << refused.error().text();
  EXPECT_FALSE(refused->passed);
  EXPECT_TRUE(refused->failure.starts_with("the graph of convolutions: cannot run convolution")) << refused->failure;
  HostGpu lost;
  lost.computes = false;
  lost.lost_after = 3;
  EXPECT_EQ(check_on(lost)->failure, "the graph of convolutions: the GPU is lost");
}

TEST(DeviceCheck, IsPassedByThisCpu) {
  const auto result = check_device_named("cpu");
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->passed);
  EXPECT_EQ(result->failure, "");
  EXPECT_EQ(result->graphs, 4U);
  EXPECT_EQ(check_device_named("abacus").error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace xflow::api
