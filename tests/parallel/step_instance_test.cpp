// Instances as steps on a cluster, and lower bounds of such steps.
#include "src/parallel/step_instance.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/parallel/ordered_bound.h"
#include "src/parallel/ordered_search.h"
#include "tests/parallel/ordered_graphs.h"

namespace xflow::parallel {
namespace {

DeviceCluster two_devices() {
  DeviceCluster cluster{"two", {}, 1, {1e-3, 1000}, {1e-3, 1000}};
  for (const char* name : {"a", "b"}) cluster.devices.push_back({name, "x", 0, 100, {0, 1, 1}});
  return cluster;
}

TEST(StepInstance, HasTheTimesOfAcceleratorsAndTheBytesOfTransfers) {
  PlacementInstance instance;
  instance.nodes = {{.id = 7, .cpu_time = 50, .accelerator_time = 4, .bytes = 30},
                    {.id = 5, .cpu_time = 60, .accelerator_time = 2, .bytes = 10, .on_accelerator = false}};
  instance.edges = {{1, 0}};
  instance.output_cost = {0, 3};
  instance.fusions = {{1, 0, 1.5}};
  const auto step = step_instance(instance, two_devices(), "f.json");
  ASSERT_TRUE(step) << step.error().text();
  EXPECT_EQ(step->nodes, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(step->workload.nodes[0].seconds, (std::vector<double>{0.06, 0.06}));
  EXPECT_EQ(step->workload.nodes[1].seconds, (std::vector<double>{0.004, 0.004}));
  EXPECT_EQ(step->workload.nodes[1].bytes, 30);
  ASSERT_EQ(step->workload.tensors.size(), 1U);
  EXPECT_NEAR(step->workload.tensors[0].bytes, 2, 1e-12);
  EXPECT_EQ(step->workload.tensors[0].readers, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(step->fusions, (std::vector<FusionChoice>{{0, 1, 0.0015}}));
}

TEST(StepInstance, NeedsAnOrder) {
  PlacementInstance instance;
  instance.nodes = {{.id = 1}, {.id = 2}};
  instance.edges = {{0, 1}, {1, 0}};
  instance.output_cost = {0, 0};
  const auto step = step_instance(instance, two_devices(), "f.json");
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, ErrorCode::unsupported);
  EXPECT_EQ(step.error().text(), "f.json: nodes read each other, so that there is no step");
}

TEST(StepInstance, OfALargeGraphIsTheGraph) {
  const DeviceCluster cluster = *preset_cluster("dgx-h100");
  const LargeGraph graph = *large_graph(300, 4, cluster);
  const auto step = step_instance(instance_of(graph, cluster), cluster, {});
  ASSERT_TRUE(step) << step.error().text();
  ASSERT_EQ(step->workload.nodes.size(), graph.workload.nodes.size());
  ASSERT_EQ(step->fusions.size(), graph.fusions.size());
  SearchBudget budget;
  const OrderedPlan plan = search_ordered({graph.workload, cluster, graph.fusions}, {OrderedMethod::heft, true, 1}, budget).plan;
  const double expected = OrderedSimulator({graph.workload, cluster, graph.fusions}).simulate(plan)->seconds;
  EXPECT_NEAR(OrderedSimulator(step->problem(cluster)).simulate(plan)->seconds, expected, 1e-9 * expected);
}

TEST(OrderedBound, IsThatOfThePathOrOfTheWork) {
  const DeviceCluster cluster = two_devices();
  Workload chain;
  chain.nodes = {{{3, 4}, 0}, {{5, 2}, 0}, {{1, 1}, 0}};
  chain.tensors = {{0, 0, {1}}, {1, 0, {2}}};
  const std::vector<FusionChoice> fusions = {{0, 1, 0.5}};
  EXPECT_DOUBLE_EQ(ordered_bound({chain, cluster, fusions}, false), 6);
  EXPECT_DOUBLE_EQ(ordered_bound({chain, cluster, fusions}, true), 5.5);
  Workload apart;
  apart.nodes = {{{3, 4}, 0}, {{5, 2}, 0}, {{3, 3}, 0}};
  EXPECT_DOUBLE_EQ(ordered_bound({apart, cluster, {}}, true), 4);
}

TEST(OrderedBound, IsNotAboveRandomPlans) {
  RandomNumbers random(5);
  double closest = 0;
  for (int round = 0; round < 3000; ++round) {
    const OrderedCase made = random_ordered_case(random, 12, 3);
    const double bound = ordered_bound(made.problem(), true);
    const double unfused = ordered_bound(made.problem(), false);
    EXPECT_LE(bound, unfused);
    OrderedSimulator simulator(made.problem());
    for (int k = 0; k < 20; ++k) {
      OrderedPlan plan = random_ordered_plan(made, random);
      const double step = simulator.simulate(plan)->seconds;
      ASSERT_LE(bound, step + 1e-9) << round;
      if (step > 0) closest = std::max(closest, bound / step);
      plan.fused.assign(plan.fused.size(), false);
      ASSERT_LE(unfused, simulator.simulate(plan)->seconds + 1e-9) << round;
    }
  }
  EXPECT_NEAR(closest, 1, 1e-9);
}

}  // namespace
}  // namespace xflow::parallel
