// GO: its network, the plans that are drawn from it, its training and its files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/parallel/large_graphs.h"
#include "src/parallel/ordered_search.h"
#include "src/policy/go_plan.h"
#include "src/policy/go_policy_file.h"
#include "src/policy/policy_file.h"
#include "src/policy/train_policy.h"
#include "tests/parallel/ordered_graphs.h"
#include "tests/policy/interpreted_network.h"
#include "tests/policy/random_matrix.h"

namespace xflow::policy {
namespace {

struct SmallLargeGraph {
  parallel::DeviceCluster cluster = *parallel::preset_cluster("dgx-h100");
  parallel::LargeGraph graph;
  parallel::OrderedPlan start;

  explicit SmallLargeGraph(std::uint32_t nodes, std::uint64_t seed = 3) : graph(*parallel::large_graph(nodes, seed, cluster)) {
    parallel::SearchBudget budget;
    start = parallel::search_ordered(problem(), {parallel::OrderedMethod::heft, true, 1}, budget).plan;
  }
  parallel::OrderedProblem problem() const { return {graph.workload, cluster, graph.fusions}; }
};

TEST(Go, TheInterpreterComputesTheNetworkThatIsTrained) {
  const Graph graph = *go_graph(first_go_weights(7));
  parallel::RandomNumbers random(1);
  constexpr std::size_t kNodes = 3;
  constexpr std::size_t kDevices = 2;
  Matrix expand(kNodes * kDevices, kNodes);
  for (std::size_t row = 0; row < expand.rows; ++row) expand.at(row, row / kDevices) = 1;
  const std::vector<Matrix> inputs = {random_matrix(kNodes, GoPlanView::kNodeFeatures, random),
                                      random_matrix(1, GoPlanView::kNodeFeatures, random), random_matrix(2, kGoWidth, random),
                                      random_matrix(kNodes * kDevices, GoPlanView::kDeviceFeatures, random), expand};
  expect_interpreted(graph, inputs);
}

TEST(Go, FirstWeightsKeepMostOfThePlan) {
  const SmallLargeGraph own(400);
  GoEpisode episode(own.problem(), own.start);
  auto network = *GoNetwork::of(first_go_weights(1));
  const GoProbabilities probabilities = go_probabilities(episode.view(), network, {}, 1);
  double moves = 0;
  for (std::uint32_t node = 0; node < 400; ++node) moves += 1 - probabilities.places.at(node, own.start.devices[node]);
  EXPECT_LT(moves, 40);
  EXPECT_GT(moves, 0);
}

TEST(Go, SetsTheMeanNumberOfChanges) {
  const SmallLargeGraph own(400);
  GoEpisode episode(own.problem(), own.start);
  auto network = *GoNetwork::of(first_go_weights(1));
  GoProbabilities probabilities = go_probabilities(episode.view(), network, {}, 1);
  set_change_count(episode.view(), 5, probabilities);
  double changes = 0;
  for (std::uint32_t node = 0; node < 400; ++node)
    changes += 3 - probabilities.places.at(node, own.start.devices[node]) - probabilities.orders.at(node, kGoKeepOrder) -
               probabilities.fusions.at(node, episode.view().is_fused(node) ? 1 : 0);
  EXPECT_NEAR(5, changes, 0.01);
}

TEST(Go, DrawsPlansOfTheProblem) {
  parallel::RandomNumbers random(9);
  for (int round = 0; round < 50; ++round) {
    const parallel::OrderedCase made = parallel::random_ordered_case(random, 40);
    GoEpisode episode(made.problem(), parallel::random_ordered_plan(made, random));
    auto network = *GoNetwork::of(first_go_weights(1));
    GoProbabilities probabilities = go_probabilities(episode.view(), network, {}, 1);
    set_change_count(episode.view(), 10, probabilities);
    const std::vector<std::uint32_t> segments = {0};
    parallel::OrderedPlan plan = episode.view().plan();
    apply_choices(episode.view(), draw_choices(episode.view(), probabilities, segments, random), plan);
    EXPECT_TRUE(parallel::check_ordered_plan(made.problem(), plan));
  }
}

TEST(Go, PlansAreNeverWorseThanTheirStartAndDependOnTheSeedAlone) {
  const SmallLargeGraph own(500);
  const GoPolicy policy = first_go_policy(1);
  parallel::OrderedSimulator simulator(own.problem());
  const double start = simulator.simulate(own.start)->seconds;
  std::vector<parallel::OrderedResult> found;
  for (int run = 0; run < 2; ++run) {
    parallel::SearchBudget budget(Seconds(1e10), 600, {});
    const auto result = plan_by_go(own.problem(), policy, own.start, {5, {}, 0}, budget);
    ASSERT_TRUE(result) << result.error().text();
    ASSERT_TRUE(parallel::check_ordered_plan(own.problem(), result->plan));
    EXPECT_EQ(simulator.simulate(result->plan)->seconds, result->step);
    EXPECT_LE(result->step, start);
    EXPECT_LE(result->proposals, 600U);
    found.push_back(*result);
  }
  EXPECT_EQ(found[0].plan, found[1].plan);
}

TEST(Go, PlansOnlyWhatItsHeadsAllow) {
  const SmallLargeGraph own(300);
  parallel::SearchBudget budget(Seconds(1e10), 300, {});
  const auto found = plan_by_go(own.problem(), first_go_policy(1), own.start, {2, {true, false, false}, 0}, budget);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(own.start.fused, found->plan.fused);
  // The fusions of the start make its step shorter than any without them, which must not end the plans.
  EXPECT_EQ(300U, found->proposals);
}

// Small graphs without fusions, whose training takes a moment.
TrainPolicyOptions training_options(const std::string& name, std::uint64_t steps) {
  TrainPolicyOptions options;
  options.method = PolicyMethod::go;
  options.objective = PolicyObjective::step;
  options.graphs = "generator:recurrent,cells";
  options.out = (std::filesystem::temp_directory_path() / ("xflow-go-" + name + ".npz")).string();
  options.steps = steps;
  return options;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Go, TrainsTheSameWeightsWithAndWithoutInterruption) {
  const TrainPolicyOptions whole = training_options("whole", 25);
  const auto trained = train(whole);
  ASSERT_TRUE(trained) << trained.error().text();
  EXPECT_EQ(25U, trained->steps);
  EXPECT_EQ(TrainingStop::finished, trained->stop);
  const GoPolicy policy = *read_go_policy(whole.out);
  EXPECT_NE(first_go_weights(1), policy.training.weights);
  EXPECT_EQ(8U, policy.graphs.size());
  TrainPolicyOptions parts = training_options("parts", 3);
  for (const std::uint64_t steps : {3, 12, 25}) {
    parts.steps = steps;
    ASSERT_TRUE(train(parts));
    parts.resume = true;
  }
  EXPECT_EQ(content_of(whole.out), content_of(parts.out));
  for (const std::string& path : {whole.out, parts.out}) std::filesystem::remove(path);
}

TEST(Go, TrainingsThatAreCancelledKeepWhatTheyHave) {
  TrainPolicyOptions options = training_options("cancelled", 1000);
  options.progress = [&](const TrainingProgress& /*progress*/) { options.cancel.finish(); };
  const auto trained = train(options);
  ASSERT_TRUE(trained) << trained.error().text();
  EXPECT_EQ(TrainingStop::cancelled, trained->stop);
  EXPECT_EQ(first_go_weights(1), read_go_policy(options.out)->weights);
  std::filesystem::remove(options.out);
}

TEST(Go, TrainingsHaveTheObjectiveStepAlone) {
  TrainPolicyOptions options = training_options("objective", 1);
  options.objective = PolicyObjective::latency;
  EXPECT_EQ("the method go has the objective step alone, not latency", train(options).error().text());
}

TEST(Go, FilesKeepPolicies) {
  const std::string path = (std::filesystem::temp_directory_path() / "xflow-go-test.npz").string();
  GoPolicy policy = first_go_policy(3);
  policy.training.steps = 7;
  policy.graphs = {{5, {{1, 0, 2}, {0.5F, -1, 3}, {true, false}}}, {9, {{0}, {1}, {}}}};
  ASSERT_TRUE(write_go_policy(path, policy));
  const auto read = read_go_policy(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(policy.weights, read->weights);
  EXPECT_EQ(policy.training.weights, read->training.weights);
  EXPECT_EQ(policy.training.variances, read->training.variances);
  EXPECT_EQ(7U, read->training.steps);
  EXPECT_EQ(policy.graphs, read->graphs);
  EXPECT_EQ(PolicyMethod::go, *method_of_policy(path));
  EXPECT_EQ(path + ": the policy is of the method go, not placeto", read_policy(path).error().text());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace xflow::policy
