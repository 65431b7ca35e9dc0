// The simulated step in which priorities order the nodes, and nodes are fused.
#include "src/parallel/ordered_step.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/parallel/ordered_graphs.h"

namespace xflow::parallel {
namespace {

// Two devices on one host and a third one on another. A transfer of n bytes takes 1 + n, or 2 + 2n.
DeviceCluster three_devices() {
  DeviceCluster cluster{"three", {}, 2, {1, 1}, {2, 0.5}};
  cluster.devices = {{"a", "x", 0, 10, {0, 1, 1}}, {"b", "x", 0, 10, {0, 1, 1}}, {"c", "x", 1, 10, {0, 1, 1}}};
  return cluster;
}

WorkloadNode takes(double seconds, double bytes = 0) { return {{seconds, seconds, seconds}, bytes}; }

OrderedStep step_of(const OrderedCase& made, const OrderedPlan& plan) {
  EXPECT_TRUE(check_workload(made.workload, made.cluster.size()));
  EXPECT_TRUE(check_fusions(made.workload, made.fusions));
  EXPECT_TRUE(check_ordered_plan(made.problem(), plan));
  return OrderedSimulator(made.problem()).simulate(plan).value();
}

// Two sources on device 0; a long node on device 1 needs the second one.
OrderedCase two_sources() { return {three_devices(), {{takes(4), takes(2), takes(10)}, {{0, 1, {}}, {1, 3, {2}}}}, {}}; }

TEST(OrderedStep, RunsReadyNodesByPriority) {
  const OrderedCase made = two_sources();
  EXPECT_EQ(step_of(made, {{0, 0, 1}, {0, 0, 0}, {}}).seconds, 4 + 2 + (1 + 3) + 10);
  EXPECT_EQ(step_of(made, {{0, 0, 1}, {0, 1, 0}, {}}).seconds, 2 + (1 + 3) + 10);
  EXPECT_EQ(step_of(made, {{0, 0, 1}, {-2, -1, 0}, {}}).seconds, 2 + (1 + 3) + 10);
  EXPECT_EQ(step_of(made, {{0, 0, 1}, {-0.0F, 0.0F, 0}, {}}).seconds, 4 + 2 + (1 + 3) + 10);
  EXPECT_EQ(step_of(made, {{0, 0, 2}, {0, 1, 0}, {}}).seconds, 2 + (2 + 2 * 3) + 10);
}

TEST(OrderedStep, NeverWaitsWhileANodeIsReady) {
  // Node 2 has the highest priority, but its operand arrives when node 1 has begun.
  const OrderedCase made{three_devices(), {{takes(1), takes(9), takes(5)}, {{0, 1, {2}}}}, {}};
  OrderedSimulator simulator(made.problem());
  EXPECT_EQ(simulator.simulate({{1, 0, 0}, {0, 0, 9}, {}})->seconds, 9 + 5);
  EXPECT_EQ(std::vector(simulator.starts().begin(), simulator.starts().end()), (std::vector<double>{0, 0, 9}));
  EXPECT_EQ(std::vector(simulator.busy().begin(), simulator.busy().end()), (std::vector<double>{14, 1, 0}));
}

TEST(OrderedStep, SendsATensorOnceToEachDevice) {
  const OrderedCase made{three_devices(), {{takes(1), takes(1), takes(1), takes(1)}, {{0, 4, {1, 2, 3}}}}, {}};
  EXPECT_EQ(step_of(made, {{0, 1, 1, 0}, {0, 0, 0, 0}, {}}).seconds, 1 + (1 + 4) + 2);
  // The link inside the host and the port do not wait for each other.
  EXPECT_EQ(step_of(made, {{0, 1, 2, 0}, {0, 0, 0, 0}, {}}).seconds, 1 + (2 + 2 * 4) + 1);
}

TEST(OrderedStep, SendsTheTensorOfTheMostUrgentReaderFirst) {
  // Both tensors are ready at 1. Their readers take 1 and 8.
  const OrderedCase made{three_devices(), {{takes(1), takes(1), takes(8)}, {{0, 3, {1}}, {0, 2, {2}}}}, {}};
  EXPECT_EQ(step_of(made, {{0, 1, 1}, {0, 0, 0}, {}}).seconds, 1 + 4 + 3 + 8);
  EXPECT_EQ(step_of(made, {{0, 1, 1}, {0, 0, 1}, {}}).seconds, 1 + 3 + 8 + 1);
}

TEST(OrderedStep, SharesThePortOfAHost) {
  DeviceCluster cluster = three_devices();
  cluster.devices.push_back({"d", "x", 1, 10, {0, 1, 1}});
  const auto own = [](double seconds) { return WorkloadNode{{seconds, seconds, seconds, seconds}, 0}; };
  const OrderedCase made{cluster, {{own(1), own(1), own(20)}, {{0, 1, {1, 2}}}}, {}};
  EXPECT_EQ(step_of(made, {{0, 2, 3}, {0, 0, 0}, {}}).seconds, 1 + 4 + 4 + 20);
  EXPECT_EQ(step_of(made, {{0, 2, 3}, {0, 0, 1}, {}}).seconds, 1 + 4 + 20);
}

TEST(OrderedStep, HasAChainOfTasksWithoutGaps) {
  std::vector<std::uint32_t> nodes;
  const OrderedCase made = two_sources();
  OrderedSimulator simulator(made.problem());
  ASSERT_TRUE(simulator.simulate({{0, 0, 1}, {0, 0, 0}, {}}));
  simulator.find_critical_nodes(nodes);
  EXPECT_EQ(nodes, (std::vector<std::uint32_t>{2, 1, 0}));
  ASSERT_TRUE(simulator.simulate({{0, 0, 1}, {0, 1, 0}, {}}));
  simulator.find_critical_nodes(nodes);
  EXPECT_EQ(nodes, (std::vector<std::uint32_t>{2, 1}));
  // Its tasks begin one after the other, the first one at 0.
  RandomNumbers random(6);
  for (int round = 0; round < 100; ++round) {
    const OrderedCase other = random_ordered_case(random, 30);
    OrderedSimulator one(other.problem());
    const OrderedPlan plan = random_ordered_plan(other, random);
    const double seconds = one.simulate(plan)->seconds;
    one.find_critical_nodes(nodes);
    ASSERT_FALSE(nodes.empty());
    EXPECT_EQ(one.starts()[nodes.back()], 0);
    for (std::size_t k = 1; k < nodes.size(); ++k) EXPECT_LE(one.starts()[nodes[k]], one.starts()[nodes[k - 1]]);
    EXPECT_LE(one.starts()[nodes.front()], seconds);
  }
}

TEST(OrderedStep, CountsBytesBeyondTheMemory) {
  const OrderedCase made{three_devices(), {{takes(1, 8), takes(1, 7), takes(1, 12)}, {}}, {}};
  OrderedSimulator simulator(made.problem());
  EXPECT_EQ(simulator.simulate({{0, 0, 1}, {0, 0, 0}, {}}), (OrderedStep{2, 5 + 2}));
  EXPECT_EQ(simulator.resident()[0], 15);
  EXPECT_EQ(simulator.simulate({{0, 1, 2}, {0, 0, 0}, {}}), (OrderedStep{1, 2}));
}

TEST(OrderedStep, OfFusedNodesSavesWhatTheFusionSays) {
  // A chain of three nodes whose last one also reads node 3, which takes long.
  OrderedCase made{three_devices(), {{takes(4, 1), takes(2, 2), takes(6), takes(3, 4)}, {{0, 5, {1}}, {1, 5, {3}}, {2, 5, {3}}}}, {}};
  made.fusions = {{0, 1, 1.5}, {1, 3, 0.5}};
  EXPECT_EQ(step_of(made, {{0, 0, 0, 0}, {0, 0, 0, 0}, {false, false}}).seconds, 15);
  EXPECT_EQ(step_of(made, {{0, 0, 0, 0}, {0, 0, 0, 0}, {true, false}}).seconds, 15 - 1.5);
  EXPECT_EQ(step_of(made, {{0, 0, 0, 0}, {0, 0, 0, 0}, {true, true}}).seconds, 15 - 2);
  // A task waits for all operands of its nodes: nodes 0, 1 and 3 begin when node 2 has ended elsewhere.
  EXPECT_EQ(step_of(made, {{0, 0, 1, 0}, {0, 0, 0, 0}, {false, false}}).seconds, 6 + (1 + 5) + 3);
  EXPECT_EQ(step_of(made, {{0, 0, 1, 0}, {0, 0, 0, 0}, {true, true}}).seconds, 6 + (1 + 5) + 9 - 2);
  // It is on the device of its root, with all bytes.
  OrderedSimulator simulator(made.problem());
  EXPECT_EQ(simulator.simulate({{1, 2, 0, 0}, {0, 0, 0, 0}, {true, true}})->seconds, 15 - 2);
  EXPECT_EQ(simulator.resident()[0], 7);
  EXPECT_EQ(simulator.busy()[1], 0);
  // It takes at least no time.
  made.fusions[0].saved = 100;
  EXPECT_EQ(step_of(made, {{0, 0, 0, 0}, {0, 0, 0, 0}, {true, false}}).seconds, 6 + 3);
}

TEST(OrderedStep, FollowsTheDefinition) {
  RandomNumbers random(5);
  std::uint32_t fused = 0;
  for (int round = 0; round < 600; ++round) {
    const OrderedCase made = random_ordered_case(random, 30);
    ASSERT_TRUE(check_workload(made.workload, made.cluster.size()));
    ASSERT_TRUE(check_fusions(made.workload, made.fusions));
    OrderedSimulator simulator(made.problem());
    for (int k = 0; k < 4; ++k) {
      const OrderedPlan plan = random_ordered_plan(made, random);
      ASSERT_TRUE(check_ordered_plan(made.problem(), plan));
      for (const bool is_fused : plan.fused) fused += is_fused ? 1 : 0;
      const OrderedStep expected = LiteralStep(made.problem(), plan).run();
      ASSERT_EQ(simulator.simulate(plan), expected) << round;
      // Limits do not change what is within them, and buffers do not remember a simulation that was stopped.
      ASSERT_EQ(simulator.simulate(plan, expected.seconds), expected) << round;
      if (expected.seconds > 0) {
        ASSERT_FALSE(simulator.simulate(plan, expected.seconds * 0.99)) << round;
      }
      ASSERT_EQ(OrderedSimulator(made.problem()).simulate(plan), expected) << round;
    }
  }
  EXPECT_GT(fused, 1000U);
}

TEST(OrderedStep, ChoicesThatAreNoFusionsAreRefused) {
  const Workload workload{{takes(1), takes(1), takes(1)}, {{0, 1, {1}}, {0, 1, {1}}, {1, 1, {2}}, {1, 1, {}}}};
  EXPECT_TRUE(check_fusions(workload, std::vector<FusionChoice>{{0, 1, 1}}));
  EXPECT_FALSE(check_fusions(workload, std::vector<FusionChoice>{{0, 2, 1}}));             // not the reader
  EXPECT_FALSE(check_fusions(workload, std::vector<FusionChoice>{{1, 2, 1}}));             // has a result
  EXPECT_FALSE(check_fusions(workload, std::vector<FusionChoice>{{2, 3, 1}}));             // no reader
  EXPECT_FALSE(check_fusions(workload, std::vector<FusionChoice>{{7, 8, 1}}));             // no node
  EXPECT_FALSE(check_fusions(workload, std::vector<FusionChoice>{{0, 1, 1}, {0, 1, 1}}));  // twice
  EXPECT_FALSE(check_fusions(workload, std::vector<FusionChoice>{{0, 1, std::numeric_limits<double>::infinity()}}));
}

TEST(OrderedStep, PlansOfOtherProblemsAreRefused) {
  OrderedCase made = two_sources();
  made.fusions = {{1, 2, 1}};
  const OrderedPlan plan{{0, 0, 1}, {0, 0, 0}, {false}};
  EXPECT_TRUE(check_ordered_plan(made.problem(), plan));
  OrderedPlan other = plan;
  other.devices[1] = 3;
  EXPECT_FALSE(check_ordered_plan(made.problem(), other));
  other = plan;
  other.priorities[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(check_ordered_plan(made.problem(), other));
  other = plan;
  other.fused.clear();
  EXPECT_FALSE(check_ordered_plan(made.problem(), other));
  other = plan;
  other.devices.pop_back();
  EXPECT_FALSE(check_ordered_plan(made.problem(), other));
}

}  // namespace
}  // namespace xflow::parallel
