// Plans that split operators: what they compute, what they cost, and what the search finds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/parallel/plan_parts.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/split_bound.h"
#include "src/parallel/split_clock.h"
#include "src/parallel/split_graph.h"
#include "src/parallel/split_lists.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_proposals.h"
#include "src/parallel/split_search.h"
#include "src/parallel/split_starts.h"
#include "src/parallel/split_workload.h"
#include "src/parallel/step_simulator.h"
#include "tests/parallel/split_graphs.h"

namespace xflow::parallel {
namespace {

eval::Tensor drawn(const ir::TensorType& type, std::uint32_t serial) {
  std::vector<std::int64_t> dims;
  std::int64_t count = 1;
  for (const ir::Poly& dim : type.shape) {
    dims.push_back(*dim.constant());
    count *= dims.back();
  }
  RandomNumbers random(99 + serial);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = random.unit() - 0.5;
  return eval::Tensor::of_doubles(ir::DataType::float32, std::move(dims), std::move(values));
}

std::vector<double> result_of(TestGraph& graph, const ir::Graph& what) {
  eval::Bindings inputs;
  for (const ir::NodeId id : ir::topological_order(graph.arena, what)) {
    const ir::Node& node = graph.arena.node(id);
    if (node.kind != ir::NodeKind::input) continue;
    inputs.emplace(ValueId{id, 0}, drawn(node.outputs[0], node.serial));
  }
  auto results = eval::evaluate(graph.arena, what, inputs);
  EXPECT_TRUE(results) << (results ? "" : results.error().text());
  return results ? *eval::doubles((*results)[0]) : std::vector<double>();
}

// The outputs of the parts of a plan, each part by itself.
std::vector<double> result_of_parts(TestGraph& graph, const PlanParts& parts) {
  std::map<std::string, eval::Tensor> tensors;
  for (const ir::NodeId id : ir::topological_order(graph.arena, graph.graph))
    if (const ir::Node& node = graph.arena.node(id); node.kind == ir::NodeKind::input)
      tensors.emplace(fmt::format("input {}", node.serial), drawn(node.outputs[0], node.serial));
  for (std::size_t k = 0; k < parts.parts.size(); ++k) {
    const PlanPart& part = parts.parts[k];
    eval::Bindings inputs;
    for (const PartInput& input : part.inputs) {
      EXPECT_TRUE(tensors.contains(input.name)) << input.name << " is not there yet";
      if (input.part) {
        EXPECT_LT(*input.part, k);
      }
      inputs.emplace(input.value, tensors.at(input.name));
    }
    auto results = eval::evaluate(graph.arena, part.graph, inputs);
    EXPECT_TRUE(results) << (results ? "" : results.error().text());
    for (std::size_t output = 0; output < part.outputs.size(); ++output) {
      const bool is_new = tensors.emplace(part.outputs[output], std::move((*results)[output])).second;
      EXPECT_TRUE(is_new) << part.outputs[output];
    }
  }
  return *eval::doubles(tensors.at(parts.outputs.at(0).name));
}

// Random plans, halos and all, give graphs that compute what the model computes.
void expect_same_results(std::unique_ptr<TestGraph> graph, std::size_t least_splits) {
  TestSplit split = split_of(std::move(graph), cluster_of(12));
  ASSERT_TRUE(split.model);
  const std::vector<double> expected = result_of(*split.graph, split.graph->graph);
  ModelInterface interface;
  for (const ir::NodeId id : ir::topological_order(split.graph->arena, split.graph->graph))
    if (const ir::Node& node = split.graph->arena.node(id); node.kind == ir::NodeKind::input)
      interface.inputs.emplace(ValueId{id, 0}, fmt::format("input {}", node.serial));
  interface.outputs = {{"output", split.graph->graph.outputs[0]}};
  RandomNumbers random(7);
  std::size_t splits = 0;
  for (int trial = 0; trial < 25; ++trial) {
    const SplitPlan plan = random_plans(*split.model, 12, random);
    for (const OperatorPlan& own : plan) splits += own.splits.size();
    EXPECT_EQ(by_device(plan), plan);
    const auto made = graph_of(*split.model, split.graph->graph, plan);
    ASSERT_TRUE(made) << made.error().text();
    const std::vector<double> found = result_of(*split.graph, *made);
    ASSERT_EQ(found.size(), expected.size());
    const auto parts = parts_of(*split.model, plan, interface);
    ASSERT_TRUE(parts) << parts.error().text();
    const std::vector<double> of_parts = result_of_parts(*split.graph, *parts);
    ASSERT_EQ(of_parts.size(), expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k) ASSERT_NEAR(of_parts[k], expected[k], 1e-9) << trial << " " << k;
    for (std::size_t k = 0; k < expected.size(); ++k) ASSERT_NEAR(found[k], expected[k], 1e-9) << trial << " " << k;
  }
  EXPECT_GT(splits, least_splits);
}

TEST(SplitGraph, OfConvolutionsComputesTheSame) { expect_same_results(convolutions(), 150); }
TEST(SplitGraph, OfAttentionComputesTheSame) { expect_same_results(attention(), 300); }
TEST(SplitGraph, OfSumsThatSomethingFollowsComputesTheSame) { expect_same_results(biased(), 100); }
TEST(SplitGraph, OfMeansMaximaAndMinimaComputesTheSame) { expect_same_results(reductions(), 150); }
TEST(SplitGraph, OfConcatenationsComputesTheSame) { expect_same_results(concatenations(), 120); }
TEST(SplitGraph, OfEmbeddingsComputesTheSame) { expect_same_results(embeddings(), 80); }
TEST(SplitGraph, OfStepsWithTiedWeightsComputesTheSame) { expect_same_results(recurrent(), 150); }

// Random plans take the same time in every bit, in one clock and as workloads.
TEST(SplitClock, EqualsTheSimulationOfTheWorkload) {
  for (const StepKind kind : {StepKind::inference, StepKind::training}) {
    for (auto make : {convolutions, attention, recurrent, reductions, concatenations, embeddings, biased}) {
      TestSplit split = split_of(make(), cluster_of(12, 4));
      SplitClock clock(*split.model, split.cluster, kind);
      RandomNumbers random(5);
      for (int trial = 0; trial < 60; ++trial) {
        const SplitPlan plan = random_plans(*split.model, 12, random, trial % 2 == 1);
        const double expected = step_with(split, plan, kind);
        const std::optional<PlanCost> whole = PlanCost{0, expected};
        ASSERT_EQ(clock.cost(plan), whole) << trial;
        EXPECT_EQ(clock.cost(plan, *whole), whole);
        EXPECT_EQ(clock.cost(plan, {0, expected * 0.999}), std::nullopt);
      }
    }
  }
}

// A clock that keeps plans, and one that does not, follow the same moves.
TEST(SplitClock, GivesTheSameAfterMovesAsInFull) {
  for (const StepKind kind : {StepKind::inference, StepKind::training}) {
    for (auto make : {convolutions, attention, recurrent, reductions, concatenations, embeddings, biased}) {
      TestSplit split = split_of(make(), cluster_of(12, 4));
      // Some plans need more memory than some devices have.
      for (std::uint32_t device = 0; device < 12; device += 3) split.cluster.devices[device].memory = 4e3 * (device + 1);
      SplitClock moves(*split.model, split.cluster, kind);
      SplitClock full(*split.model, split.cluster, kind);
      RandomNumbers random(3);
      SplitProposals proposals(*split.model, 12, random, std::vector<double>(split.model->operators().size(), 1));
      SplitPlan now = random_plans(*split.model, 12, random, kind == StepKind::training);
      PlanCost own = *moves.cost(now);
      moves.keep();
      int accepted = 0;
      for (int trial = 0; trial < 400; ++trial) {
        SplitPlan next = now;
        proposals.propose(next);
        const PlanCost limit = random.below(4) == 0 ? kAnyCost : PlanCost{own.missing, own.step * (0.9 + 0.2 * random.unit())};
        const auto expected = full.cost(next);
        ASSERT_TRUE(expected);
        const auto found = moves.cost(next, limit);
        ASSERT_EQ(found, *expected <= limit ? expected : std::nullopt) << trial;
        if (!found || found->step > own.step * 1.1) continue;
        moves.keep();
        now = next;
        own = *found;
        ++accepted;
      }
      EXPECT_GT(accepted, 10);
      EXPECT_LT(moves.simulated(), full.simulated());
    }
  }
}

// A bound of all plans is not above any of them.
TEST(SplitBound, IsNotAboveRandomPlans) {
  for (const StepKind kind : {StepKind::inference, StepKind::training}) {
    for (auto make : {convolutions, attention, recurrent, reductions, concatenations, embeddings, two_products}) {
      DeviceCluster cluster = cluster_of(12);
      cluster.inside = {0, 1e18};
      TestSplit split = split_of(make(), std::move(cluster));
      const auto bound = step_bound(*split.model, split.cluster, kind);
      ASSERT_TRUE(bound);
      SplitClock clock(*split.model, split.cluster, kind);
      RandomNumbers random(11);
      for (int trial = 0; trial < 300; ++trial) {
        const auto cost = clock.cost(random_plans(*split.model, 12, random, kind == StepKind::training && trial % 2 == 1));
        EXPECT_GE(cost->step, bound->seconds * (1 - 1e-12));
      }
    }
  }
}

// Launches of a path are not divided: a product and a function of 5 us each, and a quarter of the rest.
TEST(SplitBound, CountsTheLaunchesOfAPath) {
  DeviceCluster cluster = cluster_of(4);
  for (ClusterDevice& device : cluster.devices) device.rates.launch = 5e-6;
  TestSplit split = split_of(two_products(), std::move(cluster), 5e-6);
  const double rest = 320e-6 + 12.8e-6 + 160e-6;
  const auto bound = step_bound(*split.model, split.cluster, StepKind::inference);
  ASSERT_TRUE(bound);
  EXPECT_TRUE(bound->is_path);
  EXPECT_NEAR(bound->seconds, 3 * 5e-6 + rest / 4, 1e-12);
}

TEST(SplitBound, IsNotKnownForMeasuredKernels) {
  DeviceCluster cluster = cluster_of(2);
  cluster.devices[1].source = TimeSource::cpu;
  TestSplit split = split_of(two_products(), std::move(cluster));
  EXPECT_FALSE(step_bound(*split.model, split.cluster, StepKind::inference));
}

// Columns, then terms: what Megatron-LM does with a feed-forward layer.
// Two chains of products beside each other, that a sum joins.
std::unique_ptr<TestGraph> two_chains() {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->input({8, 100});
  std::vector<ValueId> ends;
  for (int chain = 0; chain < 2; ++chain) {
    const ValueId first = g->apply("matmul", {x, g->weights({100, 100})});
    ends.push_back(g->apply("matmul", {first, g->weights({100, 100})}));
  }
  g->graph.outputs = {g->apply("add", ends)};
  return g;
}

// Each product takes 160 us, the sum of 800 elements 9.6 us, the transfer of 3200 bytes 1 + 3.2 us.
TEST(SplitLists, RunChainsBesideEachOther) {
  TestSplit split = split_of(two_chains(), cluster_of(2));
  for (const ListMethod method : {ListMethod::heft, ListMethod::earliest})
    EXPECT_NEAR(step_with(split, list_plan(*split.model, split.cluster, method)), 320e-6 + 4.2e-6 + 9.6e-6, 1e-9) << name(method);
}

// A device that is full gets no more weights; each product has 40,000 bytes of them.
TEST(SplitLists, KeepTheMemory) {
  DeviceCluster cluster = cluster_of(4);
  for (ClusterDevice& device : cluster.devices) device.memory = 50e3;
  cluster.inside = {1, 1e3};  // transfers take longer than all products on one device
  TestSplit split = split_of(two_chains(), std::move(cluster));
  for (const ListMethod method : {ListMethod::heft, ListMethod::earliest, ListMethod::filled}) {
    std::set<std::uint32_t> devices;
    const SplitPlan plan = list_plan(*split.model, split.cluster, method);
    for (std::uint32_t op = 0; op < plan.size(); ++op)
      if (split.model->operators()[op].is_product) devices.insert(plan[op].base);
    EXPECT_EQ(devices.size(), 4U) << name(method);
  }
}

// Shares of the constants, in the order of the file.
TEST(SplitLists, FillDevicesInTheirOrder) {
  TestSplit split = split_of(two_chains(), cluster_of(2));
  std::vector<std::uint32_t> devices;
  for (const OperatorPlan& own : list_plan(*split.model, split.cluster, ListMethod::filled)) devices.push_back(own.base);
  EXPECT_EQ(devices, (std::vector<std::uint32_t>{0, 0, 1, 1, 1}));
}

FoundSplit search_with(TestSplit& split, std::uint64_t steps, std::uint64_t seed, StepKind kind = StepKind::inference) {
  SearchBudget budget(Seconds(1e12), steps, {}, 1);
  SplitSearchOptions options;
  options.seed = seed;
  options.kind = kind;
  return search_split(*split.model, split.cluster, options, budget);
}

// Reductions without a dimension of their own are divided, too, and each kind of them is.
TEST(SplitModel, FindsTheReductionOfAnOperator) {
  TestSplit split = split_of(reductions(), cluster_of(4));
  std::map<std::string, std::int64_t> terms;
  for (const SplitOperator& op : split.model->operators()) {
    const OperatorKind& kind = split.model->kind(op);
    if (kind.reduction.blocks > 0) terms[op.type + " " + partition::name(kind.reduction_kind)] = kind.reduction.blocks;
  }
  EXPECT_EQ(terms,
            (std::map<std::string, std::int64_t>{
                {"reduce_mean mean", 5}, {"reduce_max maximum", 4}, {"reduce_min minimum", 7}, {"reduce_sum sum", 7}, {"Joined mean", 7}}));
  // A normalisation has two means, of which none is its result.
  TestSplit normal = split_of(attention(), cluster_of(4));
  for (const SplitOperator& op : normal.model->operators())
    if (op.type == "Joined") {
      EXPECT_EQ(normal.model->kind(op).reduction.blocks, 0);
    }
}

// 4000 elements to one maximum: nothing but its terms can be divided.
TEST(SplitSearch, DividesAReductionToOneElement) {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->input({4000});
  g->graph.outputs = {g->apply("reduce_max", {x}, {{"axes", list({0})}, {"keep_dims", ir::Poly(0)}})};
  DeviceCluster cluster = cluster_of(4);
  cluster.inside = {0, 1e18};
  TestSplit split = split_of(std::move(g), std::move(cluster));
  const FoundSplit found = search_with(split, 200, 1);
  EXPECT_EQ(found.plan[0].degree(SplitTarget::reduction), 4U);
}

// A part of a concatenation reads ranges of some operands: 4 of 10 columns are 4 of 5 of the first one.
TEST(SplitModel, PartsOfConcatenationsReadWhatTheyHave) {
  TestSplit split = split_of(concatenations(), cluster_of(4));
  const auto& operators = split.model->operators();
  const auto op = static_cast<std::uint32_t>(std::ranges::find(operators, "concat", &SplitOperator::type) - operators.begin());
  EXPECT_TRUE(split.model->kind(operators[op]).axes[1].is_joined);
  EXPECT_EQ(split.model->kind(operators[op]).axes[1].blocks, 20);
  const PartWork* part = split.model->part(op, {{0, 4}, {1, 5}}, std::nullopt);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->reads, (std::vector<Box>{{{0, 4}, {1, 5}}, {}, {}}));
  part = split.model->part(op, {{0, 4}, {4, 10}}, std::nullopt);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->reads, (std::vector<Box>{{{0, 4}, {4, 5}}, {{0, 4}, {0, 3}}, {{0, 4}, {0, 2}}}));
  // Equal shards of the operands are not what parts read.
  const OperatorPlan halves{0, {{SplitTarget::output, 1, 2, 1}}};
  EXPECT_TRUE(is_possible(*split.model, op, halves, 4));
  EXPECT_FALSE(has_equal_parts(*split.model, op, halves));
  split.model->require_equal_parts();
  EXPECT_FALSE(is_possible(*split.model, op, halves, 4));
}

// Devices without a range of a weight do not hold it, and add no gradients of it.
TEST(SplitStep, OfConcatenationsHoldsTheWeightsThatPartsRead) {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->apply("relu", {g->input({4, 5})});
  g->graph.outputs = {g->apply("concat", {x, g->weights({4, 5})}, {{"axis", ir::Poly(1)}})};
  TestSplit split = split_of(std::move(g), cluster_of(2));
  const OperatorPlan halves{0, {{SplitTarget::output, 1, 2, 1}}};
  const SplitStep step = step_of(*split.model, {OperatorPlan{}, halves}, split.cluster, StepKind::training);
  std::vector<double> resident;
  std::vector<std::uint32_t> updating;
  for (std::size_t node = 0; node < step.nodes.size(); ++node) {
    if (step.nodes[node].kind == SplitNodeKind::forward && step.nodes[node].op == 1) resident.push_back(step.workload.nodes[node].bytes);
    if (step.nodes[node].kind == SplitNodeKind::update) updating.push_back(step.devices[node]);
  }
  EXPECT_EQ(resident, (std::vector<double>{0, 4 * 5 * 4}));
  EXPECT_EQ(updating, (std::vector<std::uint32_t>{1}));
}

TEST(SplitPlan, RefusesWhatDoesNotExist) {
  TestSplit split = split_of(attention(), cluster_of(8));
  SplitModel* const split_model = split.model.get();
  std::uint32_t softmax = 0;
  while (split.model->operators()[softmax].type != "softmax") ++softmax;
  EXPECT_TRUE(is_possible(*split.model, softmax, {0, {{SplitTarget::output, 1, 4, 1}}}, 8));
  EXPECT_FALSE(is_possible(*split.model, softmax, {0, {{SplitTarget::output, 3, 5, 1}}}, 8)) << "its axis";
  EXPECT_FALSE(is_possible(*split.model, softmax, {0, {{SplitTarget::output, 1, 5, 1}}}, 8)) << "more parts than rows";
  EXPECT_FALSE(is_possible(*split.model, softmax, {6, {{SplitTarget::output, 1, 4, 1}}}, 8)) << "devices that do not exist";
  EXPECT_FALSE(is_possible(*split.model, softmax, {0, {{SplitTarget::output, 1, 2, 1}, {SplitTarget::output, 2, 2, 1}}}, 8))
      << "one device twice";
  const auto with_batches = [&](const Split& split, const Split& other) {
    return is_possible(*split_model, softmax, {0, {split, other}}, 8);
  };
  EXPECT_TRUE(with_batches({SplitTarget::output, 1, 2, 1}, {SplitTarget::output, 1, 2, 0}));
  EXPECT_TRUE(with_batches({SplitTarget::output, 0, 3, 0}, {SplitTarget::output, 1, 4, 1}));
  EXPECT_FALSE(with_batches({SplitTarget::output, 1, 2, 0}, {SplitTarget::output, 1, 2, 1})) << "batches of what no device has";
  EXPECT_FALSE(with_batches({SplitTarget::output, 1, 4, 1}, {SplitTarget::output, 1, 2, 0})) << "more batches than rows";
  EXPECT_FALSE(with_batches({SplitTarget::output, 1, 2, 1}, {SplitTarget::copies, 0, 2, 0})) << "copies on one device";
  EXPECT_FALSE(is_possible(*split.model, softmax, {0, {{SplitTarget::reduction, 0, 2, 1}}}, 8)) << "no sum";
}

TEST(SplitSearch, IsDeterministicAndNeverWorseThanItsStarts) {
  for (const StepKind kind : {StepKind::inference, StepKind::training}) {
    TestSplit split = split_of(attention(), cluster_of(4, 2));
    const FoundSplit first = search_with(split, 400, 3, kind);
    const FoundSplit second = search_with(split, 400, 3, kind);
    EXPECT_EQ(first.plan, second.plan);
    EXPECT_EQ(first.step, second.step);
    EXPECT_EQ(first.proposals, 400U);
    for (const auto& [name, step] : first.starts) EXPECT_LE(first.step, step) << name;
    // The step is that of the plan.
    EXPECT_EQ(step_with(split, first.plan, kind), first.step);
    // More proposals go on where fewer end.
    EXPECT_LE(search_with(split, 800, 3, kind).step, first.step);
  }
}

// 120,000 bytes of weights on devices of 80,000: one device cannot hold them, nor copies of all.
TEST(SplitSearch, PrefersPlansThatFitTheMemory) {
  DeviceCluster cluster = cluster_of(2);
  for (ClusterDevice& device : cluster.devices) device.memory = 80e3;
  cluster.inside = {1, 1e3};  // a transfer takes longer than the whole step
  TestSplit split = split_of(two_products(), std::move(cluster));
  const FoundSplit found = search_with(split, 300, 1);
  const SplitStep step = step_of(*split.model, found.plan, split.cluster, StepKind::inference);
  std::vector<double> resident(2, 0);
  for (std::size_t node = 0; node < step.nodes.size(); ++node) resident[step.devices[node]] += step.workload.nodes[node].bytes;
  EXPECT_LE(resident[0], 80e3);
  EXPECT_LE(resident[1], 80e3);
}

// A plan of another method is asked for once, when a share of the time is over or the search is cancelled.
TEST(SplitSearch, GoesOnWithAnotherPlan) {
  TestSplit split = split_of(attention(), cluster_of(4, 2));
  const FoundSplit best = search_with(split, 2000, 1);
  ASSERT_LT(best.step, search_with(split, 0, 1).step);
  SplitSearchOptions options;
  int calls = 0;
  options.other_plan = [&](const FoundSplit& so_far) {
    ++calls;
    EXPECT_GT(so_far.step, best.step);
    return std::optional(NamedPlan{"other", best.plan});
  };
  CancellationToken cancel;
  cancel.finish();
  SearchBudget budget(Seconds(1e6), std::nullopt, cancel, 1);
  const FoundSplit found = search_split(*split.model, split.cluster, options, budget);
  EXPECT_EQ(1, calls);
  EXPECT_EQ("other", found.best_start);
  EXPECT_EQ(best.step, found.step);
  EXPECT_EQ(std::pair(std::string("other"), best.step), found.starts.back());
  // Without a time limit, or where there is none, the search goes its way.
  options.other_plan = [](const FoundSplit&) { return std::optional<NamedPlan>(); };
  SearchBudget steps(Seconds(1e6), 2000, {}, 1);
  EXPECT_EQ(best.plan, search_split(*split.model, split.cluster, options, steps).plan);
}

// Over links that cost nothing, four devices take a quarter of the time of one.
TEST(SplitSearch, ReachesTheBestWhereTransfersAreFree) {
  DeviceCluster cluster = cluster_of(4);
  cluster.inside = {0, 1e18};
  TestSplit split = split_of(two_products(), std::move(cluster));
  EXPECT_NEAR(search_with(split, 200, 1).step, (320e-6 + 12.8e-6 + 160e-6) / 4, 1e-9);
}

}  // namespace
}  // namespace xflow::parallel
