// Searches of devices, order and fusions of a whole step.
#include "src/parallel/ordered_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "src/parallel/fused_workload.h"
#include "src/parallel/large_graphs.h"
#include "src/parallel/ordered_moves.h"
#include "src/parallel/ordered_starts.h"
#include "tests/parallel/ordered_graphs.h"

namespace xflow::parallel {
namespace {

constexpr std::array kMethods = {OrderedMethod::heft, OrderedMethod::local, OrderedMethod::intervals};
constexpr Seconds kNoTimeLimit{1e12};

using Value = std::pair<double, double>;  // missing bytes, then seconds

Value value_of(const OrderedProblem& problem, const OrderedPlan& plan) {
  const OrderedStep step = *OrderedSimulator(problem).simulate(plan);
  return {step.missing, step.seconds};
}

OrderedResult found_by(const OrderedProblem& problem, const OrderedSearchOptions& options, std::uint64_t steps) {
  SearchBudget budget(kNoTimeLimit, steps, {}, 1);
  return search_ordered(problem, options, budget);
}

// The best value of all devices, orders and fusions. Orders are permutations of the numbers of nodes.
Value best_of_all(const OrderedCase& made) {
  const std::size_t nodes = made.workload.nodes.size();
  const OrderedProblem problem = made.problem();
  OrderedSimulator simulator(problem);
  OrderedPlan plan{std::vector<std::uint32_t>(nodes, 0), std::vector<float>(nodes), std::vector<bool>(made.fusions.size(), false)};
  Value best{1e300, 1e300};
  for (std::size_t taken = 0; taken < std::size_t{1} << made.fusions.size(); ++taken) {
    for (std::size_t k = 0; k < made.fusions.size(); ++k) plan.fused[k] = ((taken >> k) & 1U) != 0;
    for (;;) {
      std::iota(plan.priorities.begin(), plan.priorities.end(), 0.0F);
      do {
        const OrderedStep step = *simulator.simulate(plan);
        best = std::min(best, {step.missing, step.seconds});
      } while (std::ranges::next_permutation(plan.priorities).found);
      std::size_t k = 0;
      while (k < nodes && ++plan.devices[k] == made.cluster.size()) plan.devices[k++] = 0;
      if (k == nodes) break;
    }
  }
  return best;
}

TEST(OrderedSearch, MostlyFindsTheBestPlanOfSmallGraphs) {
  RandomNumbers random(21);
  int found = 0;
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    const OrderedCase made = random_ordered_case(random, 5, 2);
    const Value best = best_of_all(made);
    bool is_found = false;
    for (const OrderedMethod method : kMethods) {
      const OrderedResult result = found_by(made.problem(), {method, true, 1}, 2000);
      ASSERT_TRUE(check_ordered_plan(made.problem(), result.plan));
      const Value value{result.missing, result.step};
      ASSERT_EQ(value, value_of(made.problem(), result.plan));
      ASSERT_GE(value, best);
      is_found = is_found || (method == OrderedMethod::local && value == best);
    }
    found += is_found ? 1 : 0;
  }
  EXPECT_GE(found, kRounds * 9 / 10);
}

TEST(OrderedSearch, IsNeverWorseThanItsStart) {
  RandomNumbers random(22);
  for (int round = 0; round < 100; ++round) {
    const OrderedCase made = random_ordered_case(random, 40);
    const OrderedPlan start = random_ordered_plan(made, random);
    for (const bool fuses : {false, true}) {
      SearchBudget budget(kNoTimeLimit, 100, {}, 1);
      const OrderedResult result = improve_ordered(made.problem(), start, fuses, 1, budget);
      ASSERT_LE(Value(result.missing, result.step), value_of(made.problem(), start));
      ASSERT_EQ(Value(result.missing, result.step), value_of(made.problem(), result.plan));
      if (!fuses) {
        EXPECT_EQ(result.plan.fused, start.fused);
      }
    }
  }
}

TEST(OrderedSearch, ImprovesPlansOfGeneratedGraphs) {
  const DeviceCluster cluster = *preset_cluster("dgx-h100");
  const LargeGraph graph = large_graph(3000, 1, cluster).value();
  const OrderedProblem problem{graph.workload, cluster, graph.fusions};
  for (const bool fuses : {false, true}) {
    const double heft = found_by(problem, {OrderedMethod::heft, fuses, 1}, 1000).step;
    const OrderedResult local = found_by(problem, {OrderedMethod::local, fuses, 1}, 1000);
    const OrderedResult intervals = found_by(problem, {OrderedMethod::intervals, fuses, 1}, 1000);
    EXPECT_LT(local.step, heft);
    EXPECT_LT(intervals.step, found_by(problem, {OrderedMethod::intervals, fuses, 1}, 4).step);
    EXPECT_LE(local.proposals, 1000U);
    EXPECT_GT(local.proposals, 500U);
    EXPECT_EQ(std::ranges::count(local.plan.fused, true) > 0, fuses);
  }
}

TEST(OrderedSearch, FindsTheSamePlanForASeedAndNumberOfSteps) {
  const DeviceCluster cluster = *preset_cluster("slow-16");
  const LargeGraph graph = large_graph(500, 7, cluster).value();
  const OrderedProblem problem{graph.workload, cluster, graph.fusions};
  for (const OrderedMethod method : kMethods) {
    const OrderedResult first = found_by(problem, {method, true, 3}, 1500);
    const OrderedResult second = found_by(problem, {method, true, 3}, 1500);
    EXPECT_EQ(first.plan, second.plan) << name(method);
    EXPECT_EQ(first.step, second.step);
    EXPECT_EQ(first.proposals, second.proposals);
    if (method != OrderedMethod::heft) {
      EXPECT_NE(first.plan, found_by(problem, {method, true, 4}, 1500).plan) << name(method);
    }
  }
}

// Here the local search finds nothing from the plan of HEFT, and something from that of intervals, which is
// longer at first.
TEST(OrderedSearch, ImprovesThePlanOfIntervalsToo) {
  const DeviceCluster cluster = *preset_cluster("dgx-h100");
  const LargeGraph graph = large_graph(800, 1, cluster).value();
  const OrderedProblem problem{graph.workload, cluster, graph.fusions};
  const OrderedResult heft = found_by(problem, {OrderedMethod::heft, true, 1}, 10);
  EXPECT_GT(found_by(problem, {OrderedMethod::intervals, true, 1}, 4).step, heft.step);
  SearchBudget budget(kNoTimeLimit, 1500, {}, 1);
  EXPECT_GT(improve_ordered(problem, heft.plan, true, 1, budget).step, 0.99 * heft.step);
  EXPECT_LT(found_by(problem, {OrderedMethod::local, true, 1}, 1500).step, 0.99 * heft.step);
  SearchBudget other(kNoTimeLimit, 1500, {}, 1);
  EXPECT_LT(improve_beside_intervals(problem, heft.plan, true, 1, other).step, 0.99 * heft.step);
}

TEST(OrderedSearch, HasAPlanWithoutABudget) {
  RandomNumbers random(23);
  const OrderedCase made = random_ordered_case(random, 40);
  for (const OrderedMethod method : kMethods) {
    const OrderedResult result = found_by(made.problem(), {method, true, 1}, 0);
    EXPECT_TRUE(check_ordered_plan(made.problem(), result.plan)) << name(method);
    EXPECT_EQ(result.proposals, 1U);
  }
}

// Without new fusions a step may still be shorter than any without fusions: a bound of the latter must not
// end the search.
TEST(OrderedSearch, GoesOnFromAStartWhoseFusionsStay) {
  OrderedCase made;
  made.cluster = {"two", {}, 1, {0, 1}, {0, 1}};
  for (const char* name : {"a", "b"}) made.cluster.devices.push_back({name, "x", 0, 100, {0, 1, 1}});
  // The first two take 2 s, and 1/2 s fused; the others 1/2 s each.
  for (const double seconds : {1.0, 1.0, 0.5, 0.5}) made.workload.nodes.push_back({{seconds, seconds}, 0});
  made.workload.tensors = {{0, 0, {1}}};
  made.fusions = {{0, 1, 1.5}};
  const OrderedPlan start{{0, 0, 0, 0}, {0, 0, 0, 0}, {true}};
  SearchBudget budget(kNoTimeLimit, 1000, {}, 1);
  const OrderedResult result = improve_ordered(made.problem(), start, false, 1, budget);
  EXPECT_EQ(result.step, 1);
  EXPECT_EQ(result.plan.fused, start.fused);
}

// On large graphs transfers make the plan of HEFT long, and moving single clusters shortens it by less.
TEST(OrderedSearch, MovesManyTasksOfLargeGraphs) {
  const auto cluster = open_cluster("dgx-h100");
  ASSERT_TRUE(cluster);
  const auto graph = large_graph(3000, 1, *cluster);
  ASSERT_TRUE(graph);
  const OrderedProblem problem{graph->workload, *cluster, graph->fusions};
  const double heft = found_by(problem, {OrderedMethod::heft, true, 1}, 10).step;
  EXPECT_LT(found_by(problem, {OrderedMethod::local, true, 1}, 5000).step, 0.95 * heft);
}

// Of 2,000 proposals of which those that change priorities alone gain, and all others lose: the share of the
// former in the second half.
double share_of_priorities(double gain) {
  RandomNumbers random(3);
  const OrderedCase made = random_ordered_case(random, 40);
  const std::vector<double> loads(made.cluster.size(), 0);
  OrderedPlan plan = random_ordered_plan(made, random);
  OrderedMoves moves(made.problem(), false, random);
  int seen = 0;
  for (int k = 0; k < 2000; ++k) {
    const OrderedPlan before = plan;
    if (!moves.propose(plan, loads, {})) continue;
    if (plan.devices == before.devices) {
      moves.keep(gain);
      seen += k >= 1000 ? 1 : 0;
    } else {
      moves.undo(plan);
    }
  }
  return seen / 1000.0;
}

TEST(OrderedMoves, AreMostlyOfKindsThatHaveGained) {
  EXPECT_GT(share_of_priorities(1), 0.5);
  EXPECT_LT(share_of_priorities(0), 0.35);
  EXPECT_LT(share_of_priorities(-1), 0.35);
}

TEST(OrderedMoves, AreTakenBack) {
  RandomNumbers random(24);
  for (int round = 0; round < 100; ++round) {
    const OrderedCase made = random_ordered_case(random, 40);
    const std::vector<double> loads(made.cluster.size(), 0);
    OrderedPlan plan = random_ordered_plan(made, random);
    OrderedMoves moves(made.problem(), round % 2 == 0, random);
    std::vector<std::uint32_t> critical;
    if (round % 3 > 0)
      for (std::uint32_t k = 0; k < 5; ++k) critical.push_back(random.below(static_cast<std::uint32_t>(made.workload.nodes.size())));
    for (int k = 0; k < 100; ++k) {
      const OrderedPlan before = plan;
      const bool has_changed = moves.propose(plan, loads, critical);
      ASSERT_EQ(has_changed, !(plan == before));
      ASSERT_TRUE(check_ordered_plan(made.problem(), plan));
      if (random.below(2) == 0) {
        moves.undo(plan);
        ASSERT_EQ(plan, before);
      }
    }
  }
}

}  // namespace
}  // namespace xflow::parallel
