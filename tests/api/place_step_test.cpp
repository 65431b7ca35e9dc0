// Planned steps through the public interface.
#include <gtest/gtest.h>
#include <xflow/place_step.h>

#include <string>

namespace xflow {
namespace {

// Two nodes of which the first one may be fused, and one beside them.
const std::string kStep = R"({"maxFPGAs": 2, "maxCPUs": 0, "maxSizePerFPGA": 100,
 "nodes": [
  {"id": 1, "cpuLatency": 30, "fpgaLatency": 3, "size": 4, "supportedOnFpga": true, "isBackwardNode": false},
  {"id": 2, "cpuLatency": 20, "fpgaLatency": 2, "size": 5, "supportedOnFpga": true, "isBackwardNode": false},
  {"id": 3, "cpuLatency": 10, "fpgaLatency": 1, "size": 6, "supportedOnFpga": true, "isBackwardNode": false}],
 "edges": [{"sourceId": 1, "destId": 2, "cost": 0.5}],
 "fusions": [{"nodeId": 1, "intoId": 2, "saved": 0.5}]})";

TEST(PlaceStep, PlansDevicesOrderAndFusions) {
  const auto step = place_step(kStep);
  ASSERT_TRUE(step) << step.error().text();
  EXPECT_EQ(step->cluster, "dgx-h100");
  EXPECT_EQ(step->stop, PlacementStop::optimal);
  EXPECT_EQ(step->method, StepMethod::local);
  EXPECT_DOUBLE_EQ(step->value.count(), 4.5);
  EXPECT_DOUBLE_EQ(step->bound.count(), 4.5);
  EXPECT_EQ(step->gap(), 0);
  EXPECT_EQ(step->missing(), 0);
  EXPECT_EQ(step->choices, 1U);
  ASSERT_EQ(step->fusions.size(), 1U);
  EXPECT_EQ(step->fusions[0].node, 1);
  EXPECT_EQ(step->fusions[0].into, 2);
  double busy = 0;
  for (const StepDevice& device : step->devices) {
    busy += device.busy.count();
    if (!device.nodes.empty() && device.nodes[0] != 3) {
      EXPECT_EQ(device.nodes, (std::vector<std::int64_t>{1, 2}));
    }
  }
  EXPECT_DOUBLE_EQ(busy, 5.5);
}

TEST(PlaceStep, RefusesWhatItCannotDo) {
  PlaceStepOptions options;
  options.method = StepMethod::policy;
  EXPECT_EQ(place_step(kStep, options).error().text(), "the method 'policy' needs a policy");
  options.policy = "missing.npz";
  EXPECT_EQ(place_step(kStep, options).error().code, ErrorCode::io);
  options.method = StepMethod::heft;
  EXPECT_EQ(place_step(kStep, options).error().text(), "the method 'heft' does not go with a policy");
  options = {};
  options.cluster = "nothing";
  EXPECT_EQ(place_step(kStep, options).error().code, ErrorCode::unreadable);
  EXPECT_EQ(place_step("{", {}).error().text(), "instance:1: not JSON; expected an instance of a placement");
  EXPECT_EQ(place_step_file("missing.json").error().code, ErrorCode::unreadable);
  options = {};
  options.cancel.stop();
  EXPECT_EQ(place_step(kStep, options).error().text(), "cancelled");
}

}  // namespace
}  // namespace xflow
