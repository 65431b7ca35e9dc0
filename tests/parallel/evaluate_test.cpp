#include "src/parallel/evaluate.h"

#include <gtest/gtest.h>

#include "src/parallel/device_loads.h"
#include "tests/parallel/random_instances.h"

namespace xflow::parallel {
namespace {

TEST(Loads, AreThoseOfTheDefinitionForEveryPlacement) {
  std::size_t placements = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const PlacementInstance instance = random_instance(seed, {.most_nodes = 6});
    const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
    for_each_placement(instance, [&](const GroupDevices& groups, const NodeDevices& nodes) {
      const double literal = literal_max_load(instance, nodes);
      const std::vector<double> loads = loads_of(instance, nodes);
      ASSERT_DOUBLE_EQ(*std::max_element(loads.begin(), loads.end()), literal) << "seed " << seed;
      ASSERT_DOUBLE_EQ(DeviceLoads(problem, groups).max_load(), literal) << "seed " << seed;
      ++placements;
    });
  }
  EXPECT_GT(placements, 3000U);
}

TEST(Loads, StayThoseOfThePlacementWhileGroupsMove) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const PlacementInstance instance = random_instance(seed, {.most_nodes = 12});
    const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
    RandomNumbers random(seed);
    DeviceLoads loads(problem, GroupDevices(problem.size(), 0));
    for (int k = 0; k < 100; ++k) loads.move(random.below(problem.size()), random.below(problem.devices()));
    const DeviceLoads direct(problem, loads.devices());
    for (std::uint32_t device = 0; device < problem.devices(); ++device) {
      EXPECT_DOUBLE_EQ(loads.load(device), direct.load(device));
      EXPECT_DOUBLE_EQ(loads.bytes(device), direct.bytes(device));
    }
  }
}

TEST(Latency, IsThatOfTheDefinitionForEveryPlacementWithoutCircles) {
  std::size_t placements = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const PlacementInstance instance = random_instance(seed, {.most_nodes = 6, .has_backward = false});
    for_each_placement(instance, [&](const GroupDevices& /*groups*/, const NodeDevices& nodes) {
      const auto literal = literal_latency(instance, nodes);
      if (!literal) return;
      const auto latency = latency_of(instance, nodes);
      ASSERT_TRUE(latency);
      ASSERT_DOUBLE_EQ(*latency, *literal) << "seed " << seed;
      EXPECT_LE(longest_path(instance), *latency);
      ++placements;
    });
  }
  EXPECT_GT(placements, 1000U);
}

// Nodes 0 -> 1 -> 2, outputs cost 10.
PlacementInstance chain() {
  PlacementInstance instance;
  instance.accelerators = 2;
  instance.cpus = 1;
  instance.memory = 100;
  for (std::int64_t id = 0; id < 3; ++id) instance.nodes.push_back({.id = id, .cpu_time = 7, .accelerator_time = 1, .bytes = 1});
  instance.edges = {{0, 1}, {1, 2}};
  instance.output_cost = {10, 10, 0};
  return instance;
}

TEST(Latency, DividesAPartThatAPathEntersAgain) {
  // Accelerator 0: 1 + 10 out; CPU: 7; accelerator 0 again: 10 in + 1.
  EXPECT_DOUBLE_EQ(latency_of(chain(), {0, 2, 0}).value(), 11 + 7 + 11);
}

TEST(Latency, IsNothingIfPartsWaitForEachOther) {
  PlacementInstance instance = chain();
  instance.nodes.push_back({.id = 3, .cpu_time = 7, .accelerator_time = 1, .bytes = 1});
  instance.edges = {{0, 1}, {2, 3}};
  instance.output_cost = {1, 0, 1, 0};
  EXPECT_FALSE(latency_of(instance, {0, 1, 1, 0}));
}

TEST(Loads, CountATensorOncePerDevice) {
  PlacementInstance instance = chain();
  instance.edges = {{0, 1}, {0, 2}};
  // Node 0 sends its output once, and accelerator 1 receives it once for two readers.
  EXPECT_EQ(loads_of(instance, {0, 1, 1}), (std::vector<double>{11, 12, 0}));
}

TEST(Merge, AddsTensorsOfTheSameGroups) {
  PlacementInstance instance = chain();
  instance.nodes[0].colour = 5;
  instance.nodes[1].colour = 5;
  instance.edges = {{0, 1}, {0, 2}, {1, 2}};
  const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
  ASSERT_EQ(problem.groups.size(), 2U);
  EXPECT_DOUBLE_EQ(problem.groups[0].cpu_time, 14);
  ASSERT_EQ(problem.tensors.size(), 1U);
  EXPECT_DOUBLE_EQ(problem.tensors[0].cost, 20);
}

}  // namespace
}  // namespace xflow::parallel
