// A whole optimisation, from bytes to bytes, on a GPU that is this CPU.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "src/devices/device_costs.h"
#include "src/devices/gpu/gpu_device.h"
#include "src/onnx/document/document.h"
#include "src/onnx/document/document_builder.h"
#include "src/onnx/document/wire.h"
#include "src/optimizer/optimize_model.h"
#include "src/optimizer/session.h"
#include "tests/devices/host_gpu.h"

namespace xflow::api {
namespace {

using onnx_io::WireWriter;

std::string float_info(std::string_view name) {
  const std::vector<onnx_io::Dimension> dims = {{onnx_io::Dimension::Kind::value, 16, {}}, {onnx_io::Dimension::Kind::value, 32, {}}};
  return onnx_io::value_info_message(name, ir::DataType::float32, dims);
}

// Two transposes that cancel and a Relu.
std::string model() {
  WireWriter graph;
  graph.bytes(1, onnx_io::NodeBuilder("Transpose").input("x").output("a").message());
  graph.bytes(1, onnx_io::NodeBuilder("Transpose").input("a").output("b").message());
  graph.bytes(1, onnx_io::NodeBuilder("Relu").input("b").output("y").message());
  graph.bytes(2, "g");
  graph.bytes(11, float_info("x"));
  graph.bytes(12, float_info("y"));
  WireWriter opset;
  opset.bytes(1, "").varint(2, 17);
  return WireWriter().varint(1, 8).bytes(8, opset.view()).bytes(7, graph.view()).take();
}

TEST(DeviceKinds, AGpuOptimisesAModel) {
  OptimizeOptions options;
  options.device.name = "cuda";
  options.device.cost_database = "";
  options.search.max_states = 100;
  options.validation.gate = false;
  auto costs = std::make_unique<DeviceCosts>();
  costs->opened_gpu = std::make_unique<xflow::testing::HostGpu>();
  costs->gpu = std::make_unique<cost::gpu::GpuDevice>(*costs->opened_gpu);
  costs->options = options.device;
  Session session;
  session.use(std::move(costs));
  const auto result = optimize_model(model(), options, {}, session);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->report.improved) << result->report.to_text();
  EXPECT_TRUE(result->report.device.starts_with("cuda: this CPU")) << result->report.device;
  EXPECT_GT(result->report.kernels.measured, 0U);
  const auto document = onnx_io::Document::parse(result->model);
  ASSERT_TRUE(document) << document.error().text();
  ASSERT_EQ(document->nodes().size(), 1U);
  EXPECT_EQ(document->nodes()[0].op_type, "Relu");
}

}  // namespace
}  // namespace xflow::api
