// Generated graphs, the environment of a policy, its network, training and files.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "src/parallel/evaluate.h"
#include "src/parallel/interval_program.h"
#include "src/parallel/latency_methods.h"
#include "src/parallel/load_methods.h"
#include "src/parallel/ordering.h"
#include "src/parallel/random_numbers.h"
#include "src/policy/coarse_groups.h"
#include "src/policy/distribution.h"
#include "src/policy/graph_families.h"
#include "src/policy/graph_gradient.h"
#include "src/policy/placement_network.h"
#include "src/policy/policy_network.h"
#include "src/policy/policy_placement.h"
#include "src/policy/train_policy.h"
#include "src/policy/trainer.h"

namespace xflow::policy {
namespace {

using parallel::PlacementInstance;

const parallel::DeviceCluster& cluster() {
  static const parallel::DeviceCluster result = *parallel::preset_cluster("dgx-h100");
  return result;
}

PlacementInstance instance_of(const char* family, std::uint64_t seed = 1) { return *family_graph(family, seed, cluster()); }

Policy untrained(PolicyObjective objective = PolicyObjective::max_load) {
  Policy policy;
  policy.objective = objective;
  policy.weights = first_weights(1);
  policy.training.weights = policy.weights;
  for (const Matrix& weight : policy.weights) policy.training.moments.emplace_back(weight.rows, weight.columns);
  policy.training.variances = policy.training.moments;
  return policy;
}

class PolicyFiles : public testing::Test {
 protected:
  PolicyFiles() : folder_(std::filesystem::temp_directory_path() / ("xflow-policy-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~PolicyFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  static std::string bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path folder_;
};

TEST(GraphFamilies, AreAcyclicConnectedAndFitTheirDevices) {
  for (const std::string& family : graph_families()) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const PlacementInstance instance = *family_graph(family, seed, cluster());
      const auto nodes = static_cast<std::uint32_t>(instance.nodes.size());
      EXPECT_GE(nodes, family == "large" ? 1000U : 40U) << family << " " << seed;
      EXPECT_LE(nodes, family == "large" ? 2000U : 350U) << family << " " << seed;
      EXPECT_EQ(family == "large", !instance.fusions.empty());
      EXPECT_EQ(std::nullopt, parallel::node_of_cycle(nodes, instance.edges)) << family;
      std::set<std::uint32_t> touched;
      double all = 0;
      for (const auto& [from, to] : instance.edges) touched.insert({from, to});
      for (const auto& node : instance.nodes) {
        EXPECT_GT(node.accelerator_time, 0);
        EXPECT_GT(node.cpu_time, node.accelerator_time);
        EXPECT_LE(node.bytes, instance.memory);
        all += node.bytes;
      }
      EXPECT_EQ(nodes, touched.size()) << family << " " << seed;
      EXPECT_GT(instance.memory * instance.accelerators, all);
    }
  }
}

TEST(GraphFamilies, DependOnTheSeedAlone) {
  const PlacementInstance first = instance_of("layers", 3);
  const PlacementInstance same = instance_of("layers", 3);
  EXPECT_EQ(first.edges, same.edges);
  EXPECT_EQ(first.output_cost, same.output_cost);
  EXPECT_NE(first.edges, instance_of("layers", 4).edges);
}

TEST(GraphFamilies, NameWhatThereIs) {
  EXPECT_EQ("there is no family of graphs 'trees'; the families are cells, transformers, layers, recurrent, inception, large",
            family_graph("trees", 1, cluster()).error().message);
}

// Values are those of the evaluator, and features those of the same instance with all times and sizes
// multiplied.
TEST(PlacementEnvironment, HasTheValueOfItsPlacementAfterMoves) {
  for (const PlacementObjective objective : {PlacementObjective::max_load, PlacementObjective::latency}) {
    const PlacementInstance instance = instance_of("inception");
    PlacementEnvironment environment(instance, objective);
    parallel::RandomNumbers random(3);
    int moves = 0;
    for (const std::uint32_t group : environment.order()) {
      const auto choices = environment.choices(group, 0);
      const std::uint32_t device = random.below(environment.problem().devices());
      if (!choices.possible[device]) continue;
      const double before = environment.value();
      environment.move(group, device);
      ++moves;
      const auto devices = parallel::node_devices(environment.group_of_node(), environment.devices());
      ASSERT_TRUE(parallel::is_valid(instance, devices));
      const auto loads = parallel::loads_of(instance, devices);
      const double value =
          objective == PlacementObjective::latency ? *parallel::latency_of(instance, devices) : *std::ranges::max_element(loads);
      ASSERT_NEAR(value, environment.value(), 1e-9 * value);
      // What the choice said of it.
      ASSERT_NEAR(std::tanh(100 * (environment.value() / before - 1)), choices.features.at(device, 2), 1e-4);
    }
    EXPECT_GT(moves, 20);
  }
}

TEST(PlacementEnvironment, ChoicesLeaveThePlacementAsItIs) {
  PlacementEnvironment environment(instance_of("cells"), PlacementObjective::max_load);
  const parallel::GroupDevices before = environment.devices();
  const double value = environment.value();
  for (const std::uint32_t group : environment.order()) {
    const auto choices = environment.choices(group, 0.5);
    EXPECT_TRUE(choices.possible[before[group]]);
    EXPECT_EQ(1, choices.features.at(before[group], 0));
  }
  EXPECT_EQ(before, environment.devices());
  EXPECT_EQ(value, environment.value());
}

TEST(PlacementEnvironment, FeaturesAreFreeOfScale) {
  const PlacementInstance instance = instance_of("transformers");
  PlacementInstance scaled = instance;
  for (auto& node : scaled.nodes) {
    node.cpu_time *= 1024;
    node.accelerator_time *= 1024;
    node.bytes *= 4;
    node.id += 1000;
  }
  for (double& cost : scaled.output_cost) cost *= 1024;
  scaled.memory *= 4;
  PlacementEnvironment one(instance, PlacementObjective::max_load);
  PlacementEnvironment other(scaled, PlacementObjective::max_load);
  const auto expect_near = [](const Matrix& a, const Matrix& b) {
    ASSERT_EQ(a.values.size(), b.values.size());
    for (std::size_t k = 0; k < a.values.size(); ++k) ASSERT_NEAR(a.values[k], b.values[k], 1e-5);
  };
  expect_near(one.group_features(), other.group_features());
  expect_near(one.choices(5, 0.25).features, other.choices(5, 0.25).features);
}

TEST(PlacementEnvironment, RefusesDevicesWithoutTheMemory) {
  PlacementInstance instance = instance_of("layers");
  PlacementEnvironment environment(instance, PlacementObjective::max_load);
  double largest = 0;
  for (const auto& group : environment.problem().groups) largest = std::max(largest, group.bytes);
  instance.memory = largest / 2;
  PlacementEnvironment crowded(instance, PlacementObjective::max_load);
  for (std::uint32_t group = 0; group < crowded.problem().size(); ++group) {
    if (crowded.problem().groups[group].bytes < largest) continue;
    const auto possible = crowded.choices(group, 0).possible;
    EXPECT_EQ(1, std::count(possible.begin(), possible.end(), true));  // the CPU
    EXPECT_TRUE(possible.back());
  }
}

TEST(CoarseGroups, JoinWhatCostsMostToSendWithinTheirShare) {
  const PlacementInstance instance = instance_of("layers");
  const PlacementEnvironment environment(instance, PlacementObjective::max_load);
  const parallel::PlacementProblem& problem = environment.problem();
  const std::vector<Clusters> levels = coarse_levels(problem, PlacementObjective::max_load);
  ASSERT_EQ(1U, levels.size());
  const Clusters& clusters = levels[0];
  const std::uint32_t count = 1 + *std::ranges::max_element(clusters);
  EXPECT_LT(count, problem.size());
  std::vector<double> times(count);
  std::vector<double> bytes(count);
  std::vector<int> members(count);
  double all = 0;
  for (std::size_t group = 0; group < clusters.size(); ++group) {
    times[clusters[group]] += problem.groups[group].accelerator_time;
    bytes[clusters[group]] += problem.groups[group].bytes;
    ++members[clusters[group]];
    all += problem.groups[group].accelerator_time;
  }
  for (std::uint32_t cluster = 0; cluster < count; ++cluster) {
    EXPECT_GT(members[cluster], 0);
    if (members[cluster] == 1) continue;
    EXPECT_LE(times[cluster], 0.5 * all / problem.devices());
    EXPECT_LE(bytes[cluster], 0.5 * problem.memory);
  }
  PlacementInstance free = instance;
  for (double& cost : free.output_cost) cost *= 1e-6;
  EXPECT_EQ(1U, open_levels(free, PlacementObjective::max_load, "free")->size());
  EXPECT_EQ(2U, open_levels(instance, PlacementObjective::max_load, "layers")->size());
}

// No path leaves a cluster and enters it again, at any level.
TEST(CoarseGroups, OfTheLatencyLieInEachOtherAndHaveNoCycles) {
  for (const std::string& family : graph_families()) {
    if (family == "large") continue;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const PlacementEnvironment environment(instance_of(family.c_str(), seed), PlacementObjective::latency);
      const parallel::PlacementProblem& problem = environment.problem();
      Clusters smaller(problem.size());
      std::iota(smaller.begin(), smaller.end(), 0U);
      std::vector<Clusters> levels = coarse_levels(problem, PlacementObjective::latency);
      ASSERT_EQ(3U, levels.size());
      std::ranges::reverse(levels);
      for (const Clusters& clusters : levels) {
        const std::uint32_t count = 1 + *std::ranges::max_element(clusters);
        EXPECT_LE(count, 1 + *std::ranges::max_element(smaller)) << family << " " << seed;
        std::map<std::uint32_t, std::uint32_t> around;
        for (std::size_t group = 0; group < clusters.size(); ++group)
          EXPECT_EQ(clusters[group], around.try_emplace(smaller[group], clusters[group]).first->second) << family << " " << seed;
        std::set<parallel::PlacementEdge> edges;
        for (const auto& [from, to] : problem.order) {
          if (clusters[from] != clusters[to]) edges.insert({clusters[from], clusters[to]});
        }
        EXPECT_EQ(std::nullopt, parallel::node_of_cycle(count, std::vector(edges.begin(), edges.end()))) << family << " " << seed;
        smaller = clusters;
      }
    }
  }
}

// A chain: everything may join, so that clusters are as large as their share allows.
TEST(CoarseGroups, OfTheLatencyAreAsLargeAsTheirShare) {
  parallel::PlacementProblem problem;
  problem.accelerators = 2;
  problem.memory = 1e9;
  constexpr std::uint32_t kLength = 100;
  problem.groups.resize(kLength, {.cpu_time = 1, .accelerator_time = 1, .bytes = 1, .on_accelerator = true});
  problem.tensors_of.resize(kLength);
  for (std::uint32_t k = 1; k < kLength; ++k) problem.order.push_back({k - 1, k});
  const std::vector<Clusters> levels = coarse_levels(problem, PlacementObjective::latency);
  ASSERT_EQ(3U, levels.size());
  // A device has 50 groups in the mean.
  std::vector<std::size_t> largest;
  for (const Clusters& clusters : levels) {
    std::vector<std::size_t> members(kLength);
    for (const std::uint32_t cluster : clusters) ++members[cluster];
    largest.push_back(*std::ranges::max_element(members));
  }
  EXPECT_EQ((std::vector<std::size_t>{20, 10, 5}), largest);
}

TEST(PlacementEnvironment, StartsAreWithinTheMemoryAndDependOnTheirNumber) {
  for (const PlacementObjective objective : {PlacementObjective::max_load, PlacementObjective::latency}) {
    const PlacementInstance instance = instance_of("inception");
    PlacementEnvironment environment(instance, objective);
    std::set<parallel::GroupDevices> different;
    for (const std::uint64_t number : {0U, 1U, 2U, 3U}) {
      const auto start = environment.start(number);
      ASSERT_TRUE(start);
      EXPECT_EQ(start, environment.start(number));
      EXPECT_TRUE(parallel::is_valid(instance, parallel::node_devices(environment.group_of_node(), *start)));
      different.insert(*start);
    }
    EXPECT_GT(different.size(), 1U);
    EXPECT_EQ(environment.devices(), environment.start());
  }
}

TEST(PlacementEnvironment, BeginsForTheLatencyAtTheBestSimplePlacement) {
  const PlacementInstance instance = instance_of("layers");
  PlacementEnvironment environment(instance, PlacementObjective::latency);
  const parallel::PlacementProblem& problem = environment.problem();
  const std::vector<std::uint32_t> order = parallel::topological_order(problem.size(), problem.order);
  parallel::SearchBudget unlimited;
  const double value = environment.value();
  for (const auto& devices : {parallel::best_interval_sum(problem, order, unlimited)->devices, *parallel::filled_in_order(problem, order),
                              *parallel::simple_placement(problem)}) {
    environment.reset(devices);
    EXPECT_LE(value, environment.value());
  }
}

TEST(PolicyNetwork, OfTheInterpreterEqualsTheOneThatIsTrained) {
  PlacementEnvironment environment(instance_of("recurrent"), PlacementObjective::max_load);
  const std::vector<Matrix> weights = first_weights(9);
  PolicyNetwork network(weights);
  ASSERT_TRUE(network.encode(environment));
  GraphGradient whole = *GraphGradient::of(*whole_graph(weights));
  for (const std::uint32_t group : {3U, 17U, 40U}) {
    const auto choices = environment.choices(group, 0.5);
    const auto scores = network.scores(choices);
    ASSERT_TRUE(scores) << scores.error().message;
    const Matrix* const inputs[] = {&environment.group_features(),
                                    &environment.parents(),
                                    &environment.children(),
                                    &choices.features,
                                    &choices.own,
                                    &choices.parents,
                                    &choices.children,
                                    &choices.others};
    const Matrix expected = whole.compute(inputs)[0];
    ASSERT_EQ(scores->size(), expected.values.size());
    for (std::size_t k = 0; k < scores->size(); ++k) EXPECT_NEAR((*scores)[k], expected.values[k], 1e-5);
  }
}

TEST(PolicyNetwork, ScoresDevicesAlikeInAnyOrder) {
  PlacementEnvironment environment(instance_of("cells"), PlacementObjective::max_load);
  PolicyNetwork network(first_weights(9));
  ASSERT_TRUE(network.encode(environment));
  auto choices = environment.choices(7, 0);
  const auto scores = *network.scores(choices);
  for (Matrix* matrix : {&choices.features, &choices.own, &choices.parents, &choices.children, &choices.others})
    std::swap_ranges(matrix->row(1).begin(), matrix->row(1).end(), matrix->row(6).begin());
  const auto swapped = *network.scores(choices);
  EXPECT_NEAR(scores[1], swapped[6], 1e-5);
  EXPECT_NEAR(scores[6], swapped[1], 1e-5);
  EXPECT_NEAR(scores[0], swapped[0], 1e-5);
}

TEST(Distribution, GivesImpossibleChoicesNothing) {
  const std::vector<float> scores = {1, 100, 2};
  const auto probabilities = probabilities_of(scores, {true, false, true});
  EXPECT_EQ(0, probabilities[1]);
  EXPECT_NEAR(1, probabilities[0] + probabilities[2], 1e-12);
  EXPECT_NEAR(std::exp(1), probabilities[2] / probabilities[0], 1e-6);
  EXPECT_EQ(2U, likeliest(probabilities));
  EXPECT_EQ(0U, choice_at(probabilities, probabilities[0] / 2));
  EXPECT_EQ(2U, choice_at(probabilities, 1));
}

TEST(Policy, NeverMakesItsFirstPlacementWorse) {
  for (const PlacementObjective objective : {PlacementObjective::max_load, PlacementObjective::latency}) {
    const PlacementInstance instance = instance_of("layers");
    PlacementEnvironment environment(instance, objective);
    const double first = environment.value();
    parallel::SearchBudget unlimited;
    const auto devices = placement_of(untrained(policy_objective(objective)).weights, environment, 1, unlimited);
    ASSERT_TRUE(devices);
    environment.reset(*devices);
    EXPECT_LE(environment.value(), first);
  }
}

TEST(Policy, TakesTheBestOfItsLevelsStartsAndKnownPlacements) {
  const std::vector<Matrix> weights = untrained(PolicyObjective::latency).weights;
  const PlacementInstance instance = instance_of("recurrent");
  PlacementLevels levels = *open_levels(instance, PlacementObjective::latency, "recurrent");
  ASSERT_GT(levels.size(), 1U);
  const auto value_of = [&](const parallel::GroupDevices& devices) {
    levels.back()->reset(devices);
    return levels.back()->value();
  };
  parallel::SearchBudget unlimited;
  double least_start = std::numeric_limits<double>::infinity();
  for (const auto& level : levels) least_start = std::min(least_start, level->value());
  const double of_one = value_of(*placement_of_levels(weights, levels, {}, 1, unlimited, 1));
  EXPECT_LE(of_one, least_start);
  const parallel::GroupDevices best = *placement_of_levels(weights, levels, {}, 1, unlimited);
  EXPECT_LT(value_of(best), of_one);
  parallel::SearchBudget none(Seconds(1e9), 0, {});
  EXPECT_EQ(best, *placement_of_levels(weights, levels, {&best, 1}, 1, none));
}

TEST(Trainer, LowersTheValueOfAFamilyThatItTrainsOn) {
  Trainer trainer = *Trainer::of(untrained());
  GreedyValidation::Environments environments;
  for (const std::uint64_t seed : {101U, 102U, 103U})
    environments.push_back(std::make_unique<PlacementEnvironment>(instance_of("cells", seed), PlacementObjective::max_load));
  const auto validated = *GreedyValidation::of(std::move(environments));
  const double before = *trainer.begin(*validated);
  for (std::uint64_t step = 0; step < 20; ++step) {
    PlacementEnvironment environment(instance_of("cells", step), PlacementObjective::max_load);
    ASSERT_TRUE(trainer.step(environment));
  }
  const double after = *trainer.validate(*validated);
  EXPECT_LT(after, before - 0.05);
  EXPECT_EQ(after, trainer.policy().training.best_score);
  EXPECT_EQ(20U, trainer.policy().training.steps);
}

TEST(Trainer, StopsWhereWeightsAreNotFinite) {
  Policy policy = untrained();
  policy.training.weights[0].values[0] = std::numeric_limits<float>::infinity();
  Trainer trainer = *Trainer::of(policy);
  PlacementEnvironment environment(instance_of("cells"), PlacementObjective::max_load);
  EXPECT_FALSE(trainer.step(environment));
  EXPECT_EQ(0U, trainer.policy().training.steps);
  EXPECT_EQ(untrained().weights, trainer.policy().weights);
}

TEST_F(PolicyFiles, KeepAPolicy) {
  Policy policy = untrained(PolicyObjective::latency);
  policy.training.steps = 12;
  policy.training.best_score = -0.25;
  policy.training.variances[3].values[1] = 0.5F;
  policy.placements = {{0, 2, 1}, {3}};
  ASSERT_TRUE(write_policy(path("a.npz"), policy));
  const auto read = read_policy(path("a.npz"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(PolicyObjective::latency, read->objective);
  EXPECT_EQ(policy.weights, read->weights);
  EXPECT_EQ(policy.training.variances, read->training.variances);
  EXPECT_EQ(12U, read->training.steps);
  EXPECT_EQ(policy.placements, read->placements);
  EXPECT_EQ(-0.25, read->training.best_score);
  ASSERT_TRUE(write_policy(path("b.npz"), *read));
  EXPECT_EQ(bytes(path("a.npz")), bytes(path("b.npz")));
}

TEST_F(PolicyFiles, OfOneTrainingOrTwoAreEqual) {
  TrainPolicyOptions options;
  options.graphs = "generator:cells,recurrent";
  options.out = path("whole.npz");
  options.steps = 5;
  const auto whole = train(options);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(12U, whole->graphs);
  options.out = path("parts.npz");
  options.steps = 2;
  ASSERT_TRUE(train(options));
  options.steps = 5;
  options.resume = true;
  options.seed = 99;  // its own is kept
  const auto parts = train(options);
  ASSERT_TRUE(parts);
  EXPECT_EQ(1U, parts->seed);
  EXPECT_EQ(bytes(path("whole.npz")), bytes(path("parts.npz")));
}

TEST_F(PolicyFiles, OfATrainingOnOtherGraphsAreAsGoodThereAsTheyWere) {
  TrainPolicyOptions options;
  options.graphs = "generator:cells";
  options.out = path("a.npz");
  options.steps = 20;
  const auto first = train(options);
  ASSERT_TRUE(first);
  options.graphs = "generator:transformers";
  options.resume = true;
  const auto begun = train(options);  // without a step
  ASSERT_TRUE(begun);
  options.steps = 25;
  const auto trained = train(options);
  ASSERT_TRUE(trained);
  EXPECT_LT(first->ratio, 0.9);
  EXPECT_GT(begun->ratio, first->ratio);  // of other graphs
  EXPECT_LE(trained->ratio, begun->ratio);
}

// The value that a policy of a file has on an instance, from the first placement.
double value_of(const PlacementInstance& instance, const std::string& policy) {
  PlaceOptions options;
  options.policy = policy;
  return place(instance, options, "the instance")->value.count();
}

std::string json_of(const PlacementInstance& instance) {
  std::string nodes;
  std::string edges;
  for (const auto& node : instance.nodes)
    nodes +=
        fmt::format(R"({}{{"id": {}, "cpuLatency": {}, "fpgaLatency": {}, "size": {}, "supportedOnFpga": true, "isBackwardNode": false}})",
                    nodes.empty() ? "" : ", ", node.id, node.cpu_time, node.accelerator_time, node.bytes);
  for (const auto& [from, to] : instance.edges)
    edges += fmt::format(R"({}{{"sourceId": {}, "destId": {}, "cost": {}}})", edges.empty() ? "" : ", ", instance.nodes[from].id,
                         instance.nodes[to].id, instance.output_cost[from]);
  return fmt::format(R"({{"maxFPGAs": {}, "maxCPUs": {}, "maxSizePerFPGA": {}, "nodes": [{}], "edges": [{}]}})", instance.accelerators,
                     instance.cpus, instance.memory, nodes, edges);
}

// A generated graph of few nodes.
PlacementInstance small_graph() {
  PlacementInstance least = instance_of("inception", 1);
  for (std::uint64_t seed = 2; seed < 20; ++seed) {
    PlacementInstance other = instance_of("inception", seed);
    if (other.nodes.size() < least.nodes.size()) least = std::move(other);
  }
  return least;
}

class PoliciesOfOneGraph : public PolicyFiles {
 protected:
  PoliciesOfOneGraph() {
    std::ofstream(path("graph.json")) << json_of(graph_);
    options_.out = path("policy.npz");
    options_.graphs = "generator:inception";
    options_.steps = 1;
    EXPECT_TRUE(train(options_));
    options_.graphs = path("graph.json");
    options_.resume = true;
  }
  PlacementInstance graph_ = small_graph();
  TrainPolicyOptions options_;
};

TEST_F(PoliciesOfOneGraph, ArePlacedAtLeastAsWellAsBeforeAndBetter) {
  const double before = value_of(graph_, options_.out);
  options_.steps = 12;
  ASSERT_TRUE(train(options_));
  EXPECT_LT(value_of(graph_, options_.out), before);
  const Policy policy = *read_policy(options_.out);
  ASSERT_EQ(1U, policy.placements.size());
  PlacementEnvironment environment(graph_, PlacementObjective::max_load);
  ASSERT_TRUE(is_possible(policy.placements[0], environment));
  environment.reset(policy.placements[0]);
  EXPECT_LE(value_of(graph_, options_.out), environment.value() * (1 + 1e-9));
}

TEST_F(PoliciesOfOneGraph, AreEqualAfterOneTrainingOrTwo) {
  std::filesystem::copy_file(options_.out, path("parts.npz"));
  options_.steps = 23;
  ASSERT_TRUE(train(options_));
  options_.out = path("parts.npz");
  for (const std::uint64_t steps : {9U, 23U}) {
    options_.steps = steps;
    ASSERT_TRUE(train(options_));
  }
  EXPECT_EQ(bytes(path("policy.npz")), bytes(path("parts.npz")));
}

TEST_F(PoliciesOfOneGraph, PlaceOtherGraphsToo) {
  options_.steps = 4;
  ASSERT_TRUE(train(options_));
  const PlacementInstance other = instance_of("cells", 2);
  PlacementEnvironment environment(other, PlacementObjective::max_load);
  EXPECT_FALSE(is_possible(read_policy(options_.out)->placements[0], environment));
  EXPECT_LE(value_of(other, options_.out), environment.value());
  options_.graphs = "generator:cells";
  options_.steps = 5;
  ASSERT_TRUE(train(options_));
  EXPECT_TRUE(read_policy(options_.out)->placements.empty());
}

TEST(Policy, BeginsAtAPlacementThatIsPossibleAndBetter) {
  PlacementEnvironment environment(instance_of("cells"), PlacementObjective::max_load);
  const parallel::GroupDevices first = environment.devices();
  const double value = environment.value();
  parallel::SearchBudget unlimited;
  const parallel::GroupDevices better = *placement_of(untrained().weights, environment, 1, unlimited);
  const parallel::GroupDevices together(environment.groups(), 0);
  const parallel::GroupDevices short_one(3, 0);
  const parallel::GroupDevices unknown(environment.groups(), environment.device_count());
  environment.reset(first);
  begin_at_better(std::vector{together, short_one, unknown}, environment);
  EXPECT_EQ(first, environment.devices());
  begin_at_better(std::vector{together, better}, environment);
  EXPECT_EQ(better, environment.devices());
  EXPECT_LT(environment.value(), value);
}

TEST_F(PolicyFiles, OfACancelledTrainingAreWritten) {
  TrainPolicyOptions options;
  options.graphs = "generator:cells";
  options.out = path("a.npz");
  options.progress = [&](const TrainingProgress&) { options.cancel.finish(); };
  const auto result = train(options);
  ASSERT_TRUE(result);
  EXPECT_EQ(TrainingStop::cancelled, result->stop);
  EXPECT_EQ(0U, result->steps);
  EXPECT_TRUE(read_policy(path("a.npz")));
}

TEST_F(PolicyFiles, ThatAreNoneAreRefused) {
  std::ofstream(path("text.npz")) << "no archive";
  EXPECT_EQ(ErrorCode::unreadable, read_policy(path("text.npz")).error().code);
  EXPECT_TRUE(read_policy(path("text.npz")).error().message.starts_with("the file is no policy: "))
      << read_policy(path("text.npz")).error().message;
  Policy policy = untrained();
  policy.weights[0].values[0] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(write_policy(path("nan.npz"), policy));
  EXPECT_EQ("array 'group_in' of the policy does not have 176 finite numbers", read_policy(path("nan.npz")).error().message);
}

}  // namespace
}  // namespace xflow::policy
