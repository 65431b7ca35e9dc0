// Placements of whole operators by their steps: the environment, and the policies that place its groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "src/policy/placement_policy.h"
#include "src/policy/sequence_learner.h"
#include "tests/parallel/split_graphs.h"

namespace xflow::policy {
namespace {

using ir::ValueId;
using parallel::cluster_of;
using parallel::DeviceCluster;
using parallel::PlanCost;
using parallel::RandomNumbers;
using parallel::SearchBudget;
using parallel::SplitPlan;
using parallel::StepKind;
using parallel::TestGraph;
using parallel::TestSplit;

// Chains of products that a sum joins.
std::unique_ptr<TestGraph> branches(int count, int depth, std::int64_t rows = 8) {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->apply("tanh", {g->input({rows, 64})});
  std::optional<ValueId> sum;
  for (int branch = 0; branch < count; ++branch) {
    ValueId value = x;
    for (int k = 0; k < depth; ++k) value = g->apply("relu", {g->apply("matmul", {value, g->weights({64, 64})})});
    sum = sum ? g->apply("add", {*sum, value}) : value;
  }
  g->graph.outputs = {*sum};
  return g;
}

TestSplit split_of(std::unique_ptr<TestGraph> graph, std::uint32_t devices) {
  DeviceCluster cluster = cluster_of(devices);
  cluster.inside = {1e-7, 1e9};
  return parallel::split_of(std::move(graph), std::move(cluster));
}

GroupPlaces random_places(const StepEnvironment& environment, RandomNumbers& random) {
  GroupPlaces places;
  for (std::uint32_t group = 0; group < environment.groups(); ++group) places.push_back(random.below(environment.devices()));
  return places;
}

using Policies = std::vector<std::function<std::unique_ptr<PlacementPolicy>(std::uint64_t)>>;
const Policies kPolicies = {local_policy, [](std::uint64_t seed) { return sequence_policy(seed, 2); }};

FoundPlaces found_by(PlacementPolicy& policy, StepEnvironment& environment, const std::vector<GroupPlaces>& starts, std::uint64_t steps) {
  SearchBudget budget(Seconds(1e9), steps, {});
  auto found = policy.place(environment, starts, budget, {});
  EXPECT_TRUE(found);
  return *found;
}

TEST(StepEnvironment, GroupsChainsAndKeepsThemApartByTheirWork) {
  TestSplit split = split_of(branches(4, 6), 2);
  const StepEnvironment environment(*split.model, split.cluster, StepKind::inference);
  std::vector<bool> is_known(split.model->operators().size(), false);
  double all = 0;
  for (std::uint32_t group = 0; group < environment.groups(); ++group) {
    EXPECT_TRUE(group == 0 || environment.operator_groups().members[group - 1][0] < environment.operator_groups().members[group][0]);
    all += environment.seconds(group, 0);
    for (const std::uint32_t op : environment.operator_groups().members[group]) {
      EXPECT_EQ(group, environment.operator_groups().of[op]);
      EXPECT_FALSE(is_known[op]);
      is_known[op] = true;
    }
  }
  EXPECT_EQ(std::vector<bool>(is_known.size(), true), is_known);
  EXPECT_LT(environment.groups(), split.model->operators().size());
  // A group of several operators has at most an eighth of the share of a device.
  for (std::uint32_t group = 0; group < environment.groups(); ++group) {
    if (environment.operator_groups().members[group].size() > 1) {
      EXPECT_LE(environment.seconds(group, 0), all / 2 / 8 * (1 + 1e-9));
    }
  }
}

TEST(StepEnvironment, HasFewGroupsOfManyOperators) {
  auto graph = std::make_unique<TestGraph>();
  ValueId value = graph->input({4, 4});
  for (int k = 0; k < 300; ++k) value = graph->apply("add", {graph->apply("tanh", {value}), graph->apply("relu", {value})});
  graph->graph.outputs = {value};
  TestSplit split = split_of(std::move(graph), 2);
  const StepEnvironment environment(*split.model, split.cluster, StepKind::inference);
  EXPECT_EQ(900U, split.model->operators().size());
  EXPECT_LE(environment.groups(), parallel::kMostOperatorGroups);
  EXPECT_GT(environment.groups(), parallel::kMostOperatorGroups / 2);
}

TEST(StepEnvironment, SimulatesThePlanOfItsPlaces) {
  for (const StepKind kind : {StepKind::inference, StepKind::training}) {
    TestSplit split = split_of(parallel::attention(), 3);
    StepEnvironment environment(*split.model, split.cluster, kind);
    RandomNumbers random(3);
    for (int k = 0; k < 10; ++k) {
      const GroupPlaces places = random_places(environment, random);
      const SplitPlan plan = environment.plan(places);
      EXPECT_EQ(places, environment.places(plan));
      EXPECT_EQ(parallel::step_with(split, plan, kind), environment.simulate(places)->step);
      EXPECT_EQ(environment.simulate(places)->step, environment.cost(places)->step);
      EXPECT_EQ(environment.simulate(places)->step, environment.cost_of(plan)->step);
    }
    EXPECT_EQ(0U, environment.measured());
  }
}

// Twice the rows take twice the time and send twice the bytes.
TEST(StepEnvironment, FeaturesAreFreeOfScale) {
  TestSplit once = split_of(branches(4, 6), 2);
  TestSplit twice = split_of(branches(4, 6, 16), 2);
  const StepEnvironment first(*once.model, once.cluster, StepKind::inference);
  const StepEnvironment second(*twice.model, twice.cluster, StepKind::inference);
  EXPECT_DOUBLE_EQ(2 * first.seconds(0, 0), second.seconds(0, 0));
  ASSERT_EQ(first.features().values.size(), second.features().values.size());
  for (std::size_t k = 0; k < first.features().values.size(); ++k) {
    EXPECT_NEAR(first.features().values[k], second.features().values[k], 1e-4);
    EXPECT_GE(first.features().values[k], 0);
    EXPECT_LT(first.features().values[k], 8);
  }
}

TEST(StepEnvironment, MeasuresEachPlaceOnce) {
  TestSplit split = split_of(branches(2, 2), 2);
  std::size_t calls = 0;
  StepEnvironment environment(*split.model, split.cluster, StepKind::inference, [&](const SplitPlan& plan) -> Result<double> {
    ++calls;
    if (plan[0].base == 1) return fail(ErrorCode::io, "no folder");
    return 42.0;
  });
  EXPECT_TRUE(environment.is_measured());
  const GroupPlaces here(environment.groups(), 0);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(42, environment.cost(here)->step);
  EXPECT_EQ(1U, calls);
  EXPECT_EQ(1U, environment.measured());
  const GroupPlaces there(environment.groups(), 1);
  EXPECT_EQ("no folder", environment.cost(there).error().message);
  EXPECT_EQ("no folder", environment.cost(there).error().message);
  EXPECT_EQ(1U, environment.measured());
}

TEST(PlacementPolicy, IsNeverWorseThanItsStartsAndDependsOnTheSeedAlone) {
  for (const auto& make : kPolicies) {
    TestSplit split = split_of(parallel::attention(), 3);
    StepEnvironment environment(*split.model, split.cluster, StepKind::training);
    RandomNumbers random(1);
    const std::vector<GroupPlaces> starts = {random_places(environment, random), GroupPlaces(environment.groups(), 0)};
    const FoundPlaces found = found_by(*make(1), environment, starts, 100);
    for (const GroupPlaces& start : starts) EXPECT_LE(found.cost, *environment.simulate(start));
    EXPECT_EQ(found.cost, *environment.simulate(found.places));
    EXPECT_EQ(starts.size() + 100, found.samples);
    EXPECT_LE(found.best_after, found.samples);
    EXPECT_EQ(found.places, found_by(*make(1), environment, starts, 100).places);
    EXPECT_EQ(starts.size(), found_by(*make(1), environment, starts, 0).samples);
  }
}

// The best of all placements, each of which is tried.
PlanCost best_of_all(StepEnvironment& environment) {
  GroupPlaces places(environment.groups(), 0);
  PlanCost best = *environment.simulate(places);
  for (std::size_t k = 0; k < places.size();) {
    if (++places[k] == environment.devices()) {
      places[k++] = 0;
      continue;
    }
    best = std::min(best, *environment.simulate(places));
    k = 0;
  }
  return best;
}

TEST(PlacementPolicy, FindsTheBestPlacementOfFewGroups) {
  for (const auto& make : kPolicies) {
    TestSplit split = split_of(branches(3, 1), 2);
    StepEnvironment environment(*split.model, split.cluster, StepKind::inference);
    ASSERT_LT(environment.groups(), 12U);
    const GroupPlaces start(environment.groups(), 0);
    const PlanCost best = best_of_all(environment);
    EXPECT_LT(best.step, 0.8 * environment.simulate(start)->step);
    EXPECT_DOUBLE_EQ(best.step, found_by(*make(1), environment, {start}, 3000).cost.step);
  }
}

// The mean step of placements that are drawn as a whole, over so many steps of a learner.
double mean_of_steps(SequenceLearner& learner, StepEnvironment& environment, int steps, FoundPlaces& best) {
  double sum = 0;
  int count = 0;
  for (int step = 0; step < steps; ++step) {
    const auto drawn = learner.draw(environment, 64, best.places);
    std::vector<PlanCost> costs;
    for (std::size_t row = 0; row < drawn.size(); ++row) {
      costs.push_back(*environment.simulate(drawn[row]));
      if (!learner.is_whole(row)) continue;
      sum += costs.back().step;
      ++count;
    }
    const PlanCost before = best.cost;
    const auto shortest = std::ranges::min_element(costs);
    if (*shortest < best.cost) best = {drawn[static_cast<std::size_t>(shortest - costs.begin())], *shortest, 0, 0};
    EXPECT_TRUE(learner.learn(costs, before));
  }
  EXPECT_EQ(4 * steps, count);
  return sum / count;
}

TEST(SequenceLearner, LearnsToDrawShortSteps) {
  TestSplit split = split_of(branches(4, 3), 2);
  StepEnvironment environment(*split.model, split.cluster, StepKind::inference);
  RandomNumbers random(1);
  FoundPlaces best;
  best.places = random_places(environment, random);
  best.cost = *environment.simulate(best.places);
  auto learner = *SequenceLearner::of(environment, 1, best.cost, 1);
  const double first = mean_of_steps(learner, environment, 5, best);
  mean_of_steps(learner, environment, 150, best);
  EXPECT_LT(mean_of_steps(learner, environment, 5, best), 0.85 * first);
}

// What a learner draws in each of three steps.
std::vector<std::vector<GroupPlaces>> drawn_with(std::size_t threads) {
  TestSplit split = split_of(branches(2, 2), 3);
  StepEnvironment environment(*split.model, split.cluster, StepKind::training);
  const GroupPlaces best(environment.groups(), 0);
  const PlanCost cost = *environment.simulate(best);
  auto learner = *SequenceLearner::of(environment, 5, cost, threads);
  std::vector<std::vector<GroupPlaces>> result;
  for (int step = 0; step < 3; ++step) {
    result.push_back(learner.draw(environment, 16, best));
    std::vector<PlanCost> costs;
    for (const GroupPlaces& places : result.back()) costs.push_back(*environment.simulate(places));
    EXPECT_TRUE(learner.learn(costs, cost));
  }
  return result;
}

TEST(SequenceLearner, DrawsMostPlacementsCloseToTheBest) {
  TestSplit split = split_of(branches(5, 4), 3);
  StepEnvironment environment(*split.model, split.cluster, StepKind::training);
  ASSERT_GT(environment.groups(), 8U);
  RandomNumbers random(3);
  const GroupPlaces best = random_places(environment, random);
  auto learner = *SequenceLearner::of(environment, 5, *environment.simulate(best), 1);
  const auto drawn = learner.draw(environment, 64, best);
  ASSERT_EQ(64U, drawn.size());
  std::size_t changed = 0;
  for (std::size_t row = 0; row < drawn.size(); ++row) {
    EXPECT_EQ(row % 32 < 2, learner.is_whole(row));
    if (learner.is_whole(row)) continue;
    std::uint32_t begin = environment.groups();
    std::uint32_t end = 0;
    for (std::uint32_t group = 0; group < environment.groups(); ++group) {
      if (drawn[row][group] == best[group]) continue;
      begin = std::min(begin, group);
      end = group + 1;
    }
    if (end == 0) continue;
    ++changed;
    EXPECT_LE(end - begin, 4U);
  }
  EXPECT_GT(changed, 40U);
}

TEST(SequenceLearner, DoesNotDependOnTheNumberOfThreads) {
  const auto one = drawn_with(1);
  EXPECT_NE(one[0], one[2]);
  for (const std::size_t threads : {std::size_t{2}, std::size_t{64}, std::size_t{0}}) EXPECT_EQ(one, drawn_with(threads));
}

TEST(SequencePolicy, BeginsWithOtherWeightsAfterManyPlacementsWithoutGain) {
  TestSplit split = split_of(branches(1, 1), 2);
  StepEnvironment environment(*split.model, split.cluster, StepKind::inference);
  const GroupPlaces start(environment.groups(), 0);  // the best one of a single chain
  EXPECT_EQ(1U, found_by(*sequence_policy(1, 1), environment, {start}, 9'000).policies);
  const FoundPlaces found = found_by(*sequence_policy(1, 1), environment, {start}, 25'000);
  EXPECT_EQ(3U, found.policies);
  EXPECT_EQ(25'001U, found.samples);
  EXPECT_EQ(1U, found.best_after);
  EXPECT_EQ(start, found.places);
}

TEST(PlacementPolicy, PrefersWhatFitsIntoTheMemory) {
  for (const auto& make : kPolicies) {
    auto graph = branches(2, 3);
    DeviceCluster cluster = cluster_of(2);
    cluster.inside = {1, 1e3};  // nothing is gained by a second device
    for (auto& device : cluster.devices) device.memory = 4.5 * 64 * 64 * 4;
    TestSplit split = parallel::split_of(std::move(graph), std::move(cluster));
    StepEnvironment environment(*split.model, split.cluster, StepKind::inference);
    const GroupPlaces start(environment.groups(), 0);
    EXPECT_GT(environment.simulate(start)->missing, 0);
    EXPECT_EQ(0, found_by(*make(1), environment, {start}, 500).cost.missing);
  }
}

TEST(PlacementPolicy, LearnsFromMeasuredSteps) {
  for (const auto& make : kPolicies) {
    TestSplit split = split_of(branches(3, 1), 2);
    // The measured step is short where few groups are on the first device, which no simulation says.
    StepEnvironment environment(*split.model, split.cluster, StepKind::inference, [](const SplitPlan& plan) -> Result<double> {
      double step = 1;
      for (const auto& op : plan) step += op.base == 0 ? 1 : 0;
      return step;
    });
    const FoundPlaces found = found_by(*make(2), environment, {GroupPlaces(environment.groups(), 0)}, 3000);
    EXPECT_EQ(1, found.cost.step);
    EXPECT_EQ(GroupPlaces(environment.groups(), 1), found.places);
    StepEnvironment broken(*split.model, split.cluster, StepKind::inference,
                           [](const SplitPlan&) -> Result<double> { return fail(ErrorCode::unsupported, "it does not run"); });
    SearchBudget budget;
    const std::vector<GroupPlaces> starts = {GroupPlaces(environment.groups(), 0)};
    EXPECT_EQ("it does not run", make(1)->place(broken, starts, budget, {}).error().message);
  }
}

TEST(PlacementPolicy, OfGoIsNotWorseThanItsStartsAndDependsOnTheSeedAlone) {
  for (const bool searches : {false, true}) {
    TestSplit split = split_of(parallel::attention(), 3);
    StepEnvironment environment(*split.model, split.cluster, StepKind::training);
    const std::vector<GroupPlaces> starts = {GroupPlaces(environment.groups(), 0)};
    const FoundPlaces found = found_by(*go_policy(first_go_policy(1), 1, searches), environment, starts, 3000);
    EXPECT_LT(found.cost, *environment.simulate(starts[0]));
    EXPECT_EQ(found.cost, *environment.simulate(found.places));
    EXPECT_LE(found.samples, starts.size() + 3000);
    EXPECT_LE(found.best_after, found.samples);
    EXPECT_EQ(found.places, found_by(*go_policy(first_go_policy(1), 1, searches), environment, starts, 3000).places);
  }
}

}  // namespace
}  // namespace xflow::policy
