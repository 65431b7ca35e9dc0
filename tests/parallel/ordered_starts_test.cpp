// Plans of a whole step that a search begins with.
#include "src/parallel/ordered_starts.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "src/parallel/fused_workload.h"
#include "src/parallel/large_graphs.h"
#include "tests/parallel/ordered_graphs.h"

namespace xflow::parallel {
namespace {

// Devices of one host. A transfer of n bytes takes 1 + n.
DeviceCluster like_devices(std::uint32_t count, double memory) {
  DeviceCluster cluster{"like", {}, 1, {1, 1}, {}};
  for (std::uint32_t k = 0; k < count; ++k) cluster.devices.push_back({std::to_string(k), "x", 0, memory, {0, 1, 1}});
  return cluster;
}

TEST(UpwardRanks, AreLongestTimesToTheEnd) {
  // Times are means of 1 and 3, and so on. Node 0 -> 1 -> 3, and 0 -> 2.
  const Workload workload{{{{1, 3}, 0}, {{4, 4}, 0}, {{9, 9}, 0}, {{0, 2}, 0}}, {{0, 2, {1}}, {0, 1, {2}}, {1, 5, {3}}}};
  EXPECT_EQ(upward_ranks(workload, like_devices(2, 0)), (std::vector<double>{2 + (1 + 2) + 11, 4 + (1 + 5) + 1, 9, 1}));
  const Workload alone{{{{1}, 0}, {{4}, 0}}, {{0, 2, {1}}}};
  EXPECT_EQ(upward_ranks(alone, like_devices(1, 0)), (std::vector<double>{5, 4}));
}

TEST(HeftPlan, SpreadsIndependentNodesAndKeepsChainsTogether) {
  const DeviceCluster cluster = like_devices(2, 100);
  // Two chains of two nodes.
  const Workload workload{{{{5, 5}, 0}, {{5, 5}, 0}, {{5, 5}, 0}, {{5, 5}, 0}}, {{0, 9, {2}}, {1, 9, {3}}}};
  const OrderedProblem problem{workload, cluster, {}};
  const OrderedPlan plan = heft_plan(problem, {});
  EXPECT_EQ(plan.devices, (std::vector<std::uint32_t>{0, 1, 0, 1}));
  EXPECT_EQ(plan.priorities, (std::vector<float>{20, 20, 5, 5}));
}

TEST(HeftPlan, RespectsTheMemory) {
  const DeviceCluster cluster = like_devices(2, 10);
  const Workload workload{{{{5, 5}, 6}, {{5, 5}, 6}}, {{0, 50, {1}}}};
  const OrderedProblem problem{workload, cluster, {}};
  EXPECT_EQ(OrderedSimulator(problem).simulate(heft_plan(problem, {}))->missing, 0);
  const Workload small{{{{5, 5}, 4}, {{5, 5}, 6}}, {{0, 50, {1}}}};
  const OrderedPlan plan = heft_plan({small, cluster, {}}, {});
  EXPECT_EQ(plan.devices[0], plan.devices[1]);
}

TEST(HeftPlan, OfGeneratedGraphsIsNotWorseThanOneDevice) {
  for (const char* name : {"dgx-h100", "slow-16"}) {
    const DeviceCluster cluster = *preset_cluster(name);
    for (const std::uint32_t nodes : {100U, 1000U, 5000U}) {
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const LargeGraph graph = large_graph(nodes, seed, cluster).value();
        const OrderedProblem problem{graph.workload, cluster, graph.fusions};
        OrderedSimulator simulator(problem);
        for (const std::vector<bool>& fused : {std::vector<bool>(graph.fusions.size(), false), chain_fusions(problem)}) {
          const OrderedPlan plan = heft_plan(problem, fused);
          ASSERT_TRUE(check_ordered_plan(problem, plan));
          EXPECT_EQ(plan.fused, fused);
          EXPECT_LE(simulator.simulate(plan)->seconds, simulator.simulate(one_device_plan(problem, fused, 0))->seconds)
              << name << " " << nodes << " " << seed;
        }
      }
    }
  }
}

TEST(IntervalPlan, OfChainsHasOneChainForEachDevice) {
  const DeviceCluster cluster = like_devices(3, 100);
  Workload workload;
  constexpr std::uint32_t kLength = 6;
  for (std::uint32_t node = 0; node < 3 * kLength; ++node) {
    workload.nodes.push_back({{1, 1, 1}, 0});
    workload.tensors.push_back({node, 4, {}});
    if (node + 3 < 3 * kLength) workload.tensors.back().readers.push_back(node + 3);
  }
  const OrderedProblem problem{workload, cluster, {}};
  for (const IntervalOrder order : {IntervalOrder::depth_first, IntervalOrder::clustered}) {
    RandomNumbers random(1);
    EXPECT_EQ(OrderedSimulator(problem).simulate(interval_plan(problem, {}, order, random))->seconds, kLength);
  }
}

TEST(IntervalPlan, IsAPlanWhateverTheProblem) {
  RandomNumbers random(3);
  for (int round = 0; round < 200; ++round) {
    const OrderedCase made = random_ordered_case(random, 30);
    const std::vector<bool> fused = chain_fusions(made.problem());
    for (const IntervalOrder order : {IntervalOrder::depth_first, IntervalOrder::clustered})
      ASSERT_TRUE(check_ordered_plan(made.problem(), interval_plan(made.problem(), fused, order, random)));
    ASSERT_TRUE(check_ordered_plan(made.problem(), heft_plan(made.problem(), fused)));
  }
}

TEST(IntervalPlan, OfManyNodesHasEvenLoads) {
  const DeviceCluster cluster = *preset_cluster("dgx-h100");
  const LargeGraph graph = large_graph(20'000, 1, cluster).value();
  const OrderedProblem problem{graph.workload, cluster, graph.fusions};
  const std::vector<bool> fused(graph.fusions.size(), false);
  OrderedSimulator simulator(problem);
  const double whole = simulator.simulate(one_device_plan(problem, fused, 0))->seconds;
  for (const IntervalOrder order : {IntervalOrder::depth_first, IntervalOrder::clustered}) {
    RandomNumbers random(1);
    ASSERT_TRUE(simulator.simulate(interval_plan(problem, fused, order, random)));
    for (const double busy : simulator.busy()) EXPECT_LT(busy, 1.2 * whole / cluster.size());
  }
}

}  // namespace
}  // namespace xflow::parallel
