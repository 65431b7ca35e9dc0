// Placement through the public interface.
#include "xflow/place.h"

#include <gtest/gtest.h>

#include <string>

namespace xflow {
namespace {

// Two nodes of 2 ms on accelerators or 9 ms on the CPU, with a transfer of 1 ms.
const std::string kInstance = R"({"maxFPGAs": 2, "maxCPUs": 1, "maxSizePerFPGA": 3, "nodes": [
  {"id": 1, "cpuLatency": 9, "fpgaLatency": 2, "size": 2, "supportedOnFpga": 1, "isBackwardNode": 0},
  {"id": 2, "cpuLatency": 9, "fpgaLatency": 2, "size": 2, "supportedOnFpga": 1, "isBackwardNode": 0}],
  "edges": [{"sourceId": 1, "destId": 2, "cost": 1}]})";

TEST(Place, FindsThePlacementOfTwoNodes) {
  PlaceOptions options;
  options.steps = 1000;
  options.budget = Seconds(1e10);
  const auto load = place(kInstance, options);
  ASSERT_TRUE(load) << load.error().text();
  EXPECT_DOUBLE_EQ(load->value.count(), 3);
  EXPECT_TRUE(load->fits_memory());
  ASSERT_EQ(load->devices.size(), 3U);
  EXPECT_DOUBLE_EQ(load->devices[0].load.count(), 3);
  options.objective = PlacementObjective::latency;
  const auto latency = place(kInstance, options);
  ASSERT_TRUE(latency) << latency.error().text();
  EXPECT_DOUBLE_EQ(latency->value.count(), 6);
}

TEST(Place, EvaluatesASplit) {
  const auto split = evaluate_split(kInstance, R"({"fpgas": [{"nodes": [1, 2]}], "cpus": []})", PlacementObjective::max_load);
  ASSERT_TRUE(split) << split.error().text();
  EXPECT_DOUBLE_EQ(split->value.count(), 4);
  EXPECT_FALSE(split->fits_memory());
  EXPECT_EQ(split->method, PlacementMethod::split);
  // The bound is one of placements that fit.
  EXPECT_LE(split->bound.count(), 3 + 1e-9);
}

TEST(Place, NamesWhatIsWrong) {
  const auto document = place("{}");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error(), (Error{ErrorCode::unreadable, "the instance has no 'maxFPGAs'", "instance:1"}));
  const auto split = evaluate_split(kInstance, "{}", PlacementObjective::latency);
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error(), (Error{ErrorCode::unreadable, "the split has no 'fpgas'", "split:1"}));
  PlaceOptions options;
  options.method = PlacementMethod::split;
  const auto method = place(kInstance, options);
  ASSERT_FALSE(method);
  EXPECT_EQ(method.error(), (Error{ErrorCode::invalid_argument, "the objective max-load has no method 'split'", ""}));
}

TEST(Place, WritesItsReason) {
  PlaceOptions options;
  options.budget = Seconds(0);
  const auto result = place(kInstance, options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->stop, PlacementStop::time_limit);
  EXPECT_NE(result->to_text().find("stop        time limit after 0 steps, seed 1\n"), std::string::npos) << result->to_text();
  EXPECT_NE(result->to_json().find("\"stop\": \"time limit\""), std::string::npos);
}

}  // namespace
}  // namespace xflow
