// Plans that are read, and those that follow a policy. Messages are tested with `xflow simulate`.
#include "src/parallel/device_plan.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace xflow::parallel {
namespace {

using Devices = std::vector<std::uint32_t>;

Workload workload_of_times(const std::vector<double>& times, std::size_t devices) {
  Workload workload;
  for (const double time : times) {
    workload.nodes.push_back({std::vector<double>(devices, 2 * time), 0});
    workload.nodes.back().seconds[0] = time;
  }
  return workload;
}

TEST(ReadPlan, GivesDevicesByNameNumberAndDefault) {
  const auto cluster = preset_cluster("slow-16");
  ASSERT_TRUE(cluster);
  const std::array<std::string_view, 4> names = {"a", "", "same", "same"};
  const auto plan =
      read_plan(R"({"version": 1, "nodes": [{"node": 3, "device": "gpu2"}, {"node": "a", "device": "gpu15"}]})", "p", names, *cluster);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(*plan, (std::vector<std::optional<std::uint32_t>>{15, std::nullopt, std::nullopt, 2}));
  const auto others = read_plan(R"({"version": 1, "default": "gpu1", "nodes": [{"node": 1, "device": "gpu0"}]})", "p", names, *cluster);
  ASSERT_TRUE(others) << others.error().text();
  EXPECT_EQ(*others, (std::vector<std::optional<std::uint32_t>>{1, 0, 1, 1}));
}

TEST(ChainPlan, HasPartsOfEqualTimeOnTheFastestDevice) {
  EXPECT_EQ(chain_plan(workload_of_times({1, 1, 1, 1}, 2), 2), (Devices{0, 0, 1, 1}));
  EXPECT_EQ(chain_plan(workload_of_times({6, 1, 1, 1, 1, 1, 1}, 2), 2), (Devices{0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(chain_plan(workload_of_times({1, 1}, 5), 5), (Devices{1, 3}));
  EXPECT_EQ(chain_plan(workload_of_times({0, 0, 0}, 2), 2), (Devices{0, 0, 0}));
  EXPECT_EQ(chain_plan(workload_of_times({1, 0}, 1), 1), (Devices{0, 0}));
  EXPECT_EQ(chain_plan(workload_of_times({0, 1, 0}, 2), 2), (Devices{0, 1, 1}));
}

TEST(RoundRobinPlan, TakesDevicesByTurns) {
  EXPECT_EQ(round_robin_plan(workload_of_times({1, 1, 1, 1, 1}, 3), 3), (Devices{0, 1, 2, 0, 1}));
}

}  // namespace
}  // namespace xflow::parallel
