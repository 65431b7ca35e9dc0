// Placements of random instances against all placements.
#include "src/parallel/place.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/parallel/ideal_program.h"
#include "src/parallel/load_bounds.h"
#include "tests/parallel/random_instances.h"

namespace xflow::parallel {
namespace {

PlaceOptions options_of(PlacementObjective objective, PlacementMethod method, std::uint64_t steps) {
  PlaceOptions options;
  options.objective = objective;
  options.method = method;
  options.steps = steps;
  options.budget = Seconds(1e10);
  return options;
}

// What a placement is and how it was found, without the reason of its end.
std::string text_of(const PlacementResult& result) {
  std::string text = fmt::format("{} {} {} {} {} {}", result.value.count(), result.bound.count(), to_string(result.bound_by),
                                 result.contiguous.value_or(Milliseconds(-1)).count(), to_string(result.method), result.steps);
  for (const PlacedDevice& device : result.devices) {
    text += fmt::format("\n{} {}:", device.load.count(), device.bytes);
    for (const std::int64_t node : device.nodes) text += fmt::format(" {}", node);
  }
  return text;
}

TEST(MaxLoad, LiesBetweenBoundAndOptimumAndIsMostlyOptimal) {
  int optimal = 0;
  int feasible = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const PlacementInstance instance = random_instance(seed);
    const BruteForce best = brute_force(instance);
    const auto result = place(instance, options_of(PlacementObjective::max_load, PlacementMethod::automatic, 3000), "instance");
    if (std::isinf(best.load)) {
      EXPECT_FALSE(result) << "seed " << seed;
      continue;
    }
    if (!result) continue;
    ++feasible;
    EXPECT_LE(result->bound.count(), best.load * (1 + kTolerance)) << "seed " << seed << ", " << to_string(result->bound_by);
    EXPECT_GE(result->value.count(), best.load * (1 - kTolerance)) << "seed " << seed;
    EXPECT_TRUE(result->fits_memory());
    if (result->value.count() <= best.load * (1 + kTolerance)) ++optimal;
    if (result->stop == PlacementStop::optimal) {
      EXPECT_LE(result->value.count(), best.load * (1 + kTolerance)) << "seed " << seed;
    }
  }
  EXPECT_GT(feasible, 80);
  EXPECT_EQ(optimal, feasible);
}

TEST(Latency, LiesBetweenBoundAndOptimumAndIsMostlyOptimal) {
  int optimal = 0;
  int feasible = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const PlacementInstance instance = random_instance(seed, {.has_backward = false});
    const BruteForce best = brute_force(instance);
    const auto result = place(instance, options_of(PlacementObjective::latency, PlacementMethod::automatic, 4000), "instance");
    if (std::isinf(best.latency)) {
      EXPECT_FALSE(result) << "seed " << seed;
      continue;
    }
    if (!result) continue;
    ++feasible;
    EXPECT_LE(result->bound.count(), best.latency * (1 + kTolerance)) << "seed " << seed;
    EXPECT_GE(result->value.count(), best.latency * (1 - kTolerance)) << "seed " << seed;
    EXPECT_TRUE(result->fits_memory());
    if (result->value.count() <= best.latency * (1 + kTolerance)) ++optimal;
  }
  EXPECT_GT(feasible, 80);
  EXPECT_EQ(optimal, feasible);
}

// Each method alone gives a placement that fits, whose parts do not wait for each other, and that is no
// better than the best one.
TEST(Methods, GiveValidPlacements) {
  constexpr auto kLoad = PlacementObjective::max_load;
  constexpr auto kLatency = PlacementObjective::latency;
  for (const auto& [objective, method] : {std::pair(kLoad, PlacementMethod::orders), std::pair(kLoad, PlacementMethod::ideals),
                                          std::pair(kLoad, PlacementMethod::local), std::pair(kLatency, PlacementMethod::greedy),
                                          std::pair(kLatency, PlacementMethod::list), std::pair(kLatency, PlacementMethod::local)}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const PlacementInstance instance = random_instance(seed, {.has_backward = false, .needs_cpu = true});
      const BruteForce best = brute_force(instance);
      const auto result = place(instance, options_of(objective, method, 2000), "instance");
      ASSERT_TRUE(result) << to_string(method) << " " << seed;
      EXPECT_TRUE(result->fits_memory());
      EXPECT_GE(result->value.count(), (objective == kLoad ? best.load : best.latency) * (1 - kTolerance)) << to_string(method);
      EXPECT_TRUE(method != PlacementMethod::greedy && method != PlacementMethod::list ? true : result->method == method);
    }
  }
}

TEST(Methods, OfAnotherObjectiveAreRefused) {
  const PlacementInstance instance = random_instance(1, {.has_backward = false});
  const auto ideals = place(instance, options_of(PlacementObjective::latency, PlacementMethod::ideals, 10), "instance");
  ASSERT_FALSE(ideals);
  EXPECT_EQ(ideals.error().text(), "the objective latency has no method 'ideals'");
  const auto greedy = place(instance, options_of(PlacementObjective::max_load, PlacementMethod::greedy, 10), "instance");
  ASSERT_FALSE(greedy);
  EXPECT_EQ(greedy.error().text(), "the objective max-load has no method 'greedy'");
}

TEST(Latency, IsRefusedForBackwardNodes) {
  PlacementInstance instance = random_instance(1, {.has_backward = false});
  instance.nodes[1].is_backward = true;
  const auto result = place(instance, options_of(PlacementObjective::latency, PlacementMethod::automatic, 10), "instance");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().text(), "instance: node 97 is a backward node: the latency is that of inference");
}

TEST(Placement, WithoutMemoryForItIsAnError) {
  // Three nodes of 2 bytes, two accelerators of 3 bytes.
  PlacementInstance instance;
  instance.accelerators = 2;
  instance.memory = 3;
  for (std::int64_t id = 0; id < 3; ++id) instance.nodes.push_back({.id = id, .accelerator_time = 1, .bytes = 2});
  instance.output_cost.assign(3, 0);
  for (const PlacementObjective objective : {PlacementObjective::max_load, PlacementObjective::latency}) {
    const auto result = place(instance, options_of(objective, PlacementMethod::automatic, 1000), "instance");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().text(), "instance: no placement within the memory of the accelerators was found");
  }
}

// More devices than nodes, and none of one kind.
TEST(Placement, UsesDevicesThatThereAre) {
  PlacementInstance instance;
  instance.accelerators = 50;
  instance.cpus = 50;
  instance.memory = 10;
  for (std::int64_t id = 0; id < 3; ++id) instance.nodes.push_back({.id = id, .cpu_time = 7, .accelerator_time = 5, .bytes = 1});
  instance.output_cost.assign(3, 0);
  auto result = place(instance, options_of(PlacementObjective::max_load, PlacementMethod::automatic, 1000), "instance");
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->value.count(), 5);
  EXPECT_EQ(result->devices.size(), 100U);
  EXPECT_EQ(result->stop, PlacementStop::optimal);
  instance.accelerators = 0;
  for (const PlacementObjective objective : {PlacementObjective::max_load, PlacementObjective::latency}) {
    result = place(instance, options_of(objective, PlacementMethod::automatic, 1000), "instance");
    ASSERT_TRUE(result);
    EXPECT_DOUBLE_EQ(result->value.count(), 7);
  }
  instance.accelerators = 2;
  instance.cpus = 0;
  result = place(instance, options_of(PlacementObjective::max_load, PlacementMethod::automatic, 1000), "instance");
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->value.count(), 10);
}

TEST(Bounds, AreNeverAboveTheOptimum) {
  for (std::uint64_t seed = 1000; seed < 1150; ++seed) {
    const PlacementInstance instance = random_instance(seed);
    const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
    const double best = brute_force(instance).load;
    if (std::isinf(best)) continue;
    SearchBudget budget;
    const double most = best * (1 + kTolerance);
    EXPECT_LE(group_bound(problem), most) << "seed " << seed;
    EXPECT_LE(work_bound(problem), most) << "seed " << seed;
    EXPECT_LE(packing_bound(problem, work_bound(problem), 2 * best + 1), most) << "seed " << seed;
    EXPECT_LE(star_bound(problem, 0, budget), most) << "seed " << seed;
  }
}

// Without transfers, all groups heavy: the packing bound is the optimum.
TEST(Bounds, PackingIsExactWithoutTransfers) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    PlacementInstance instance = random_instance(seed, {.needs_cpu = true});
    for (double& cost : instance.output_cost) cost = 0;
    for (PlacementNode& node : instance.nodes) node.bytes = 0;
    const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
    const double best = brute_force(instance).load;
    EXPECT_NEAR(packing_bound(problem, work_bound(problem), best), best, best * 1e-4) << "seed " << seed;
  }
}

// Of a group and its neighbour: compute of the group and the cheaper of the transfer and the neighbour.
TEST(Bounds, StarIsTheCheapestSurroundings) {
  for (const double transfer : {2.0, 50.0}) {
    PlacementInstance instance;
    instance.accelerators = 2;
    instance.memory = 10;
    instance.nodes = {{.id = 1, .accelerator_time = 5}, {.id = 2, .accelerator_time = 20}};
    instance.edges = {{0, 1}};
    instance.output_cost = {transfer, 0};
    const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
    SearchBudget budget;
    const std::vector<std::uint32_t> groups = {0, 1};
    const std::vector<double> star = stars(problem, groups, budget);
    EXPECT_NEAR(star[0], 5 + std::min(transfer, 20.0), 1e-9);
    EXPECT_NEAR(star[1], 20 + std::min(transfer, 5.0), 1e-9);
  }
}

TEST(Ideals, GiveTheBestContiguousPlacement) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const PlacementInstance instance = random_instance(seed);
    const double best = brute_force(instance).contiguous_load;
    const auto result = place(instance, options_of(PlacementObjective::max_load, PlacementMethod::ideals, 1'000'000), "instance");
    if (!result || !result->contiguous) continue;
    ++compared;
    EXPECT_NEAR(result->contiguous->count(), best, best * kTolerance) << "seed " << seed;
  }
  EXPECT_GT(compared, 60);
}

TEST(Ideals, AreRefusedIfThereAreTooMany) {
  PlacementInstance instance;
  instance.accelerators = 2;
  instance.cpus = 1;
  instance.memory = 1000;
  for (std::int64_t id = 0; id < 24; ++id) instance.nodes.push_back({.id = id, .cpu_time = 9, .accelerator_time = 1 + 0.01 * double(id)});
  instance.output_cost.assign(24, 0);
  const auto result = place(instance, options_of(PlacementObjective::max_load, PlacementMethod::ideals, 1'000'000), "instance");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().text(), "instance: the graph has more than 1000000 ideals; use the method orders");
}

TEST(Placement, ByListNeedsACpu) {
  PlacementInstance instance;
  instance.accelerators = 1;
  instance.memory = 9;
  instance.nodes = {{.id = 1, .cpu_time = 1, .accelerator_time = 1}};
  instance.output_cost = {0};
  const auto result = place(instance, options_of(PlacementObjective::latency, PlacementMethod::list, 100), "instance");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().text(), "instance: the method list needs a CPU; use the method greedy");
  EXPECT_TRUE(place(instance, options_of(PlacementObjective::latency, PlacementMethod::greedy, 100), "instance"));
}

TEST(Placement, DependsOnInstanceSeedAndStepsAlone) {
  for (const PlacementObjective objective : {PlacementObjective::max_load, PlacementObjective::latency}) {
    const PlacementInstance instance = random_instance(5, {.most_nodes = 40, .has_backward = false, .needs_cpu = true});
    const auto one = place(instance, options_of(objective, PlacementMethod::automatic, 20'000), "instance");
    const auto other = place(instance, options_of(objective, PlacementMethod::automatic, 20'000), "instance");
    ASSERT_TRUE(one && other);
    EXPECT_EQ(text_of(*one), text_of(*other));
    EXPECT_EQ(one->stop, other->stop);
  }
}

TEST(Placement, OfATimeLimitIsThatOfItsSteps) {
  const PlacementInstance instance = random_instance(5, {.most_nodes = 40, .has_backward = false, .needs_cpu = true});
  for (const auto& [objective, seconds] : {std::pair(PlacementObjective::max_load, 0.0), std::pair(PlacementObjective::max_load, 0.01),
                                           std::pair(PlacementObjective::max_load, 0.1), std::pair(PlacementObjective::latency, 0.0),
                                           std::pair(PlacementObjective::latency, 0.05)}) {
    PlaceOptions options;
    options.objective = objective;
    options.budget = Seconds(seconds);
    const auto timed = place(instance, options, "instance");
    ASSERT_TRUE(timed);
    options.budget = Seconds(1e10);
    options.steps = timed->steps;
    const auto counted = place(instance, options, "instance");
    ASSERT_TRUE(counted);
    EXPECT_EQ(text_of(*timed), text_of(*counted)) << seconds;
  }
}

TEST(Placement, EndsWithItsReason) {
  const PlacementInstance instance = random_instance(5, {.most_nodes = 40, .has_backward = false, .needs_cpu = true});
  PlaceOptions options;
  options.budget = Seconds(0);
  EXPECT_EQ(place(instance, options, "instance")->stop, PlacementStop::time_limit);
  options = options_of(PlacementObjective::max_load, PlacementMethod::automatic, 10);
  EXPECT_EQ(place(instance, options, "instance")->stop, PlacementStop::steps);
  options = {};
  options.cancel.finish();
  EXPECT_EQ(place(instance, options, "instance")->stop, PlacementStop::cancelled);
  options.cancel.stop();
  const auto stopped = place(instance, options, "instance");
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().text(), "cancelled");
}

}  // namespace
}  // namespace xflow::parallel
