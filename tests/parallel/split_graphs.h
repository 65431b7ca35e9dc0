// Graphs of which each operation is an operator, on clusters whose times are easily computed.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cost/database.h"
#include "src/cost/kernel_costs.h"
#include "src/devices/profile/profile_device.h"
#include "src/ops/operator.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_workload.h"
#include "src/parallel/step_simulator.h"

namespace xflow::parallel {

using ir::ValueId;

// Devices without launches, so that times are work divided by a rate.
inline DeviceCluster cluster_of(std::uint32_t devices, std::uint32_t per_host = 64) {
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

inline ir::AttributeValue list(const std::vector<std::int64_t>& values) { return ir::polys(values); }

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

inline TestSplit split_of(std::unique_ptr<TestGraph> graph, DeviceCluster cluster, double launch = 0) {
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

inline std::unique_ptr<TestGraph> convolutions() {
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
inline std::unique_ptr<TestGraph> attention() {
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
inline std::unique_ptr<TestGraph> recurrent() {
  auto g = std::make_unique<TestGraph>();
  const ValueId w = g->weights({10, 12});
  const ValueId u = g->weights({12, 12});
  ValueId h = g->input({6, 12});
  for (int step = 0; step < 4; ++step)
    h = g->apply("tanh", {g->apply("add", {g->apply("matmul", {g->input({6, 10}), w}), g->apply("matmul", {h, u})})});
  g->graph.outputs = {h};
  return g;
}

// Operators in which something follows a sum: a bias, a function of it, and what another operator made.
inline std::unique_ptr<TestGraph> biased() {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->input({6, 12});
  const ValueId r = g->apply("tanh", {x});
  const ValueId a = g->apply("matmul", {r, g->weights({12, 12})});
  const ValueId b = g->apply("add", {a, g->weights({12})});
  const ValueId c = g->apply("relu", {b});
  const ValueId d = g->apply("matmul", {c, g->weights({12, 12})});
  const ValueId e = g->apply("add", {d, r});
  const ValueId image = g->apply("reshape", {e}, {{"shape", list({2, 6, 6, 1})}});
  const ValueId f = g->apply("conv", {image, g->weights({8, 6, 3, 3})}, {{"pads", list({1, 1, 1, 1})}});
  const ValueId h = g->apply("add", {f, g->weights({8, 1, 1})});
  g->joined = {{a, b, c}, {d, e}, {f, h}};
  g->graph.outputs = {g->apply("tanh", {h})};
  return g;
}

// Rows of tables by indices that count from the begin or from the end.
inline std::unique_ptr<TestGraph> embeddings() {
  auto g = std::make_unique<TestGraph>();
  std::vector<std::int64_t> numbers;
  for (std::int64_t k = 0; k < 12; ++k) numbers.push_back((k * 7 + 3) % 22 - 11);  // -11 to 10
  const auto indices = [&](const std::vector<std::int64_t>& dims) {
    return g->arena.constant(ir::make_integer_constant(ir::DataType::int64, dims, numbers));
  };
  const ValueId words = g->apply("gather", {g->weights({11, 6}), indices({3, 4})}, {{"axis", ir::Poly(0)}});
  const ValueId inner = g->apply("gather", {g->apply("tanh", {g->input({3, 11, 6})}), indices({12})}, {{"axis", ir::Poly(1)}});
  const ValueId elements = g->apply("gather_elements", {g->weights({11, 4}), indices({3, 4})}, {{"axis", ir::Poly(0)}});
  const ValueId sums = g->apply("reduce_sum", {inner}, {{"axes", list({1})}, {"keep_dims", ir::Poly(1)}});
  const ValueId product = g->apply("matmul", {g->apply("add", {words, sums}), g->weights({6, 4})});
  const ValueId columns = g->apply("reshape", {elements}, {{"shape", list({3, 4, 1})}});
  g->graph.outputs = {g->apply("mul", {product, columns})};
  return g;
}

// Concatenations along the axis that is divided, of what operators make, of weights and of the same value twice.
inline std::unique_ptr<TestGraph> concatenations() {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->apply("tanh", {g->input({4, 5})});
  const ValueId y = g->apply("matmul", {x, g->weights({5, 7})});
  const ValueId token = g->weights({4, 3});
  const ir::Attributes axis{{"axis", ir::Poly(1)}};
  const ValueId a = g->apply("concat", {x, token, y, x}, axis);
  const ValueId b = g->apply("concat", {g->apply("relu", {a}), g->weights({4, 2}), token}, axis);
  const ValueId c = g->apply("matmul", {b, g->weights({25, 6})});
  const ValueId doubled = g->apply("mul", {c, c});
  const ValueId joined = g->apply("concat", {c, doubled}, axis);
  g->joined = {{doubled, joined}};
  g->graph.outputs = {g->apply("tanh", {joined})};
  return g;
}

// Means, sums, maxima and minima, also of several axes, and what follows them in an operator.
inline std::unique_ptr<TestGraph> reductions() {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->apply("tanh", {g->input({4, 6, 7, 5})});
  const auto reduce = [&](const char* op, const std::vector<std::int64_t>& axes) {
    return g->apply(op, {x}, {{"axes", list(axes)}, {"keep_dims", ir::Poly(0)}});
  };
  const ValueId a = g->apply("mul", {reduce("reduce_mean", {2, 3}), reduce("reduce_max", {2, 3})});
  const ValueId b = g->apply("mul", {reduce("reduce_min", {2, 3}), reduce("reduce_sum", {2, 3})});
  const ValueId mean = reduce("reduce_mean", {2});
  const ValueId scaled = g->apply("mul", {mean, g->weights({5})});
  g->joined = {{mean, scaled}};
  const ValueId c = g->apply("reduce_mean", {scaled}, {{"axes", list({2})}, {"keep_dims", ir::Poly(0)}});
  const ValueId all = g->apply("add", {g->apply("add", {a, b}), c});
  g->graph.outputs = {g->apply("reduce_max", {all}, {{"axes", list({0, 1})}, {"keep_dims", ir::Poly(0)}})};
  return g;
}

// `batches`: with micro-batches now and then.
inline OperatorPlan random_plan(SplitModel& model, std::uint32_t op, std::uint32_t devices, RandomNumbers& random, bool batches) {
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
    if (batches && random.below(2) == 0)
      plan.splits.push_back({SplitTarget::output, random.below(static_cast<std::uint32_t>(kind.axes.size()) + 1), 2 + random.below(2), 0});
    if (is_possible(model, op, plan, devices)) return plan;
  }
  return {};
}

inline SplitPlan random_plans(SplitModel& model, std::uint32_t devices, RandomNumbers& random, bool batches = false) {
  SplitPlan plan;
  for (std::uint32_t op = 0; op < model.operators().size(); ++op) plan.push_back(random_plan(model, op, devices, random, batches));
  return plan;
}

inline std::unique_ptr<TestGraph> two_products() {
  auto g = std::make_unique<TestGraph>();
  const ValueId x = g->input({8, 100});
  const ValueId a = g->apply("matmul", {x, g->weights({100, 200})});
  g->graph.outputs = {g->apply("matmul", {g->apply("relu", {a}), g->weights({200, 50})})};
  return g;
}

inline double step_with(TestSplit& split, const SplitPlan& plan, StepKind kind = StepKind::inference) {
  const SplitStep step = step_of(*split.model, plan, split.cluster, kind);
  EXPECT_TRUE(check_workload(step.workload, split.cluster.size()));
  return StepSimulator(step.workload, split.cluster, step.devices).step();
}

}  // namespace xflow::parallel
