// What steps of plans that split operators cost.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "src/parallel/all_reduce.h"
#include "src/parallel/part_copies.h"
#include "src/parallel/step_use.h"
#include "tests/parallel/split_graphs.h"

namespace xflow::parallel {
namespace {

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

// The product of 100 terms takes 160 us for half of them. The function moves 2 * 8 * 200 * 4 bytes and the bias 800 more:
// 12.8 us and 13.6 us after the all-reduce, of which the second message has a latency of 1 us. Without terms they are in
// the part.
TEST(SplitStep, OfTermsAddsABiasAfterTheAllReduce) {
  auto g = std::make_unique<TestGraph>();
  const ValueId product = g->apply("matmul", {g->input({8, 100}), g->weights({100, 200})});
  const ValueId sum = g->apply("add", {product, g->weights({200})});
  const ValueId result = g->apply("relu", {sum});
  g->joined = {{product, sum, result}};
  g->graph.outputs = {result};
  TestSplit split = split_of(std::move(g), cluster_of(2));
  const auto seconds_of_kinds = [&](const OperatorPlan& plan) {
    const SplitStep step = step_of(*split.model, {plan}, split.cluster, StepKind::inference);
    std::vector<std::pair<SplitNodeKind, double>> seconds;
    for (std::size_t node = 0; node < step.nodes.size(); ++node)
      seconds.emplace_back(step.nodes[node].kind, step.workload.nodes[node].seconds[step.devices[node]]);
    return seconds;
  };
  const auto terms = seconds_of_kinds({0, {{SplitTarget::reduction, 0, 2, 1}}});
  ASSERT_EQ(terms.size(), 4U);
  for (std::size_t node = 0; node < 4; ++node) {
    EXPECT_EQ(terms[node].first, node < 2 ? SplitNodeKind::forward : SplitNodeKind::reduce);
    EXPECT_NEAR(terms[node].second, node < 2 ? 160e-6 : 1e-6 + 13.6e-6 + 12.8e-6, 1e-12);
  }
  const auto rows = seconds_of_kinds({0, {{SplitTarget::output, 0, 2, 1}}});
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& [kind, own] : rows) EXPECT_NEAR(own, 160e-6 + 6.4e-6 + 7.2e-6, 1e-12);
  // A ring of two: 1 + 6.4 us for the first message.
  EXPECT_NEAR(step_with(split, {{0, {{SplitTarget::reduction, 0, 2, 1}}}}), 160e-6 + 7.4e-6 + 1e-6 + 13.6e-6 + 12.8e-6, 1e-9);
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
  EXPECT_EQ(updates, 2U);  // both weights at once on each device
  EXPECT_EQ(resident, weights);
}

// Two stages with a product each, over a link without cost. With two batches, the second stage computes one
// while the first stage computes the other.
TEST(SplitStep, OfAPipelineOverlapsItsStages) {
  auto g = std::make_unique<TestGraph>();
  ValueId x = g->input({2, 100});
  for (int layer = 0; layer < 2; ++layer) x = g->apply("matmul", {x, g->weights({100, 100})});
  g->graph.outputs = {x};
  DeviceCluster cluster = cluster_of(2);
  cluster.inside = {0, 1e18};
  TestSplit split = split_of(std::move(g), std::move(cluster));
  const auto plan_of = [](std::uint32_t batches) {
    const std::vector<Split> splits = batches > 1 ? std::vector<Split>{{SplitTarget::output, 0, batches, 0}} : std::vector<Split>();
    return SplitPlan{{0, splits}, {1, splits}};
  };
  const SplitStep step = step_of(*split.model, plan_of(2), split.cluster, StepKind::training);
  double update = 0;
  std::vector<double> forward(2, 0);
  std::size_t updates = 0;
  std::vector<double> resident(2, 0);
  for (std::size_t node = 0; node < step.nodes.size(); ++node) {
    const double seconds = step.workload.nodes[node].seconds[0];
    if (step.nodes[node].kind == SplitNodeKind::forward) {
      forward[step.devices[node]] += seconds;
      resident[step.devices[node]] += step.workload.nodes[node].bytes;
    }
    if (step.nodes[node].kind != SplitNodeKind::update) continue;
    ++updates;
    update = seconds;
  }
  // Batches share the weights of their device, and their gradients are added before one update.
  EXPECT_EQ(resident, (std::vector<double>{40e3, 40e3}));
  EXPECT_EQ(updates, 2U);
  // A batch takes t forward and 2 t backward. Without batches the stages follow each other: 2 (2 t + 4 t), and
  // the update. With two, the last stage has its four tasks from t to 7 t, and the first ends 2 t later.
  const double t = forward[0] / 2;
  EXPECT_NEAR(step_with(split, plan_of(2), StepKind::training), 9 * t + update, 1e-12);
  EXPECT_NEAR(bytes_reduced(step), 0, 0);
}

// Backward, a product has two products of its size: three times the forward pass, and the update.
TEST(SplitStep, OfTrainingHasTwoProductsForEachProduct) {
  TestSplit split = split_of(two_products(), cluster_of(1));
  const double forward = 320e-6 + 12.8e-6 + 160e-6;
  const double backward = 2 * 320e-6 + 12.8e-6 + 2 * 160e-6;
  const double update = 3.0 * (100 * 200 + 200 * 50) * 4 / 1e9;
  EXPECT_NEAR(step_with(split, SplitPlan(3), StepKind::training), forward + backward + update, 1e-9);
}

// Each device has half of the rows and gets the other half: 3200 bytes, which it joins with its own into 6400,
// read and written.
TEST(SplitStep, OfWhatComesFromSeveralPartsJoinsIt) {
  TestSplit split = split_of(two_products(), cluster_of(2));
  const OperatorPlan rows{0, {{SplitTarget::output, 0, 2, 1}}};
  const OperatorPlan columns{0, {{SplitTarget::output, 1, 2, 1}}};
  EXPECT_NEAR(step_with(split, {rows, rows, columns}), 160e-6 + 6.4e-6 + (1 + 3.2) * 1e-6 + 12.8e-6 + 80e-6, 1e-9);
}

// Columns of rows are not contiguous: 4 x 100 elements are copied where they are sent, and where they are
// read, before 8 x 100 are joined.
TEST(SplitStep, OfRangesThatAreNotContiguousCopiesThem) {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->input({8, 100});
  g->graph.outputs = {g->apply("relu", {g->apply("matmul", {x, g->weights({100, 200})})})};
  TestSplit split = split_of(std::move(g), cluster_of(2));
  const OperatorPlan rows{0, {{SplitTarget::output, 0, 2, 1}}};
  const OperatorPlan columns{0, {{SplitTarget::output, 1, 2, 1}}};
  EXPECT_NEAR(step_with(split, {rows, columns}), 160e-6 + 3.2e-6 + (1 + 1.6) * 1e-6 + 3.2e-6 + 6.4e-6 + 6.4e-6, 1e-9);
}

// The second reader of a device has what the first one has joined.
TEST(SplitStep, OfSeveralReadersJoinsOnce) {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->apply("relu", {g->input({8, 100})});
  g->graph.outputs = {g->apply("abs", {x}), g->apply("neg", {x})};
  TestSplit split = split_of(std::move(g), cluster_of(2));
  const OperatorPlan rows{0, {{SplitTarget::output, 0, 2, 1}}};
  // 3.2 us of half a function, 1600 bytes sent, 3200 joined, and two functions.
  EXPECT_NEAR(step_with(split, {rows, OperatorPlan{}, OperatorPlan{}}), 3.2e-6 + (1 + 1.6) * 1e-6 + 6.4e-6 + 2 * 6.4e-6, 1e-9);
}

// CPUs add by kernels: 800 of 1600 bytes of each other device, and join both halves.
TEST(SplitStep, OfTermsOnCpusAddsByKernels) {
  TestSplit split = split_of(two_products(), cluster_of(2));
  for (ClusterDevice& device : split.cluster.devices) device.source = TimeSource::cpu;
  const OperatorPlan columns{0, {{SplitTarget::output, 1, 2, 1}}};
  const OperatorPlan terms{0, {{SplitTarget::reduction, 0, 2, 1}}};
  EXPECT_NEAR(step_with(split, {columns, columns, terms}), 160e-6 + 6.4e-6 + 80e-6 + (1 + 1.6 + 1) * 1e-6 + 2.4e-6 + 3.2e-6, 1e-9);
}

double peak_without_weights(TestSplit& split, StepKind kind) {
  const SplitStep step = step_of(*split.model, SplitPlan(split.model->operators().size()), split.cluster, kind);
  const StepSimulator simulator(step.workload, split.cluster, step.devices);
  const StepUse use = use_of(step.workload, split.cluster, simulator);
  return use.devices[0].peak - use.devices[0].resident;
}

// When the gradients of the last product are computed, both operands of the function and of that product are
// there, the result of the step and the gradient. A pass forward has two of the tensors at a time.
TEST(SplitStep, OfTrainingKeepsWhatGradientsRead) {
  TestSplit split = split_of(two_products(), cluster_of(1));
  EXPECT_EQ(peak_without_weights(split, StepKind::inference), 6400 + 6400);
  EXPECT_EQ(peak_without_weights(split, StepKind::training), 6400 + 6400 + 1600 + 6400);
}

// Gradients of sums do not read their operands.
TEST(SplitStep, OfTrainingKeepsNoOperandsOfLinearOperators) {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->apply("neg", {g->input({100})});
  g->graph.outputs = {g->apply("neg", {g->apply("neg", {x})})};
  TestSplit split = split_of(std::move(g), cluster_of(1));
  EXPECT_EQ(peak_without_weights(split, StepKind::training), 400 + 400 + 400);
}

// 30 weights of 1 MB: 25 of them are added at once, and then the other five. Each has columns of its own.
TEST(SplitStep, OfTrainingAddsSmallGradientsTogether) {
  auto g = std::make_unique<TestGraph>();
  ValueId x = g->input({2, 500});
  for (int layer = 0; layer < 30; ++layer) x = g->apply("matmul", {x, g->weights({500, 500})});
  g->graph.outputs = {x};
  TestSplit split = split_of(std::move(g), cluster_of(2));
  const OperatorPlan rows{0, {{SplitTarget::output, 0, 2, 1}}};
  const SplitStep step = step_of(*split.model, SplitPlan(30, rows), split.cluster, StepKind::training);
  std::vector<double> updated;
  for (std::size_t node = 0; node < step.nodes.size(); ++node)
    if (step.nodes[node].kind == SplitNodeKind::update && step.devices[node] == 0) updated.push_back(step.workload.nodes[node].bytes);
  EXPECT_EQ(updated, (std::vector<double>{25e6, 5e6}));
  EXPECT_EQ(bytes_reduced(step), 2 * 30e6);
}

TEST(AllReduceStep, IsARingForMuchAndTreesForLittle) {
  const DeviceCluster cluster = cluster_of(16);
  std::vector<std::uint32_t> devices(16);
  std::iota(devices.begin(), devices.end(), 0U);
  const AllReduceStep little = all_reduce_step(cluster, devices, 1000);
  EXPECT_EQ(little.bytes, 2000);
  EXPECT_EQ(little.latencies, 2 * 4);
  const AllReduceStep much = all_reduce_step(cluster, devices, 16e6);
  EXPECT_EQ(much.bytes, 2 * 15e6);
  EXPECT_EQ(much.latencies, 2 * 15);
  const AllReduceStep two = all_reduce_step(cluster, std::span(devices).first(2), 1000);
  EXPECT_EQ(two.bytes, 1000);
  EXPECT_EQ(two.latencies, 2);
}

// The slowest link decides: 2 us a latency of the first rings are 20 us here.
TEST(AllReduceStep, LooksAtTheSlowestLink) {
  const DeviceCluster cluster = cluster_of(16, 8);
  std::vector<std::uint32_t> devices(16);
  std::iota(devices.begin(), devices.end(), 0U);
  // Between hosts 30 latencies are 300 us and 8 are 80 us; 1 / 8 of the bytes over 100 MB/s is their price.
  EXPECT_EQ(all_reduce_step(cluster, devices, 170e3).latencies, 2 * 4);
  EXPECT_EQ(all_reduce_step(cluster, devices, 180e3).latencies, 2 * 15);
}

TEST(GradientBuckets, AreOfTheSameDevices) {
  GradientBuckets buckets;
  EXPECT_FALSE(buckets.add(5, {0, 1}, {10, 11}, 1e6, 4e6));
  EXPECT_FALSE(buckets.add(4, {0, 2}, {12, 13}, 1e6, 4e6));
  const auto full = buckets.add(3, {0, 1}, {14, 15}, 6e6, 24e6);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->op, 5U);
  EXPECT_EQ(full->nodes, (std::vector<std::vector<std::uint32_t>>{{10, 14}, {11, 15}}));
  EXPECT_EQ(full->count, 7e6);
  EXPECT_EQ(full->bytes, 28e6);
  const auto rest = buckets.rest();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].devices, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_TRUE(buckets.rest().empty());
}

TEST(IsContiguous, WhereInnerDimensionsAreWhole) {
  const Box whole{{0, 4}, {0, 6}, {0, 5}};
  EXPECT_TRUE(is_contiguous(whole, whole));
  EXPECT_TRUE(is_contiguous(whole, {{1, 3}, {0, 6}, {0, 5}}));
  EXPECT_TRUE(is_contiguous(whole, {{2, 3}, {1, 4}, {0, 5}}));
  EXPECT_TRUE(is_contiguous(whole, {{2, 3}, {1, 2}, {3, 5}}));
  EXPECT_FALSE(is_contiguous(whole, {{0, 4}, {1, 4}, {0, 5}}));
  EXPECT_FALSE(is_contiguous(whole, {{2, 3}, {1, 4}, {0, 4}}));
  EXPECT_TRUE(is_contiguous(Box{}, Box{}));
}

// Launches of 5 us, and 2 bytes moved for each byte at 1 GB/s.
TEST(CopyTimes, AreThoseOfARoofline) {
  TestCosts costs(5e-6);
  CopyTimes times;
  EXPECT_EQ(times.seconds(*costs.costs, 0), 0);
  for (const double bytes : {64.0, 100.0, 1024.0, 3000.0, 1e6})
    EXPECT_NEAR(times.seconds(*costs.costs, bytes), 5e-6 + 2 * bytes / 1e9, 1e-9) << bytes;
  // Two additions of a third, and all of it joined.
  EXPECT_NEAR(times.seconds_of_sum(*costs.costs, 3e6, 3), 2 * (5e-6 + 3e6 / 1e9) + 5e-6 + 6e6 / 1e9, 1e-9);
}

}  // namespace
}  // namespace xflow::parallel
