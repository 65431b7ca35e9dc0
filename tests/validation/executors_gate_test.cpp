// The gate over what runs whole models: on this CPU, on a GPU that is this CPU, in a runner.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/devices/cpu/cpu_executor.h"
#include "src/devices/gpu/gpu_program.h"
#include "src/devices/runner/runner_executor.h"
#include "src/validation/gate.h"
#include "tests/devices/host_gpu.h"
#include "tests/kernels/graph_test.h"
#include "tests/places.h"

namespace xflow::cost {
namespace {

using ir::ValueId;

// One product, and the same with four more behind it.
class ExecutorsGateTest : public xflow::testing::graphs::GraphTest {
 protected:
  ExecutorsGateTest() : product_(op("matmul", {input({64, 96}), constant({96, 96})})), more_(product_) {
    for (int k = 0; k < 4; ++k) more_ = op("matmul", {more_, constant({96, 96}, 0.1)});
  }

  // Builds a graph on the device, with its inputs written, and counts that.
  template <typename Program, typename Device>
  auto made(Device& device, Database& database, ValueId output) {
    return [&device, &database, output, this]() -> Result<std::vector<Program>> {
      ++built_;
      CostModel costs(arena, device, database, sizes_);
      const ir::Graph graph{{output}};
      XFLOW_TRY(const std::vector<CoveredLaunch> cover, costs.launches(graph));
      XFLOW_TRY(Program program, Program::build(device, arena, make_plan(arena, graph, cover, sizes_), sizes_));
      for (const auto& [value, tensor] : bindings_) XFLOW_CHECK(program.write(value, tensor));
      std::vector<Program> programs;
      programs.push_back(std::move(program));
      return programs;
    };
  }

  template <typename Program, typename Executor, typename Device>
  void expect_tells_the_shorter(Device& device, const GateOptions& options) {
    Database database = Database::open("", device.info());
    Executor executor(device);
    const ProgramId original = executor.add(made<Program>(device, database, more_)).value();
    const ProgramId candidate = executor.add(made<Program>(device, database, product_)).value();
    EXPECT_EQ(built_, 2U);
    const GateResult result = gate(executor, original, candidate, 1, options);
    EXPECT_TRUE(result.passed) << result.reason;
    ASSERT_EQ(result.comparisons.size(), 1U);
    EXPECT_EQ(result.comparisons[0].verdict, GateVerdict::faster);
    EXPECT_FALSE(result.comparisons[0].processor);
    EXPECT_EQ(result.comparisons[0].confirmations.size(), 3U);
    EXPECT_EQ(built_, 8U) << "both are set up four times";
    EXPECT_FALSE(gate(executor, candidate, original, 1, options).passed);
    EXPECT_EQ(built_, 8U) << "what is slower is not confirmed";
  }

 private:
  ValueId product_;
  ValueId more_;
  std::size_t built_ = 0;
};

TEST_F(ExecutorsGateTest, TellsTheShorterOfTwoOnThisCpu) {
  const auto device = cpu::open_cpu_device().value();
  GateOptions options;
  options.sample = Nanoseconds(1e5);
  expect_tells_the_shorter<cpu::Program, cpu::CpuExecutor>(*device, options);
}

TEST_F(ExecutorsGateTest, TellsTheShorterOfTwoOnAGpu) {
  xflow::testing::HostGpu host;
  host.computes = false;
  gpu::GpuDevice device(host);
  expect_tells_the_shorter<gpu::GpuProgram, gpu::GpuExecutor>(device, {});
}

class RunnerGateTest : public ::testing::Test {
 protected:
  void open(const std::string& arguments) {
    auto opened = runner::RunnerExecutor::open({"'" + places::test_runner() + "' " + arguments, 1, 60});
    ASSERT_TRUE(opened) << opened.error().text();
    executor = *std::move(opened);
    executor->add_inputs({{"x", eval::Tensor::of_doubles(ir::DataType::float32, {1}, {1})}});
  }
  GateResult judge(const std::string& original, const std::string& candidate) {
    const ProgramId a = executor->add({original, {}});
    const ProgramId b = executor->add({candidate, {}});
    return gate(*executor, a, b, 1);
  }
  std::unique_ptr<runner::RunnerExecutor> executor;
};

TEST_F(RunnerGateTest, JudgesByTheRunner) {
  open("--noise 0.01 --each Conv=1e6 --each Add=-1e6");
  EXPECT_TRUE(judge("Conv Conv", "Conv").passed);
  EXPECT_FALSE(judge("Conv Conv", "Conv Conv Conv").passed);
  EXPECT_FALSE(judge("Add Add", "Add").passed);
  EXPECT_EQ(executor->starts(), 4U) << "what is faster is run by three further runners";
}

TEST_F(RunnerGateTest, StartsAnotherRunnerAfterOneHasEnded) {
  open("--noise 0.01 --each Conv=1e6 --crash Bad --crash-loading Worse --refuse Refused");
  EXPECT_EQ(judge("Conv Conv", "Bad").reason, "it could not be run: candidate: it ended with exit status 3: the device is on fire");
  EXPECT_EQ(judge("Conv Conv", "Worse").reason, "it could not be run: candidate: it ended with exit status 3: the device is on fire");
  EXPECT_EQ(executor->starts(), 2U);
  EXPECT_EQ(judge("Conv Conv", "Refused").reason, "it could not be run: candidate: cannot load Refused");
  EXPECT_EQ(executor->starts(), 3U);
  EXPECT_FALSE(judge("Conv", "Conv Conv").passed);
  EXPECT_EQ(executor->starts(), 3U) << "a model that is refused costs no runner";
  EXPECT_TRUE(judge("Conv Conv", "Conv").passed);
  EXPECT_EQ(judge("Bad", "Conv").reason, "it could not be run: original: it ended with exit status 3: the device is on fire");
}

}  // namespace
}  // namespace xflow::cost
