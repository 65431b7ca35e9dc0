// Kernels timed in a runner that runs nothing (tests/devices/runner/test_runner.cpp): what it says a model takes follows from its bytes. An
// operator stands twice in a node that makes an output of the model, whose name it also is.
#include "src/devices/runner/runner_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/cost/database.h"
#include "src/cost/kernel_costs.h"
#include "src/devices/runner/kernel_model.h"
#include "src/onnx/document/document.h"
#include "src/ops/kernel_text.h"
#include "tests/places.h"

namespace xflow::cost::runner {
namespace {

constexpr const char* kSoftmax = "softmax(float32[4,64]) -> float32[4,64] axis=[1]";
constexpr const char* kTranspose = "copy:transpose(float32[4,64]) -> float32[64,4] perm=[1,0]";
constexpr const char* kRelu = "pointwise/relu(float32[4,64]) -> float32[4,64]";

RunnerDeviceOptions in_runner(const std::string& arguments) {
  RunnerDeviceOptions options;
  options.runner = {"'" + places::test_runner() + "' " + arguments, 1, 60};
  return options;
}

std::unique_ptr<RunnerDevice> opened(const RunnerDeviceOptions& options) {
  auto device = RunnerDevice::open(options);
  EXPECT_TRUE(device) << device.error().text();
  return *std::move(device);
}

ops::KernelSpec kernel(const std::string& text) {
  auto spec = ops::parse_kernel(text);
  EXPECT_TRUE(spec) << spec.error().text();
  return *std::move(spec);
}

double nanoseconds_of(RunnerDevice& device, const std::string& text) {
  const auto cost = device.measure(kernel(text), Layout::plain);
  EXPECT_TRUE(cost) << cost.error().text();
  return cost ? cost->median.count() : -1;
}

TEST(RunnerDevice, SaysInWhichRuntimeItTimes) {
  const auto device = opened(in_runner(""));
  EXPECT_EQ(device->info().name, "runner");
  EXPECT_EQ(device->info().model, "nothing");
  EXPECT_EQ(device->info().library, "test runner 1.2, kernels 4");
  EXPECT_EQ(device->info().clock, "CPU time");
}

TEST(RunnerDevice, PricesAKernelAtWhatOneMoreLaunchTakes) {
  const auto device = opened(in_runner("--time 1e6 --each Softmax=5e4"));
  EXPECT_NEAR(nanoseconds_of(*device, kSoftmax), 5e4, 1e-3);
  EXPECT_EQ(nanoseconds_of(*device, kRelu), 0);
}

TEST(RunnerDevice, TakesOffWhatHandingValuesInAndOutTakes) {
  // Each launch makes an output of its own, whose node is named after its operator. With an input and an output of its own a Relu takes 10
  // more than in a row of them, and so that is what these take.
  const auto device = opened(in_runner("--time 1e6 --each Transpose=1000 --each Relu=10"));
  EXPECT_NEAR(nanoseconds_of(*device, "copy:transpose(float32[128,64]) -> float32[64,128] perm=[1,0]"), 2000 - 10, 1e-3);
  // Small ones have one output together.
  EXPECT_NEAR(nanoseconds_of(*device, kTranspose), 1000, 1e-3);
}

TEST(RunnerDevice, PricesWhatIsFusedAsOneKernel) {
  const auto device = opened(in_runner("--time 1e6 --each Conv=3000 --each Relu=500 --each MaxPool=0"));
  const std::string convolution =
      "convolution(float32[1,4,8,8], const float32[4,4,1,1]) -> float32[1,4,8,8] strides=[1,1] pads=[0,0,0,0] dilations=[1,1] groups=[1]";
  const double alone = nanoseconds_of(*device, convolution);
  EXPECT_NEAR(nanoseconds_of(*device, convolution + " | relu"), alone + 500, 1e-3);
}

TEST(RunnerDevice, AResidualIsTheResultOfTheLaunchBefore) {
  // So nothing else is there once more with each launch.
  const auto device = opened(in_runner("--time 1e6 --each Conv=3000 --each Add=700 --each MaxPool=100 --each Relu=10"));
  const std::string convolution =
      "convolution(float32[1,4,8,8], const float32[4,4,1,1]) -> float32[1,4,8,8] strides=[1,1] pads=[0,0,0,0] dilations=[1,1] groups=[1]";
  EXPECT_NEAR(nanoseconds_of(*device, convolution + " | add(float32[1,4,8,8])"), 3700, 1e-3);
  EXPECT_NEAR(nanoseconds_of(*device, convolution + " | add(float32[1,4,8,8]) | relu"), 3710, 1e-3);
}

TEST(RunnerDevice, PricesPoolsAndConcatsOfChannelsBetweenPools) {
  // What surrounds a launch is there without it, too, and takes no part in its price: the pools, whose outputs are named after them.
  const auto device = opened(in_runner("--time 1e6 --each Concat=2000 --each AveragePool=700 --each MaxPool=100 --each Relu=10"));
  EXPECT_NEAR(nanoseconds_of(*device, "copy:concat(float32[1,4,8,8], float32[1,4,8,8]) -> float32[1,8,8,8] axis=[1]"), 2000, 1e-3);
  EXPECT_NEAR(nanoseconds_of(*device,
                             "pool_average(float32[1,4,8,8]) -> float32[1,4,4,4] kernel=[2,2] strides=[2,2] pads=[0,0,0,0] "
                             "dilations=[1,1] count_include_pad=[0]"),
              700, 1e-3);
}

TEST(RunnerDevice, AKernelThatEndsTheRunnerCostsItselfAlone) {
  const auto device = opened(in_runner("--crash Softmax --each Relu=500"));
  const auto crashed = device->measure(kernel(kSoftmax), Layout::plain);
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error().code, ErrorCode::unsupported);
  EXPECT_EQ(crashed.error().message, std::string("cannot run ") + kSoftmax + " here: it ended with exit status 3: the device is on fire");
  EXPECT_EQ(device->starts(), 2U) << "it was tried again in another one";
  EXPECT_NEAR(nanoseconds_of(*device, kRelu), 500, 1e-3);
  EXPECT_EQ(device->starts(), 3U);
}

TEST(RunnerDevice, AKernelThatTheRunnerRefusesIsRefused) {
  const auto device = opened(in_runner("--refuse Softmax"));
  const auto refused = device->measure(kernel(kSoftmax), Layout::plain);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, std::string("cannot run ") + kSoftmax + " here: cannot load Softmax");
  EXPECT_EQ(device->starts(), 1U);
}

TEST(RunnerDevice, AKernelOfConstantsAloneIsRefused) {
  const auto device = opened(in_runner(""));
  const std::string constants = "pointwise/relu(const float32[4]) -> float32[4]";
  const auto refused = device->measure(kernel(constants), Layout::plain);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cannot run " + constants + " here: it has no operand that changes");
}

TEST(RunnerDevice, AKernelThatTakesForEverIsNotRemembered) {
  RunnerDeviceOptions options = in_runner("--hang Softmax --each Relu=500");
  options.patience = 0.2;
  const auto device = opened(options);
  Database database = Database::open("", device->info());
  KernelCosts costs(*device, database);
  const DatabaseEntry& entry = costs.of(kernel(kSoftmax), Layout::plain);
  EXPECT_EQ(entry.ran.reason, std::string("cannot run ") + kSoftmax + " here: it did not answer within 0.2 s");
  EXPECT_EQ(database.size(), 0U);
  EXPECT_EQ(costs.of(kernel(kRelu), Layout::plain).ran.reason, "");
  EXPECT_EQ(database.size(), 1U);
}

TEST(RunnerDevice, NothingIsTimedWhenTimeIsOver) {
  RunnerDeviceOptions options = in_runner("");
  options.max_seconds = 0;
  const auto device = opened(options);
  const auto cost = device->measure(kernel(kSoftmax), Layout::plain);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().code, ErrorCode::limit);
  EXPECT_EQ(cost.error().message, std::string("cannot run ") + kSoftmax + " here: the time for timing kernels is over");
}

TEST(TimedModel, HasEachLaunchOnceMore) {
  for (const std::string& text : {
           std::string(kSoftmax),
           std::string(kTranspose),
           std::string("matmul(float32[4,64], const float32[64,32]) -> float32[4,32] | add(const float32[32]) | gelu_erf"),
           std::string("matmul(float32[2,4,8], float32[2,8,4]) -> float32[2,4,4]"),
           std::string("convolution(float32[1,4,8,8], const float32[4,4,1,1]) -> float32[1,4,8,8] strides=[1,1] pads=[0,0,0,0] "
                       "dilations=[1,1] groups=[1] | add(float32[1,4,8,8]) | relu"),
           std::string("pointwise/add(float32[4,64], const float32[64]) -> float32[4,64]"),
           std::string("normalization:layer(float32[4,64], const float32[64], const float32[64]) -> float32[4,64] axes=[1] epsilon=1e-05"),
           std::string("pointwise/greater(float32[4,64], float32[4,64]) -> bool[4,64]"),
           std::string("copy:gather(float32[10,64], int64[3]) -> float32[3,64] axis=[0]"),
       }) {
    SCOPED_TRACE(text);
    const ops::KernelSpec spec = kernel(text);
    std::vector<std::size_t> nodes;
    for (const int launches : {1, 2, 4}) {
      const auto model = kernel_model(spec, launches, 4, arrangement_of(spec));
      ASSERT_TRUE(model) << model.error().text();
      const auto document = onnx_io::Document::parse(model->bytes);
      ASSERT_TRUE(document) << document.error().text();
      nodes.push_back(document->nodes(onnx_io::GraphId{0}).size());
    }
    EXPECT_GT(nodes[1], nodes[0]);
    EXPECT_EQ(nodes[2] - nodes[1], 2 * (nodes[1] - nodes[0]));
  }
}

// The operators of a model of two launches.
std::vector<std::string> operators_of(const std::string& text) {
  const ops::KernelSpec spec = kernel(text);
  const auto model = kernel_model(spec, 2, 2, arrangement_of(spec));
  EXPECT_TRUE(model) << model.error().text();
  const auto document = onnx_io::Document::parse(model->bytes);
  std::vector<std::string> result;
  for (const onnx_io::Node& node : document->nodes(onnx_io::GraphId{0})) result.emplace_back(node.op_type);
  std::ranges::sort(result);
  return result;
}

TEST(TimedModel, WritesFunctionsAsTheGraphDoes) {
  using Names = std::vector<std::string>;
  const std::string tensor = "(float32[4,8]) -> float32[4,8]";
  EXPECT_EQ(operators_of("pointwise/gelu_erf:x;x;1.4142135;div;erf;1;add;0.5;mul;mul" + tensor),
            (Names{"Add", "Add", "Div", "Div", "Erf", "Erf", "Mul", "Mul", "Mul", "Mul"}));
  EXPECT_EQ(operators_of("matmul(float32[4,8], const float32[8,8]) -> float32[4,8] | swish:x;x;sigmoid;mul"),
            (Names{"Concat", "MatMul", "MatMul", "Mul", "Mul", "Sigmoid", "Sigmoid"}));
  // Attributes, and a value that is used again.
  EXPECT_EQ(operators_of("pointwise/hard_swish:x;hard_sigmoid~0.16666667~0.5;#0;#0;add;mul" + tensor),
            (Names{"Add", "Add", "HardSigmoid", "HardSigmoid", "Mul", "Mul"}));
  for (const std::string wrong : {"x;x", "mul", "x;#0;mul", "x;fly", "x;hard_sigmoid~a", "x;1.5e;mul"}) {
    const ops::KernelSpec spec = kernel("pointwise/gelu_erf:" + wrong + tensor);
    EXPECT_FALSE(kernel_model(spec, 2, 2, arrangement_of(spec))) << wrong;
  }
}

TEST(TimedModel, OperandsOfConvolutionsComeOutOfOne) {
  using Names = std::vector<std::string>;
  const std::string rest = " strides=[1,1] pads=[0,0,0,0] dilations=[1,1] groups=[1]";
  // Both launches and where their operand comes from; each result goes to a pool.
  EXPECT_EQ(operators_of("convolution(float32[1,8,6,6], const float32[24,8,1,1]) -> float32[1,24,6,6]" + rest),
            (Names{"Conv", "Conv", "Conv", "MaxPool", "MaxPool"}));
  // A model is given its images.
  EXPECT_EQ(operators_of("convolution(float32[1,3,6,6], const float32[24,3,1,1]) -> float32[1,24,6,6]" + rest),
            (Names{"Conv", "Conv", "MaxPool", "MaxPool"}));
  // The first residual comes out of one as well, the second is the first result.
  EXPECT_EQ(
      operators_of("convolution(float32[1,8,6,6], const float32[24,8,1,1]) -> float32[1,24,6,6]" + rest + " | add(float32[1,24,6,6])"),
      (Names{"Add", "Add", "Conv", "Conv", "Conv", "Conv", "MaxPool"}));
}

}  // namespace
}  // namespace xflow::cost::runner
