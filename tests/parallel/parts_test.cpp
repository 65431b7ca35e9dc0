// What the methods of placement consist of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/parallel/interval_program.h"
#include "src/parallel/latency_clock.h"
#include "src/parallel/latency_methods.h"
#include "src/parallel/load_methods.h"
#include "src/parallel/proposals.h"
#include "tests/parallel/random_instances.h"

namespace xflow::parallel {
namespace {

// [a * vertices + b]: whether a path leads from a to b; by closure.
std::vector<bool> reachable(std::uint32_t vertices, const std::vector<PlacementEdge>& edges) {
  std::vector<bool> result(std::size_t{vertices} * vertices);
  for (const PlacementEdge& edge : edges) result[edge.from * vertices + edge.to] = true;
  for (std::uint32_t k = 0; k < vertices; ++k) {
    for (std::uint32_t a = 0; a < vertices; ++a) {
      for (std::uint32_t b = 0; b < vertices; ++b) {
        if (result[a * vertices + k] && result[k * vertices + b]) result[a * vertices + b] = true;
      }
    }
  }
  return result;
}

TEST(Components, AreSetsThatReachEachOtherInTopologicalOrder) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomNumbers random(seed);
    const std::uint32_t vertices = 1 + random.below(9);
    std::vector<PlacementEdge> edges;
    for (std::uint32_t k = random.below(14); k > 0; --k) edges.push_back({random.below(vertices), random.below(vertices)});
    const std::vector<std::uint32_t> component = components(vertices, edges);
    const std::vector<bool> reaches = reachable(vertices, edges);
    bool has_cycle = false;
    for (std::uint32_t a = 0; a < vertices; ++a) {
      has_cycle = has_cycle || reaches[a * vertices + a];
      for (std::uint32_t b = 0; b < vertices; ++b) {
        const bool together = a == b || (reaches[a * vertices + b] && reaches[b * vertices + a]);
        EXPECT_EQ(component[a] == component[b], together) << "seed " << seed;
      }
    }
    for (const PlacementEdge& edge : edges) EXPECT_LE(component[edge.from], component[edge.to]);
    const auto in_cycle = node_of_cycle(vertices, edges);
    ASSERT_EQ(in_cycle.has_value(), has_cycle);
    if (in_cycle) {
      EXPECT_TRUE(reaches[*in_cycle * vertices + *in_cycle]);
    }
  }
}

TEST(RandomOrder, PutsSourcesBeforeReaders) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const PlacementInstance instance = random_instance(seed, {.most_nodes = 20, .has_backward = false, .has_colours = false});
    const auto nodes = static_cast<std::uint32_t>(instance.nodes.size());
    RandomNumbers random(seed);
    const std::vector<std::uint32_t> order = random_order(Adjacency(nodes, instance.edges, false), random);
    ASSERT_EQ(order.size(), nodes);
    std::vector<std::uint32_t> place(nodes);
    for (std::uint32_t k = 0; k < nodes; ++k) place[order[k]] = k;
    for (const PlacementEdge& edge : instance.edges) EXPECT_LT(place[edge.from], place[edge.to]);
  }
}

// A chain has one order, so that its intervals are all contiguous placements.
TEST(Intervals, OfAChainGiveTheBestContiguousPlacement) {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    PlacementInstance instance = random_instance(seed, {.has_backward = false, .has_colours = false, .needs_cpu = true});
    instance.edges.clear();
    for (std::uint32_t k = 1; k < instance.nodes.size(); ++k) instance.edges.push_back({k - 1, k});
    const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
    std::vector<std::uint32_t> order(problem.size());
    std::iota(order.begin(), order.end(), 0U);
    SearchBudget budget;
    const auto found = best_intervals(problem, order, kInfinity, budget);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->value, brute_force(instance).contiguous_load, kTolerance) << "seed " << seed;
    EXPECT_NEAR(DeviceLoads(problem, found->devices).max_load(), found->value, kTolerance);
    // Nothing is below a limit that is the optimum.
    EXPECT_FALSE(best_intervals(problem, order, found->value, budget));
  }
}

TEST(Intervals, SumBoundsTheLatency) {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    const PlacementInstance instance =
        random_instance(seed, {.most_nodes = 12, .has_backward = false, .has_colours = false, .needs_cpu = true});
    const std::vector<std::uint32_t> group_of_node = groups_of_nodes(instance);
    const PlacementProblem problem = merge(instance, group_of_node);
    RandomNumbers random(seed);
    SearchBudget budget;
    const auto found = best_interval_sum(problem, random_order(Adjacency(problem.size(), problem.order, false), random), budget);
    ASSERT_TRUE(found);
    const NodeDevices devices = node_devices(group_of_node, found->devices);
    EXPECT_TRUE(is_valid(instance, devices));
    const auto latency = latency_of(instance, devices);
    ASSERT_TRUE(latency);
    EXPECT_LE(*latency, found->value + kTolerance) << "seed " << seed;
  }
}

TEST(Intervals, EvenOnesAreValid) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    const PlacementInstance instance = random_instance(seed, {.most_nodes = 20});
    const std::vector<std::uint32_t> group_of_node = groups_of_nodes(instance);
    const PlacementProblem problem = merge(instance, group_of_node);
    std::vector<std::uint32_t> order(problem.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto devices = even_intervals(problem, order);
    if (!devices) continue;
    ++found;
    EXPECT_TRUE(is_valid(instance, node_devices(group_of_node, *devices))) << "seed " << seed;
  }
  EXPECT_GT(found, 50);
}

TEST(ContiguousProblem, HasAnAcyclicOrderAndABestContiguousPlacement) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const PlacementInstance instance = random_instance(seed);
    const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
    const ContiguousProblem contiguous = contiguous_problem(problem);
    EXPECT_FALSE(node_of_cycle(contiguous.problem.size(), contiguous.problem.order));
    double best = kInfinity;
    for_each_placement(instance, [&](const GroupDevices& groups, const NodeDevices& nodes) {
      GroupDevices parts(contiguous.problem.size(), UINT32_MAX);
      for (std::uint32_t k = 0; k < groups.size(); ++k) {
        std::uint32_t& device = parts[contiguous.part[k]];
        if (device != UINT32_MAX && device != groups[k]) return;
        device = groups[k];
      }
      if (!is_contiguous(problem, groups)) return;
      const double load = literal_max_load(instance, nodes);
      EXPECT_NEAR(DeviceLoads(contiguous.problem, parts).max_load(), load, kTolerance);
      best = std::min(best, load);
    });
    const double expected = brute_force(instance).contiguous_load;
    if (std::isinf(expected)) continue;
    EXPECT_NEAR(best, expected, kTolerance) << "seed " << seed;
  }
}

TEST(LatencyClock, IsLatencyOfPlacementsWithoutCirclesAndInfiniteForOthers) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    PlacementInstance instance = random_instance(seed, {.most_nodes = 6, .has_backward = false});
    const std::vector<std::uint32_t> group_of_node = groups_of_nodes(instance);
    const PlacementProblem problem = merge(instance, group_of_node);
    LatencyClock clock(instance, group_of_node);
    for_each_placement(instance, [&](const GroupDevices& groups, const NodeDevices& nodes) {
      const DeviceLoads loads(problem, groups);
      const auto literal = literal_latency(instance, nodes);
      const double latency = clock.latency(loads);
      ASSERT_EQ(literal.has_value(), std::isfinite(latency)) << "seed " << seed;
      if (!literal) return;
      EXPECT_NEAR(latency, *literal, kTolerance);
      EXPECT_EQ(clock.latency(loads, latency), latency);
      EXPECT_TRUE(latency == 0 || std::isinf(clock.latency(loads, latency * 0.99)));
    });
  }
}

TEST(Proposals, KeepPlacementsValidAndCanBeUndone) {
  int done = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const PlacementInstance instance = random_instance(seed, {.most_nodes = 15, .needs_cpu = true});
    const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
    RandomNumbers random(seed);
    Proposals proposals(problem, random);
    DeviceLoads loads(problem, simple_placement(problem).value());
    for (int k = 0; k < 200; ++k) {
      const GroupDevices before = loads.devices();
      const bool is_done = proposals.propose(loads, random.below(problem.devices()));
      EXPECT_TRUE(loads.is_valid()) << "seed " << seed;
      EXPECT_EQ(is_done, loads.devices() != before);
      done += is_done ? 1 : 0;
      if (k % 3 != 0) continue;
      proposals.undo(loads);
      EXPECT_EQ(loads.devices(), before);
    }
  }
  EXPECT_GT(done, 1000);
}

TEST(Greedy, FillsAcceleratorsInOrder) {
  PlacementProblem problem;
  problem.accelerators = 2;
  problem.cpus = 1;
  problem.memory = 10;
  for (const double bytes : {4.0, 6.0, 5.0, 6.0, 1.0}) problem.groups.push_back({1, 1, bytes, true});
  const std::vector<std::uint32_t> order = {0, 1, 2, 3, 4};
  // 4 + 6 fill the first, 5 is on the second, where 6 has no place; the accelerators are used up then.
  EXPECT_EQ(filled_in_order(problem, order), (GroupDevices{0, 0, 1, 2, 2}));
  problem.groups[1].on_accelerator = false;
  EXPECT_EQ(filled_in_order(problem, order), (GroupDevices{0, 2, 1, 2, 2}));
  problem.cpus = 0;
  EXPECT_EQ(filled_in_order(problem, order), std::nullopt);
}

TEST(SearchBudget, PartsSpendWhatTheWholeHas) {
  SearchBudget whole(Seconds(1e10), 10, {});
  EXPECT_TRUE(whole.spend(3));
  SearchBudget part = whole.part(4);
  EXPECT_TRUE(part.spend(4));
  EXPECT_FALSE(part.spend());
  EXPECT_EQ(part.stop(), PlacementStop::steps);
  whole.take_back(part);
  EXPECT_EQ(whole.spent(), 7U);
  EXPECT_EQ(whole.stop(), std::nullopt);
  // The rest is less than the part asks for.
  part = whole.part(100);
  EXPECT_TRUE(part.spend(3));
  EXPECT_FALSE(part.spend());
  whole.take_back(part);
  EXPECT_EQ(whole.stop(), PlacementStop::steps);
  EXPECT_FALSE(whole.spend());
  EXPECT_EQ(whole.spent(), 10U);
}

}  // namespace
}  // namespace xflow::parallel
