// Simulation through the public interface.
#include "xflow/simulate.h"

#include <gtest/gtest.h>

namespace xflow {
namespace {

TEST(Simulate, NamesTheBuiltInClusters) { EXPECT_EQ(cluster_names(), (std::vector<std::string>{"dgx-h100", "flexflow-k80", "slow-16"})); }

TEST(Simulate, ReturnsErrorsOfItsFiles) {
  SimulateOptions options;
  options.cluster = "dgx";
  const auto no_cluster = simulate("no.onnx", options);
  ASSERT_FALSE(no_cluster);
  EXPECT_EQ(no_cluster.error().code, ErrorCode::unreadable);
  options.cluster = "dgx-h100";
  const auto no_model = simulate("no.onnx", options);
  ASSERT_FALSE(no_model);
  EXPECT_EQ(no_model.error().text(), "no.onnx: cannot open: No such file or directory");
}

TEST(SimulationResult, HasSharesOfAStepAndMissingMemory) {
  SimulationResult result;
  EXPECT_EQ(result.share(Seconds(1)), 0);
  result.step = Seconds(4);
  EXPECT_EQ(result.share(Seconds(1)), 0.25);
  result.devices.push_back({"a", "x", 0, 1, Seconds(1), 2, 10, 10});
  EXPECT_TRUE(result.fits_memory());
  result.devices.push_back({"b", "x", 0, 1, Seconds(1), 2, 12, 10});
  EXPECT_FALSE(result.fits_memory());
  EXPECT_EQ(result.devices[1].missing(), 2);
}

}  // namespace
}  // namespace xflow
