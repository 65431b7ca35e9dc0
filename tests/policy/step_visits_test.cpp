// Steps as what a policy visits: of generated graphs and of models.
#include "src/policy/step_visits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/policy/graph_families.h"
#include "src/policy/placement_network.h"
#include "src/policy/placement_policy.h"
#include "src/policy/trainer.h"
#include "src/policy/workload_steps.h"
#include "tests/parallel/split_graphs.h"

namespace xflow::policy {
namespace {

using parallel::DeviceCluster;
using parallel::PlacementInstance;

DeviceCluster rated_cluster(std::uint32_t devices) {
  DeviceCluster cluster = parallel::cluster_of(devices);
  cluster.inside = {1e-6, 1e9};
  return cluster;
}

std::unique_ptr<WorkloadSteps> steps_of(const char* family, std::uint64_t seed, std::uint32_t devices = 4) {
  const DeviceCluster cluster = *parallel::preset_cluster("dgx-h100");
  DeviceCluster few = cluster;
  few.devices.resize(devices);
  return *WorkloadSteps::of(*family_graph(family, seed, cluster), few, {});
}

Policy untrained_step() {
  Policy policy;
  policy.objective = PolicyObjective::step;
  policy.weights = first_weights(1);
  policy.training.weights = policy.weights;
  for (const Matrix& weight : policy.weights) policy.training.moments.emplace_back(weight.rows, weight.columns);
  policy.training.variances = policy.training.moments;
  return policy;
}

// Two nodes of one class, and a node between them that both exchange tensors with. Times are milliseconds.
PlacementInstance diamond() {
  PlacementInstance instance;
  instance.accelerators = 2;
  instance.memory = 100;
  instance.nodes = {{.id = 0, .cpu_time = 9, .accelerator_time = 1, .bytes = 5, .colour = 7},
                    {.id = 1, .cpu_time = 4, .accelerator_time = 2, .on_accelerator = false},
                    {.id = 2, .cpu_time = 9, .accelerator_time = 3, .bytes = 6, .colour = 7}};
  instance.edges = {{0, 1}, {1, 2}};
  instance.output_cost = {0.5, 0.001, 0};
  return instance;
}

TEST(WorkloadSteps, AreThoseOfTheInstanceOnTheCluster) {
  DeviceCluster cluster = rated_cluster(2);
  cluster.devices[1].memory = 8;
  auto steps = *WorkloadSteps::of(diamond(), cluster, {});
  ASSERT_EQ(2U, steps->groups());
  EXPECT_DOUBLE_EQ(4e-3, steps->seconds(0, 0));  // of the class
  EXPECT_DOUBLE_EQ(4e-3, steps->seconds(1, 1));  // no accelerator has the node
  EXPECT_EQ(11, steps->bytes(0));
  ASSERT_EQ(1U, steps->readers(0).size());
  EXPECT_EQ(1U, steps->readers(0)[0].group);
  EXPECT_NEAR(0.499e6, steps->readers(0)[0].bytes, 1e-3);  // without the latency
  EXPECT_EQ(0, steps->sources(0)[0].bytes);
  EXPECT_NEAR(8e-3, steps->step(std::vector<std::uint32_t>{0, 0}).step, 1e-12);
  const parallel::PlanCost apart = steps->step(std::vector<std::uint32_t>{1, 0});
  EXPECT_NEAR(8e-3 + 0.5e-3 + 1e-6, apart.step, 1e-12);
  EXPECT_EQ(3, apart.missing);
}

TEST(WorkloadSteps, RefuseNodesThatReadEachOther) {
  PlacementInstance instance = diamond();
  instance.edges.push_back({2, 0});
  EXPECT_EQ("nodes read each other, so that there is no step", WorkloadSteps::of(instance, rated_cluster(2), "in.json").error().message);
}

TEST(StepVisits, HasTheStepOfItsPlacementAfterMoves) {
  StepVisits visits(steps_of("inception", 3));
  const auto steps = steps_of("inception", 3);
  parallel::RandomNumbers random(5);
  for (int k = 0; k < 40; ++k) {
    visits.move(random.below(visits.groups()), random.below(visits.device_count()));
    EXPECT_EQ(steps->step(visits.devices()).step, visits.value());
    const double potential = visits.potential();
    EXPECT_GE(potential, visits.value());
    visits.reset(visits.devices());
    EXPECT_NEAR(potential, visits.potential(), 1e-9 * potential);
  }
}

TEST(StepVisits, ChoicesSayWhatMovesDoAndLeaveThePlacement) {
  StepVisits visits(steps_of("layers", 1));
  parallel::RandomNumbers random(1);
  for (int k = 0; k < 20; ++k) {
    const std::uint32_t group = random.below(visits.groups());
    const parallel::GroupDevices before = visits.devices();
    const double value = visits.value();
    const auto choices = visits.choices(group, 0.5);
    EXPECT_EQ(before, visits.devices());
    EXPECT_EQ(value, visits.value());
    for (std::uint32_t device = 0; device < visits.device_count(); ++device) {
      EXPECT_EQ(device == before[group] ? 1 : 0, choices.features.at(device, 0));
      visits.move(group, device);
      EXPECT_NEAR(std::clamp(10 * (visits.value() / value - 1), -1.0, 1.0), choices.features.at(device, 1), 1e-6);
      visits.move(group, before[group]);
    }
  }
}

TEST(StepVisits, DevicesWithoutTheMemoryAreNotPossible) {
  DeviceCluster cluster = rated_cluster(2);
  for (auto& device : cluster.devices) device.memory = 4.5 * 64 * 64 * 4;
  auto graph = std::make_unique<parallel::TestGraph>();
  ir::ValueId value = graph->input({8, 64});
  for (int k = 0; k < 6; ++k) value = graph->apply("tanh", {graph->apply("matmul", {value, graph->weights({64, 64})})});
  graph->graph.outputs = {value};
  parallel::TestSplit split = parallel::split_of(std::move(graph), std::move(cluster));
  StepEnvironment environment(*split.model, split.cluster, parallel::StepKind::inference);
  StepVisits visits(environment);
  GroupPlaces places(environment.groups(), 0);
  double held = 0;
  for (std::uint32_t group = 0; group < environment.groups() && held < 4 * 64 * 64 * 4; ++group) {
    held += environment.bytes(group);
    places[group] = 1;
  }
  visits.reset(places);
  std::uint32_t last = environment.groups() - 1;
  while (environment.bytes(last) == 0) --last;
  EXPECT_EQ((std::vector<bool>{true, false}), visits.choices(last, 0).possible);
}

TEST(StepVisits, FeaturesAreFreeOfScale) {
  const DeviceCluster cluster = *parallel::preset_cluster("dgx-h100");
  PlacementInstance instance = *family_graph("cells", 2, cluster);
  DeviceCluster slow = cluster;
  slow.inside.latency *= 8;
  StepVisits first(*WorkloadSteps::of(instance, cluster, {}));
  for (auto& node : instance.nodes) node.accelerator_time *= 8;
  for (double& cost : instance.output_cost) cost *= 8;
  StepVisits second(*WorkloadSteps::of(instance, slow, {}));
  for (std::size_t k = 0; k < first.group_features().values.size(); ++k)
    EXPECT_NEAR(first.group_features().values[k], second.group_features().values[k], 1e-4);
}

TEST(StepPolicies, ShortenStepsOfAFamilyThatTheyTrainOn) {
  Trainer trainer = *Trainer::of(untrained_step());
  GreedyValidation::Environments environments;
  for (const std::uint64_t seed : {101U, 102U}) environments.push_back(std::make_unique<StepVisits>(steps_of("inception", seed)));
  const auto validated = *GreedyValidation::of(std::move(environments));
  const double before = *trainer.begin(*validated);
  for (std::uint64_t step = 0; step < 10; ++step) {
    StepVisits visits(steps_of("inception", step));
    ASSERT_TRUE(trainer.step(visits));
  }
  EXPECT_LT(*trainer.validate(*validated), before - 0.02);
}

TEST(StepPolicies, AreNeverWorseThanStartsAndSearchAfterThem) {
  parallel::TestSplit split = parallel::split_of(parallel::attention(), rated_cluster(3));
  StepEnvironment environment(*split.model, split.cluster, parallel::StepKind::training);
  const std::vector<GroupPlaces> starts = {GroupPlaces(environment.groups(), 1), GroupPlaces(environment.groups(), 0)};
  for (const bool searches : {false, true}) {
    parallel::SearchBudget budget(Seconds(1e9), 4000, {});
    const auto found = placeto_policy(untrained_step(), 1, searches)->place(environment, starts, budget, {});
    ASSERT_TRUE(found);
    for (const GroupPlaces& start : starts) EXPECT_LE(found->cost, *environment.simulate(start));
    EXPECT_EQ(found->cost, *environment.simulate(found->places));
    EXPECT_LE(found->best_after, found->samples);
    EXPECT_LE(found->samples, 4002U);
    if (searches) {
      EXPECT_EQ(4002U, found->samples);
    }
  }
}

}  // namespace
}  // namespace xflow::policy
