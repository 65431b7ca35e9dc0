// One whole optimisation for each kind of device, from bytes to bytes. That of a GPU is in gpu_optimisation_test.cpp: it is one that is
// this CPU, since a device that opens GPUs is a library of its own.
#include <gtest/gtest.h>

#include <string>

#include "src/onnx/document/document.h"
#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "tests/places.h"
#include "xflow/optimize.h"

namespace xflow {
namespace {

using onnx_io::WireWriter;

std::string float_info(std::string_view name) {
  const std::vector<onnx_io::Dimension> dims = {{onnx_io::Dimension::Kind::value, 256, {}}, {onnx_io::Dimension::Kind::value, 512, {}}};
  return onnx_io::value_info_message(name, ir::DataType::float32, dims);
}

// Two transposes that cancel, a product by a constant and a Relu.
std::string model() {
  const std::string bytes(4, '\0');
  WireWriter graph;
  graph.bytes(1, onnx_io::NodeBuilder("Transpose").input("x").output("a").message());
  graph.bytes(1, onnx_io::NodeBuilder("Transpose").input("a").output("b").message());
  graph.bytes(1, onnx_io::NodeBuilder("Mul").input("b").input("zero").output("c").message());
  graph.bytes(1, onnx_io::NodeBuilder("Relu").input("c").output("y").message());
  graph.bytes(2, "g");
  graph.bytes(5, onnx_io::tensor_message("zero", ir::DataType::float32, {}, bytes));
  graph.bytes(11, float_info("x"));
  graph.bytes(12, float_info("y"));
  WireWriter opset;
  opset.bytes(1, "").varint(2, 17);
  return WireWriter().varint(1, 8).bytes(8, opset.view()).bytes(7, graph.view()).take();
}

void expect_improved(const OptimizeOptions& options) {
  const auto result = optimize(model(), options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->report.improved) << result->report.to_text();
  const auto document = onnx_io::Document::parse(result->model);
  ASSERT_TRUE(document) << document.error().text();
  for (const onnx_io::Node& node : document->nodes()) EXPECT_NE(node.op_type, "Transpose");
}

OptimizeOptions options() {
  OptimizeOptions options;
  options.search.max_states = 100;
  options.device.cost_database = "";
  return options;
}

TEST(DeviceKinds, TheCpuOptimisesAModel) { expect_improved(options()); }

TEST(DeviceKinds, AProfileOptimisesAModel) {
  OptimizeOptions own = options();
  own.device.name = "profile:" + places::repository() + "/tests/fuzz/seeds/profile/roofline.xprof";
  expect_improved(own);
}

TEST(DeviceKinds, ARunnerOptimisesAModel) {
  OptimizeOptions own = options();
  own.device.runner = "'" + places::test_runner() + "' --time 60e6 --each Transpose=5e6 --noise 0.001";
  expect_improved(own);
}

// The search ends, its result is run in the runner, and that hangs: it is not waited for as long as it may measure.
TEST(DeviceKinds, ARunnerThatHangsAfterAnInterruptionIsNotWaitedFor) {
  OptimizeOptions own = options();
  own.device.name = "cpu";
  own.device.runner = "'" + places::test_runner() + "' --hang Relu";
  own.validation.max_measure_time = own.time_limit.emplace(Seconds(1e6));
  const auto interrupt = [&](const OptimizeProgress& progress) {
    if (progress.phase == Phase::checking) own.cancel.finish();
  };
  const auto result = optimize(model(), own, interrupt);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->report.improved);
  EXPECT_EQ(result->report.reason, "run from end to end, it could not be run: original: it did not answer within 10 s");
  EXPECT_EQ(result->model, model());
}

}  // namespace
}  // namespace xflow
