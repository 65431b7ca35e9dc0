// Mixed integer programs for placements against all placements of random instances. Without Cbc only what
// holds then is tested.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/parallel/integer_solver.h"
#include "src/parallel/load_bounds.h"
#include "src/parallel/load_methods.h"
#include "src/parallel/place.h"
#include "src/parallel/placement_program.h"
#include "src/parallel/price_bound.h"
#include "tests/parallel/random_instances.h"

namespace xflow::parallel {
namespace {

PlaceOptions milp_options(std::uint64_t steps) {
  PlaceOptions options;
  options.method = PlacementMethod::milp;
  options.steps = steps;
  options.budget = Seconds(1e10);
  return options;
}

std::string summary_of(const PlacementResult& result) {
  std::string text = fmt::format("{} {} {} {} {}:", result.value.count(), result.bound.count(), to_string(result.bound_by),
                                 to_string(result.method), result.steps);
  for (const PlacedDevice& device : result.devices) text += fmt::format(" {}", fmt::join(device.nodes, ","));
  return text;
}

class Milp : public testing::Test {
 protected:
  void SetUp() override {
    const auto solver = integer_solver();
    if (!solver) GTEST_SKIP() << solver.error().text();
    solver_ = *solver;
  }
  // Of the whole program from a start that is not the best one, with a limit of steps.
  SolvedPlacement solve(const PlacementProblem& problem, std::uint64_t steps) const {
    const auto start = simple_placement(problem);
    if (!start) return {};
    SearchBudget budget(Seconds(1e10), steps, {});
    return solve_placement(problem, *solver_, work_bound(problem), {DeviceLoads(problem, *start).max_load(), *start}, budget);
  }

  const IntegerSolver* solver_ = nullptr;
};

double value_of(const PlacementProblem& problem, const SolvedPlacement& solved) {
  EXPECT_TRUE(DeviceLoads(problem, *solved.devices).is_valid());
  return DeviceLoads(problem, *solved.devices).max_load();
}

TEST_F(Milp, FindsTheOptimumAndProvesIt) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const PlacementInstance instance = random_instance(seed);
    const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
    const double best = brute_force(instance).load;
    if (std::isinf(best) || best == 0) continue;
    const SolvedPlacement solved = solve(problem, UINT64_MAX);
    if (!solved.complete) continue;
    ++compared;
    ASSERT_TRUE(solved.devices) << "seed " << seed;
    EXPECT_NEAR(value_of(problem, solved), best, best * kTolerance) << "seed " << seed;
    EXPECT_LE(solved.bound, best) << "seed " << seed;
    // Tolerances are shares of the start's value.
    const double start = DeviceLoads(problem, *simple_placement(problem)).max_load();
    EXPECT_GE(solved.bound, best - start * 2e-6) << "seed " << seed;
  }
  EXPECT_GT(compared, 90);
}

TEST_F(Milp, BoundOfAStoppedSearchIsNotAboveTheOptimum) {
  int stopped = 0;
  for (std::uint64_t seed = 200; seed < 250; ++seed) {
    const PlacementInstance instance = random_instance(seed, {.needs_cpu = true});
    const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
    const double best = brute_force(instance).load;
    for (const std::uint64_t steps : {0, 900, 1010, 1050, 1100, 1200, 1500, 2000}) {
      const SolvedPlacement solved = solve(problem, steps);
      stopped += solved.complete ? 0 : 1;
      EXPECT_LE(solved.bound, best) << "seed " << seed << ", " << steps << " steps";
      if (solved.devices) {
        EXPECT_GE(value_of(problem, solved), best * (1 - kTolerance)) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(stopped, 60);
}

TEST_F(Milp, PricesAreNotAboveTheOptimum) {
  int raised = 0;
  for (std::uint64_t seed = 300; seed < 360; ++seed) {
    const PlacementInstance instance = random_instance(seed);
    const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
    const double best = brute_force(instance).load;
    if (std::isinf(best) || best == 0) continue;
    for (const double upper : {best, 1.01 * best, 1.3 * best}) {
      SearchBudget budget(Seconds(1e10), 100'000, {});
      const double lower = quick_load_bound(problem).value;
      const double bound = PriceBound(problem, *solver_).raise(lower, upper, budget);
      EXPECT_LE(bound, best * (1 + 1e-12)) << "seed " << seed << ", " << upper / best;
      raised += bound > lower ? 1 : 0;
    }
  }
  EXPECT_GT(raised, 10);
}

// Two heavy groups do not fit one accelerator: the third of the groups goes with the lighter one.
TEST_F(Milp, KeepsTheMemory) {
  PlacementInstance instance;
  instance.accelerators = 2;
  instance.memory = 5;
  for (const double bytes : {3.0, 3.0, 2.0, 2.0}) {
    const auto id = static_cast<std::int64_t>(instance.nodes.size());
    instance.nodes.push_back({.id = id, .accelerator_time = 6 - bytes, .bytes = bytes});
  }
  instance.output_cost.assign(4, 0);
  const auto result = place(instance, milp_options(10'000'000), "instance");
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->fits_memory());
  EXPECT_DOUBLE_EQ(result->value.count(), 7);
}

TEST_F(Milp, MethodIsBetweenBoundAndOptimum) {
  int finished = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const PlacementInstance instance = random_instance(seed);
    const double best = brute_force(instance).load;
    const auto result = place(instance, milp_options(2'000'000), "instance");
    if (!result) continue;
    EXPECT_TRUE(result->fits_memory());
    EXPECT_LE(result->bound.count(), best * (1 + kTolerance)) << "seed " << seed;
    EXPECT_NEAR(result->value.count(), best, best * kTolerance) << "seed " << seed;
    if (result->stop == PlacementStop::finished || result->stop == PlacementStop::optimal) ++finished;
  }
  EXPECT_GT(finished, 40);
}

TEST_F(Milp, DependsOnTheNumberOfStepsAlone) {
  const PlacementInstance instance = random_instance(5, {.most_nodes = 40, .has_backward = false, .needs_cpu = true});
  for (const PlacementMethod method : {PlacementMethod::milp, PlacementMethod::automatic}) {
    PlaceOptions options = milp_options(6'000'000);
    options.method = method;
    const auto one = place(instance, options, "instance");
    const auto other = place(instance, options, "instance");
    ASSERT_TRUE(one && other);
    EXPECT_EQ(summary_of(*one), summary_of(*other));
    // A run that the time ends is that of its steps.
    options.steps.reset();
    options.budget = Seconds(0.3);
    const auto timed = place(instance, options, "instance");
    options.budget = Seconds(1e10);
    options.steps = timed->steps;
    const auto counted = place(instance, options, "instance");
    EXPECT_EQ(summary_of(*timed), summary_of(*counted));
  }
}

TEST_F(Milp, EndsWhenItIsCancelled) {
  PlaceOptions options = milp_options(UINT64_MAX);
  options.cancel.finish();
  const auto result = place(random_instance(5, {.most_nodes = 40, .needs_cpu = true}), options, "instance");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->stop, PlacementStop::cancelled);
}

TEST(WithoutCbc, MilpIsRefusedAndAutoSearches) {
  const PlacementInstance instance = random_instance(5, {.needs_cpu = true});
  const PlacementProblem problem = merge(instance, groups_of_nodes(instance));
  const Result<const IntegerSolver*> none = fail(ErrorCode::unsupported, "this xflow was built without cbc: libxflow_cbc.so was not found");
  SearchBudget budget(Seconds(1e10), 100'000, {});
  const auto refused = place_for_load(problem, PlacementMethod::milp, 1, budget, nullptr, none);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "the method milp needs COIN-OR Cbc: this xflow was built without cbc: libxflow_cbc.so was not found");
  const auto searched = place_for_load(problem, PlacementMethod::automatic, 1, budget, nullptr, none);
  ASSERT_TRUE(searched);
  EXPECT_NE(searched->bound.by, PlacementBound::prices);
  EXPECT_NE(searched->bound.by, PlacementBound::milp);
}

}  // namespace
}  // namespace xflow::parallel
