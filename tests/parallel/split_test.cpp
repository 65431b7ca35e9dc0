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

#include "src/cost/database.h"
#include "src/cost/kernel_costs.h"
#include "src/devices/profile/profile_device.h"
#include "src/eval/evaluate.h"
#include "src/ops/operator.h"
#include "src/parallel/plan_parts.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/split_bound.h"
#include "src/parallel/split_clock.h"
#include "src/parallel/split_graph.h"
#include "src/parallel/split_lists.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_search.h"
#include "src/parallel/split_starts.h"
#include "src/parallel/split_workload.h"
#include "src/parallel/step_simulator.h"

namespace xflow::parallel {
namespace {

using ir::ValueId;

// Devices without launches, so that times are work divided by a rate.
DeviceCluster cluster_of(std::uint32_t devices, std::uint32_t per_host = 64) {
  DeviceCluster cluster;
  cluster.name = "test";
  cluster.hosts = (devices + per_host - 1) / per_host;
  for (std::uint32_t k = 0; k < devices; ++k)
    cluster.devices.push_back({.name = fmt::format("d{}", k), .kind = "test", .host = k / per_host, .memory = 1e9, .rates = {0, 1e9, 1e9}});
  cluster.inside = {1e-6, 1e9};
  cluster.across = {1e-5, 1e8};
  return cluster;
}

// A graph of which each operation is an operator.
struct TestGraph {
  ir::Arena arena;
  ir::Graph graph;
  std::vector<std::vector<std::int64_t>> inputs;
  std::vector<std::vector<ValueId>> joined;  // operations of one operator
  std::uint32_t serial = 0;

  ValueId input(const std::vector<std::int64_t>& dims) { return arena.input({ir::DataType::float32, true, ir::polys(dims)}, serial++); }
  ValueId weights(const std::vector<std::int64_t>& dims) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    RandomNumbers random(serial++);
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& value : values) value = random.unit() - 0.5;
    return arena.constant(*ir::make_constant(ir::DataType::float32, dims, values));
  }
  ValueId apply(const char* op, const std::vector<ValueId>& operands, ir::Attributes attributes = {}) {
    const auto value = ops::apply(arena, op, operands, std::move(attributes));
    EXPECT_TRUE(value) << (value ? "" : value.error().text());
    return value.value_or(operands[0]);
  }
};

ir::AttributeValue list(const std::vector<std::int64_t>& values) { return ir::polys(values); }

// 1e9 operations and bytes a second.
struct TestCosts {
  explicit TestCosts(double launch) {
    cost::profile::Profile profile;
    profile.device.name = "test";
    profile.roofline.launch = Seconds(launch);
    profile.roofline.bandwidth = 1e9;
    profile.roofline.peak[ir::DataType::float32] = 1e9;
    device = std::make_unique<cost::profile::ProfileDevice>(std::move(profile));
    database = std::make_unique<cost::Database>(cost::Database::open("", device->info(), {}));
    costs = std::make_unique<cost::KernelCosts>(*device, *database);
  }

  std::unique_ptr<cost::profile::ProfileDevice> device;
  std::unique_ptr<cost::Database> database;
  std::unique_ptr<cost::KernelCosts> costs;
};

struct TestSplit {
  std::unique_ptr<TestGraph> graph;
  DeviceCluster cluster;
  std::unique_ptr<TestCosts> costs = nullptr;
  std::unique_ptr<SplitModel> model = nullptr;
};

TestSplit split_of(std::unique_ptr<TestGraph> graph, DeviceCluster cluster, double launch = 0) {
  TestSplit made{std::move(graph), std::move(cluster)};
  made.costs = std::make_unique<TestCosts>(launch);
  std::vector<OperatorSource> sources;
  for (const ir::NodeId id : ir::topological_order(made.graph->arena, made.graph->graph)) {
    const ir::Node& node = made.graph->arena.node(id);
    if (node.kind != ir::NodeKind::operation || node.is_constant) continue;
    bool is_joined = false;
    for (const auto& group : made.graph->joined) {
      if (std::ranges::find(group, id, &ValueId::node) == group.end()) continue;
      is_joined = id != group.back().node;
      if (is_joined) continue;
      OperatorSource source{"Joined", "the joined node", {}};
      for (const ValueId own : group) source.operations.push_back(own.node);
      sources.push_back(std::move(source));
      is_joined = true;
    }
    if (!is_joined) sources.push_back({std::string(ops::get(node.op).signature.name), "a node", {id}});
  }
  auto model = SplitModel::of(
      made.graph->arena, made.graph->graph, std::move(sources), [](ir::SymbolId) { return std::nullopt; },
      std::vector<cost::KernelCosts*>(made.cluster.size(), made.costs->costs.get()));
  EXPECT_TRUE(model) << (model ? "" : model.error().text());
  if (model) made.model = *std::move(model);
  return made;
}

std::unique_ptr<TestGraph> convolutions() {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->input({4, 4, 12, 12});
  const ir::Attributes padded{{"pads", list({1, 1, 1, 1})}};
  const ValueId a = g->apply("relu", {g->apply("conv", {x, g->weights({8, 4, 3, 3})}, padded)});
  ir::Attributes grouped{{"pads", list({2, 2, 2, 2})}, {"dilations", list({2, 2})}, {"groups", ir::Poly(4)}};
  const ValueId b = g->apply("conv", {a, g->weights({8, 2, 3, 3})}, grouped);
  const ValueId c =
      g->apply("max_pool", {g->apply("add", {a, b})}, {{"kernel", list({3, 3})}, {"strides", list({2, 2})}, {"pads", list({1, 1, 1, 1})}});
  const ValueId d = g->apply("average_pool", {c}, {{"kernel", list({3, 3})}, {"strides", list({1, 1})}, {"pads", list({1, 1, 1, 1})}});
  const ValueId e = g->apply("concat", {c, d}, {{"axis", ir::Poly(1)}});
  const ValueId f = g->apply("reshape", {e}, {{"shape", list({4, 16 * 36})}});
  g->graph.outputs = {g->apply("matmul", {f, g->weights({16 * 36, 10})})};
  return g;
}

// Attention, and a normalisation whose operations are one operator.
std::unique_ptr<TestGraph> attention() {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->input({3, 5, 12});
  const auto heads = [&](const std::vector<std::int64_t>& perm) {
    const ValueId projected = g->apply("add", {g->apply("matmul", {x, g->weights({12, 12})}), g->weights({12})});
    return g->apply("transpose", {g->apply("reshape", {projected}, {{"shape", list({3, 5, 4, 3})}})}, {{"perm", list(perm)}});
  };
  const ValueId query = heads({0, 2, 1, 3});
  const ValueId scores = g->apply("softmax", {g->apply("matmul", {query, heads({0, 2, 3, 1})})}, {{"axis", ir::Poly(3)}});
  const ValueId context = g->apply("transpose", {g->apply("matmul", {scores, heads({0, 2, 1, 3})})}, {{"perm", list({0, 2, 1, 3})}});
  const ValueId merged = g->apply("reshape", {context}, {{"shape", list({3, 5, 12})}});
  const ValueId sum = g->apply("add", {x, g->apply("matmul", {merged, g->weights({12, 12})})});
  const ValueId mean = g->apply("reduce_mean", {sum}, {{"axes", list({2})}, {"keep_dims", ir::Poly(1)}});
  const ValueId centred = g->apply("sub", {sum, mean});
  const ValueId squares = g->apply("mul", {centred, centred});
  const ValueId variance = g->apply("reduce_mean", {squares}, {{"axes", list({2})}, {"keep_dims", ir::Poly(1)}});
  const ValueId root = g->apply("sqrt", {variance});
  const ValueId normal = g->apply("div", {centred, root});
  g->joined = {{mean, centred, squares, variance, root, normal}};
  const ValueId inner = g->apply("relu", {g->apply("matmul", {normal, g->weights({12, 24})})});
  g->graph.outputs = {g->apply("add", {normal, g->apply("matmul", {inner, g->weights({24, 12})})})};
  return g;
}

// Four steps with the same two weights.
std::unique_ptr<TestGraph> recurrent() {
  auto g = std::make_unique<TestGraph>();
  const ValueId w = g->weights({10, 12});
  const ValueId u = g->weights({12, 12});
  ValueId h = g->input({6, 12});
  for (int step = 0; step < 4; ++step)
    h = g->apply("tanh", {g->apply("add", {g->apply("matmul", {g->input({6, 10}), w}), g->apply("matmul", {h, u})})});
  g->graph.outputs = {h};
  return g;
}

OperatorPlan random_plan(SplitModel& model, std::uint32_t op, std::uint32_t devices, RandomNumbers& random) {
  const OperatorKind& kind = model.kind(model.operators()[op]);
  for (int attempt = 0; attempt < 20; ++attempt) {
    OperatorPlan plan;
    std::uint32_t stride = 1;
    while (stride < devices && random.below(3) > 0) {
      Split split;
      const std::uint32_t which = random.below(static_cast<std::uint32_t>(kind.axes.size()) + 2);
      if (which < kind.axes.size())
        split.dimension = which;
      else
        split.target = which == kind.axes.size() ? SplitTarget::reduction : SplitTarget::copies;
      split.degree = 2 + random.below(2);
      split.stride = stride;
      stride *= split.degree;
      plan.splits.insert(plan.splits.begin(), split);
    }
    if (stride <= devices) plan.base = random.below(devices - stride + 1);
    if (is_possible(model, op, plan, devices)) return plan;
  }
  return {};
}

SplitPlan random_plans(SplitModel& model, std::uint32_t devices, RandomNumbers& random) {
  SplitPlan plan;
  for (std::uint32_t op = 0; op < model.operators().size(); ++op) plan.push_back(random_plan(model, op, devices, random));
  return plan;
}

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
TEST(SplitGraph, OfStepsWithTiedWeightsComputesTheSame) { expect_same_results(recurrent(), 150); }

std::unique_ptr<TestGraph> two_products() {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->input({8, 100});
  const ValueId a = g->apply("matmul", {x, g->weights({100, 200})});
  g->graph.outputs = {g->apply("matmul", {g->apply("relu", {a}), g->weights({200, 50})})};
  return g;
}

double step_with(TestSplit& split, const SplitPlan& plan, StepKind kind = StepKind::inference) {
  const SplitStep step = step_of(*split.model, plan, split.cluster, kind);
  EXPECT_TRUE(check_workload(step.workload, split.cluster.size()));
  return StepSimulator(step.workload, split.cluster, step.devices).step();
}

// 2 * 8 * 100 * 200 operations at 1e9 a second are 320 us; the other product has 160 us. An elementwise
// operator moves 2 * 8 * 200 * 4 bytes: 12.8 us.
TEST(SplitStep, OfOneDeviceIsTheSumOfItsTimes) {
  TestSplit split = split_of(two_products(), cluster_of(2));
  EXPECT_NEAR(step_with(split, SplitPlan(3)), 320e-6 + 12.8e-6 + 160e-6, 1e-9);
}

TEST(SplitStep, OfSamplesHasNoTransfers) {
  TestSplit split = split_of(two_products(), cluster_of(2));
  const OperatorPlan samples{0, {{SplitTarget::output, 0, 2, 1}}};
  EXPECT_NEAR(step_with(split, {samples, samples, samples}), 160e-6 + 6.4e-6 + 80e-6, 1e-9);
}

// The second product adds terms of both devices: a ring of two sends 2 (2 - 1) / 2 of 8 * 50 * 4 bytes each,
// 1 + 1.6 us, and its second message 1 us more.
TEST(SplitStep, OfTermsEndsWithAnAllReduce) {
  TestSplit split = split_of(two_products(), cluster_of(2));
  const OperatorPlan columns{0, {{SplitTarget::output, 1, 2, 1}}};
  const OperatorPlan terms{0, {{SplitTarget::reduction, 0, 2, 1}}};
  EXPECT_NEAR(step_with(split, {columns, columns, terms}), 160e-6 + 6.4e-6 + 80e-6 + (1 + 1.6 + 1) * 1e-6, 1e-9);
}

// Rows to columns: each device needs the other one's 4 rows of 200 elements, 3200 bytes.
TEST(SplitStep, OfOtherPartsSendsWhatIsElsewhere) {
  TestSplit split = split_of(two_products(), cluster_of(2));
  const OperatorPlan rows{0, {{SplitTarget::output, 0, 2, 1}}};
  const OperatorPlan columns{0, {{SplitTarget::output, 1, 2, 1}}};
  const SplitStep step = step_of(*split.model, {rows, rows, columns}, split.cluster, StepKind::inference);
  double sent = 0;
  for (const WorkloadTensor& tensor : step.workload.tensors)
    for (const std::uint32_t reader : tensor.readers)
      if (step.devices[reader] != step.devices[tensor.source]) sent += tensor.bytes;
  EXPECT_EQ(sent, 2 * 3200);
}

// Rows of a padded 3x3 convolution need one more row at their inner end.
TEST(SplitStep, OfRowsOfAConvolutionSendsAHalo) {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->apply("relu", {g->input({1, 4, 10, 10})});
  g->graph.outputs = {g->apply("conv", {x, g->weights({8, 4, 3, 3})}, {{"pads", list({1, 1, 1, 1})}})};
  TestSplit split = split_of(std::move(g), cluster_of(2));
  const OperatorPlan rows{0, {{SplitTarget::output, 2, 2, 1}}};
  const SplitStep step = step_of(*split.model, {rows, rows}, split.cluster, StepKind::inference);
  double sent = 0;
  for (const WorkloadTensor& tensor : step.workload.tensors)
    for (const std::uint32_t reader : tensor.readers)
      if (step.devices[reader] != step.devices[tensor.source]) sent += tensor.bytes;
  EXPECT_EQ(sent, 2 * 4 * 10 * 4);
}

// Weights are where they are read: all of them for samples, a part for columns.
TEST(SplitStep, OfColumnsDividesTheWeights) {
  TestSplit split = split_of(two_products(), cluster_of(2));
  const auto resident = [&](const Split& how) {
    const OperatorPlan own{0, {how}};
    const SplitStep step = step_of(*split.model, {own, OperatorPlan{}, OperatorPlan{}}, split.cluster, StepKind::inference);
    return step.workload.nodes[0].bytes;
  };
  EXPECT_EQ(resident({SplitTarget::output, 0, 2, 1}), 100 * 200 * 4);
  EXPECT_EQ(resident({SplitTarget::output, 1, 2, 1}), 100 * 100 * 4);
  EXPECT_EQ(resident({SplitTarget::reduction, 0, 2, 1}), 50 * 200 * 4);
}

double bytes_reduced(const SplitStep& step) {
  double bytes = 0;
  for (const WorkloadTensor& tensor : step.workload.tensors)
    for (const std::uint32_t reader : tensor.readers)
      if (step.nodes[reader].kind == SplitNodeKind::reduce_gradient && step.devices[reader] != step.devices[tensor.source])
        bytes += tensor.bytes;
  return bytes;
}

// A training step by samples adds the gradients of all weights; by columns there is nothing to add.
TEST(SplitStep, OfTrainingAddsGradientsOfSharedWeights) {
  TestSplit split = split_of(two_products(), cluster_of(2));
  const auto reduced = [&](std::uint32_t dimension) {
    const OperatorPlan own{0, {{SplitTarget::output, dimension, 2, 1}}};
    const SplitStep step = step_of(*split.model, {own, own, own}, split.cluster, StepKind::training);
    return bytes_reduced(step);
  };
  // A ring of two sends the bytes of the weights from each device.
  EXPECT_EQ(reduced(0), 2.0 * (100 * 200 + 200 * 50) * 4);
  EXPECT_EQ(reduced(1), 0);
}

// The gradients of a weight of four products are added on each device, sent once, and used once; a device has
// the weights once.
TEST(SplitStep, OfTiedWeightsAddsTheirGradientsOnce) {
  TestSplit split = split_of(recurrent(), cluster_of(2));
  const OperatorPlan samples{0, {{SplitTarget::output, 0, 2, 1}}};
  const SplitPlan plan(split.model->operators().size(), samples);
  const SplitStep step = step_of(*split.model, plan, split.cluster, StepKind::training);
  const double weights = (10 * 12 + 12 * 12) * 4;
  EXPECT_EQ(bytes_reduced(step), 2 * weights);
  double resident = 0;
  std::size_t updates = 0;
  for (std::size_t node = 0; node < step.nodes.size(); ++node) {
    updates += step.nodes[node].kind == SplitNodeKind::update ? 1 : 0;
    if (step.nodes[node].kind == SplitNodeKind::forward && step.devices[node] == 0) resident += step.workload.nodes[node].bytes;
  }
  EXPECT_EQ(updates, 4U);
  EXPECT_EQ(resident, weights);
}

// Backward, a product has two products of its size: three times the forward pass, and the update.
TEST(SplitStep, OfTrainingHasTwoProductsForEachProduct) {
  TestSplit split = split_of(two_products(), cluster_of(1));
  const double forward = 320e-6 + 12.8e-6 + 160e-6;
  const double backward = 2 * 320e-6 + 12.8e-6 + 2 * 160e-6;
  const double update = 3.0 * (100 * 200 + 200 * 50) * 4 / 1e9;
  EXPECT_NEAR(step_with(split, SplitPlan(3), StepKind::training), forward + backward + update, 1e-9);
}

// Random plans take the same time in every bit, in one clock and as workloads.
TEST(SplitClock, EqualsTheSimulationOfTheWorkload) {
  for (const StepKind kind : {StepKind::inference, StepKind::training}) {
    for (auto make : {convolutions, attention, recurrent}) {
      TestSplit split = split_of(make(), cluster_of(12, 4));
      SplitClock clock(*split.model, split.cluster, kind);
      RandomNumbers random(5);
      for (int trial = 0; trial < 60; ++trial) {
        const SplitPlan plan = random_plans(*split.model, 12, random);
        const double expected = step_with(split, plan, kind);
        EXPECT_EQ(clock.prepare(plan), 0);
        const auto found = clock.step(std::numeric_limits<double>::infinity());
        ASSERT_TRUE(found);
        ASSERT_EQ(*found, expected) << trial;
        clock.prepare(plan);
        EXPECT_EQ(clock.step(expected), expected);
        clock.prepare(plan);
        EXPECT_EQ(clock.step(expected * 0.999), std::nullopt);
      }
    }
  }
}

// A bound of all plans is not above any of them.
TEST(SplitBound, IsNotAboveRandomPlans) {
  for (const StepKind kind : {StepKind::inference, StepKind::training}) {
    for (auto make : {convolutions, attention, recurrent, two_products}) {
      DeviceCluster cluster = cluster_of(12);
      cluster.inside = {0, 1e18};
      TestSplit split = split_of(make(), std::move(cluster));
      const auto bound = step_bound(*split.model, split.cluster, kind);
      ASSERT_TRUE(bound);
      SplitClock clock(*split.model, split.cluster, kind);
      RandomNumbers random(11);
      for (int trial = 0; trial < 300; ++trial) {
        clock.prepare(random_plans(*split.model, 12, random));
        EXPECT_GE(*clock.step(std::numeric_limits<double>::infinity()), bound->seconds * (1 - 1e-12));
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
TEST(SplitStarts, OfTensorParallelDividesColumnsThenTerms) {
  TestSplit split = split_of(two_products(), cluster_of(4));
  const SplitPlan plan = grid_plan(*split.model, 4, {2, 2, false});
  EXPECT_EQ(to_string(plan[0]), "axis 0 / 2, axis 1 / 2, devices 0 to 3");
  EXPECT_EQ(to_string(plan[1]), "axis 0 / 2, axis 1 / 2, devices 0 to 3");
  EXPECT_EQ(to_string(plan[2]), "axis 0 / 2, sum / 2, devices 0 to 3");
}

TEST(SplitStarts, OfTensorParallelDividesAttentionByHeads) {
  TestSplit split = split_of(attention(), cluster_of(4));
  const SplitPlan plan = grid_plan(*split.model, 4, {1, 4, false});
  std::vector<std::string> texts;
  for (const OperatorPlan& own : plan)
    if (texts.empty() || texts.back() != to_string(own)) texts.push_back(to_string(own));
  EXPECT_EQ(texts.front(), "axis 2 / 4, devices 0 to 3");
  EXPECT_EQ(texts.back(), "4 copies, devices 0 to 3");
  const auto sums = std::ranges::count_if(plan, [](const OperatorPlan& own) { return own.degree(SplitTarget::reduction) == 4; });
  EXPECT_EQ(sums, 2);  // the projection of the heads, and the second product of the feed-forward layer
}

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

TEST(SplitPlan, RefusesWhatDoesNotExist) {
  TestSplit split = split_of(attention(), cluster_of(8));
  std::uint32_t softmax = 0;
  while (split.model->operators()[softmax].type != "softmax") ++softmax;
  EXPECT_TRUE(is_possible(*split.model, softmax, {0, {{SplitTarget::output, 1, 4, 1}}}, 8));
  EXPECT_FALSE(is_possible(*split.model, softmax, {0, {{SplitTarget::output, 3, 5, 1}}}, 8)) << "its axis";
  EXPECT_FALSE(is_possible(*split.model, softmax, {0, {{SplitTarget::output, 1, 5, 1}}}, 8)) << "more parts than rows";
  EXPECT_FALSE(is_possible(*split.model, softmax, {6, {{SplitTarget::output, 1, 4, 1}}}, 8)) << "devices that do not exist";
  EXPECT_FALSE(is_possible(*split.model, softmax, {0, {{SplitTarget::output, 1, 2, 1}, {SplitTarget::output, 2, 2, 1}}}, 8))
      << "one device twice";
  EXPECT_FALSE(is_possible(*split.model, softmax, {0, {{SplitTarget::reduction, 0, 2, 1}}}, 8)) << "no sum";
}

FoundSplit search_with(TestSplit& split, std::uint64_t steps, std::uint64_t seed, StepKind kind = StepKind::inference) {
  SearchBudget budget(Seconds(1e12), steps, {}, 1);
  SplitSearchOptions options;
  options.seed = seed;
  options.kind = kind;
  return search_split(*split.model, split.cluster, options, budget);
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

TEST(SplitSearch, GivesOperatorsWithTiedWeightsOnePlan) {
  TestSplit split = split_of(recurrent(), cluster_of(6, 2));
  const FoundSplit found = search_with(split, 600, 2, StepKind::training);
  for (const std::uint32_t value : split.model->tied_values()) {
    const auto& tied = split.model->values()[value].tied;
    ASSERT_EQ(tied.size(), 4U);
    for (const std::uint32_t op : tied) EXPECT_EQ(found.plan[op], found.plan[tied[0]]);
  }
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
