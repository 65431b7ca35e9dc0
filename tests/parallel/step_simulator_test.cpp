// The simulated step: its definition, and moves that equal full simulations.
#include "src/parallel/step_simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "src/parallel/random_numbers.h"
#include "src/parallel/step_use.h"

namespace xflow::parallel {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Two devices on one host and a third one on another. A transfer of n bytes takes 1 + n, or 2 + 2n.
DeviceCluster small_cluster() {
  DeviceCluster cluster{"small", {}, 2, {1, 1}, {2, 0.5}};
  cluster.devices = {{"a", "x", 0, 100, {0, 1, 1}}, {"b", "x", 0, 100, {0, 1, 1}}, {"c", "x", 1, 100, {0, 1, 1}}};
  return cluster;
}

WorkloadNode node_of(double seconds, double bytes = 0) { return {{seconds, seconds, seconds}, bytes}; }

DeviceCluster random_cluster(RandomNumbers& random) {
  DeviceCluster cluster{"random", {}, 1 + random.below(3), {random.unit(), 1 + random.unit()}, {random.unit(), random.unit()}};
  const std::uint32_t devices = 2 + random.below(5);
  for (std::uint32_t k = 0; k < devices; ++k)
    cluster.devices.push_back({std::to_string(k), "x", random.below(cluster.hosts), 1, {0, 1, 1}});
  return cluster;
}

// Times and sizes are small integers for some graphs, so that many tasks are ready at one time or take none.
Workload random_workload(RandomNumbers& random, std::uint32_t devices) {
  Workload workload;
  const bool has_ties = random.below(2) == 0;
  const auto amount = [&] { return has_ties ? static_cast<double>(random.below(3)) : random.unit(); };
  const std::uint32_t nodes = 2 + random.below(24);
  for (std::uint32_t k = 0; k < nodes; ++k) {
    WorkloadNode node;
    for (std::uint32_t d = 0; d < devices; ++d) node.seconds.push_back(amount());
    workload.nodes.push_back(std::move(node));
  }
  for (std::uint32_t k = 0; k < nodes; ++k) {
    for (std::uint32_t output = random.below(3); output > 0; --output) {
      WorkloadTensor tensor{k, amount(), {}};
      for (std::uint32_t reader = k + 1; reader < std::min(nodes, k + 6); ++reader) {
        if (random.below(3) == 0) tensor.readers.push_back(reader);
      }
      workload.tensors.push_back(std::move(tensor));
    }
  }
  return workload;
}

std::vector<std::uint32_t> random_devices(RandomNumbers& random, const Workload& workload, std::uint32_t devices) {
  std::vector<std::uint32_t> result;
  for (std::size_t k = 0; k < workload.nodes.size(); ++k) result.push_back(random.below(devices));
  return result;
}

// By node, or by tensor and device.
using RunsByTask = std::map<std::pair<std::uint32_t, std::uint32_t>, const TaskRun*>;

// Checks the definition: one task for each node and for each tensor and other device that reads it; ready
// when what it needs has ended; each resource in order of (ready time, key), without a gap that it could use.
void expect_defined(const Workload& workload, const DeviceCluster& cluster, const StepSimulator& simulator) {
  RunsByTask nodes;
  RunsByTask transfers;
  std::map<std::uint32_t, std::vector<const TaskRun*>> by_resource;
  double step = 0;
  for (const TaskRun& run : simulator.runs()) {
    step = std::max(step, run.end);
    if (run.is_transfer)
      EXPECT_TRUE(transfers.emplace(std::pair(run.item, run.device), &run).second);
    else
      EXPECT_TRUE(nodes.emplace(std::pair(run.item, 0U), &run).second);
    by_resource[run.resource].push_back(&run);
  }
  EXPECT_EQ(step, simulator.step());
  ASSERT_EQ(nodes.size(), workload.nodes.size());
  std::vector<double> ready(workload.nodes.size(), 0);
  std::size_t expected = 0;
  for (std::uint32_t t = 0; t < workload.tensors.size(); ++t) {
    const WorkloadTensor& tensor = workload.tensors[t];
    const TaskRun& source = *nodes.at({tensor.source, 0});
    std::map<std::uint32_t, double> there = {{source.device, source.end}};
    for (const std::uint32_t reader : tensor.readers) {
      const std::uint32_t device = simulator.devices()[reader];
      if (!there.contains(device)) {
        ++expected;
        ASSERT_TRUE(transfers.contains({t, device}));
        const TaskRun& run = *transfers.at({t, device});
        EXPECT_EQ(run.ready, source.end);
        EXPECT_EQ(run.end, run.start + cluster.link(source.device, device).seconds(tensor.bytes));
        EXPECT_EQ(run.resource, cluster.link_resource(source.device, device));
        there[device] = run.end;
      }
      ready[reader] = std::max(ready[reader], there[device]);
    }
  }
  EXPECT_EQ(transfers.size(), expected);
  for (const auto& [task, run] : nodes) {
    EXPECT_EQ(run->device, simulator.devices()[run->item]);
    EXPECT_EQ(run->resource, run->device);
    EXPECT_EQ(run->ready, ready[run->item]);
    EXPECT_EQ(run->end, run->start + workload.nodes[run->item].seconds[run->device]);
  }
  for (auto& [resource, tasks] : by_resource) {
    std::sort(tasks.begin(), tasks.end(),
              [](const TaskRun* a, const TaskRun* b) { return std::pair(a->ready, a->key) < std::pair(b->ready, b->key); });
    double free = 0;
    for (const TaskRun* run : tasks) {
      EXPECT_EQ(run->start, std::max(free, run->ready));
      free = run->end;
    }
  }
}

TEST(StepSimulator, RunsTransfersBesideComputeAndOneAtATimeOnAPort) {
  // Node 0 on a sends to c twice over the port of its host, and to b over their own link.
  Workload workload{{node_of(1), node_of(10), node_of(1), node_of(1), node_of(1)}, {{0, 3, {2, 4}}, {0, 1, {3}}}};
  const DeviceCluster cluster = small_cluster();
  ASSERT_TRUE(check_workload(workload, cluster.size()));
  const StepSimulator simulator(workload, cluster, {0, 0, 2, 2, 1});
  expect_defined(workload, cluster, simulator);
  // The port: 1 to 9, 9 to 13. The link: 1 to 5. Node 1 needs a, which is free from 1 on.
  const StepUse use = use_of(workload, cluster, simulator);
  EXPECT_DOUBLE_EQ(simulator.step(), 14);
  EXPECT_DOUBLE_EQ(use.ports[0], 12);
  EXPECT_DOUBLE_EQ(use.ports[1], 0);
  EXPECT_DOUBLE_EQ(use.devices[0].busy, 11);
  EXPECT_DOUBLE_EQ(use.utilisation(use.devices[2].busy), 2. / 14);
  ASSERT_EQ(use.links.size(), 2U);
  EXPECT_EQ(use.links[0].to, 1U);
  EXPECT_DOUBLE_EQ(use.links[0].bytes, 3);
  EXPECT_DOUBLE_EQ(use.links[0].busy, 4);
  EXPECT_EQ(use.links[1].to, 2U);
  EXPECT_EQ(use.links[1].transfers, 2U);
  EXPECT_DOUBLE_EQ(use.links[1].bytes, 4);
}

TEST(StepSimulator, CountsTensorsFromTheirNodeToTheirLastReader) {
  // A chain on a: 4 and 6 bytes live together while node 1 runs, 6 and 1 while node 2 runs.
  Workload workload{{node_of(1, 100), node_of(1), node_of(1, 7)}, {{0, 4, {1}}, {1, 6, {2}}, {2, 1, {}}}};
  const DeviceCluster cluster = small_cluster();
  const StepSimulator together(workload, cluster, {0, 0, 0});
  EXPECT_DOUBLE_EQ(use_of(workload, cluster, together).devices[0].peak, 107 + 10);
  const StepSimulator apart(workload, cluster, {0, 0, 1});
  const StepUse use = use_of(workload, cluster, apart);
  EXPECT_DOUBLE_EQ(use.devices[0].peak, 100 + 10);
  EXPECT_DOUBLE_EQ(use.devices[1].peak, 7 + 6 + 1);
  EXPECT_DOUBLE_EQ(use.devices[2].peak, 0);
}

TEST(StepSimulator, SaysWhichDeviceLacksHowManyBytes) {
  Workload workload{{node_of(1, 40), node_of(1, 90)}, {{0, 20, {1}}}};
  const DeviceCluster cluster = small_cluster();
  const auto checked = [&](const std::vector<std::uint32_t>& devices) {
    const auto fits = check_memory(use_of(workload, cluster, StepSimulator(workload, cluster, devices)), cluster);
    return fits ? std::string() : fits.error().message;
  };
  EXPECT_EQ(checked({0, 1}), "device 'b' lacks 10 bytes: it has 100 and needs 110, 90 of them for its nodes");
  EXPECT_EQ(checked({2, 2}), "device 'c' lacks 50 bytes: it has 100 and needs 150, 130 of them for its nodes");
  workload.tensors[0].bytes = 10;
  EXPECT_EQ(checked({0, 1}), "");
}

TEST(StepSimulator, FollowsTheDefinitionOnRandomGraphs) {
  RandomNumbers random(1);
  for (int round = 0; round < 2000 && !testing::Test::HasFailure(); ++round) {
    const DeviceCluster cluster = random_cluster(random);
    const Workload workload = random_workload(random, cluster.size());
    ASSERT_TRUE(check_workload(workload, cluster.size()));
    expect_defined(workload, cluster, StepSimulator(workload, cluster, random_devices(random, workload, cluster.size())));
  }
}

// Proposals with limits around the present step; each result is compared with a full simulation.
void expect_equal_moves(std::uint64_t seed, bool has_limit) {
  RandomNumbers random(seed);
  std::uint32_t taken = 0;
  std::uint32_t refused = 0;
  for (int graph = 0; graph < 1000; ++graph) {
    const DeviceCluster cluster = random_cluster(random);
    const Workload workload = random_workload(random, cluster.size());
    StepSimulator moved(workload, cluster, random_devices(random, workload, cluster.size()));
    StepSimulator repeated(workload, cluster, std::vector<std::uint32_t>(workload.nodes.size(), 0));
    for (int k = 0; k < 110; ++k) {
      std::vector<std::uint32_t> devices(moved.devices().begin(), moved.devices().end());
      const std::uint32_t node = random.below(static_cast<std::uint32_t>(devices.size()));
      const StepSimulator before(workload, cluster, devices);
      devices[node] = random.below(cluster.size());
      const StepSimulator full(workload, cluster, devices);
      ASSERT_EQ(repeated.simulate(devices), full.step());
      ASSERT_TRUE(std::ranges::equal(repeated.runs(), full.runs())) << "graph " << graph << ", proposal " << k;
      const double limits[] = {moved.step(), moved.step() * (0.9 + 0.3 * random.unit()), full.step(), full.step() * 0.999};
      const double limit = has_limit ? limits[random.below(4)] : kUnlimited;
      const auto step = moved.move(node, devices[node], limit);
      ASSERT_EQ(repeated.simulate(devices, limit), step) << "graph " << graph << ", proposal " << k;
      ASSERT_EQ(step.has_value(), full.step() <= limit) << "graph " << graph << ", proposal " << k;
      ASSERT_EQ(step.value_or(full.step()), full.step()) << "graph " << graph << ", proposal " << k;
      const StepSimulator& expected = step ? full : before;
      ASSERT_TRUE(moved.step() == expected.step() && std::ranges::equal(moved.runs(), expected.runs()))
          << "graph " << graph << ", proposal " << k;
      ++(step ? taken : refused);
    }
  }
  EXPECT_EQ(taken + refused, 110'000U);
  EXPECT_GT(taken, 10'000U);
  EXPECT_EQ(refused > 10'000U, has_limit);
}

TEST(StepSimulator, MovesEqualFullSimulationsToTheLastBit) { expect_equal_moves(2, false); }

TEST(StepSimulator, MovesUnderALimitDecideAsFullSimulationsDo) { expect_equal_moves(3, true); }

// Nodes of a second each in a row; each sends so many bytes to the next.
Workload chain_of(std::uint32_t nodes, double bytes) {
  Workload workload;
  for (std::uint32_t k = 0; k < nodes; ++k) {
    workload.nodes.push_back(node_of(1));
    workload.tensors.push_back({k, bytes, {}});
    if (k + 1 < nodes) workload.tensors.back().readers = {k + 1};
  }
  return workload;
}

// The first half of the nodes on a, the others on b.
std::vector<std::uint32_t> halves(std::uint32_t nodes) {
  std::vector<std::uint32_t> devices(nodes, 0);
  std::fill(devices.begin() + nodes / 2, devices.end(), 1);
  return devices;
}

TEST(StepSimulator, StopsEarlyWhereAPathIsTooLong) {
  // A chain of 1000 nodes on a and b: no device has work for more than 500 s.
  const Workload workload = chain_of(1000, 0);
  const DeviceCluster cluster = small_cluster();
  StepSimulator simulator(workload, cluster, halves(1000));
  EXPECT_EQ(simulator.step(), 1001);
  EXPECT_EQ(simulator.simulated(), 1001U);
  EXPECT_EQ(simulator.move(0, 2, 1001), std::nullopt);
  EXPECT_LT(simulator.simulated(), 1006U);
}

TEST(StepSimulator, StopsEarlyWhereADeviceHasTooMuchWork) {
  // 500 nodes on a, and as many on b, that do not need each other.
  const Workload workload{std::vector<WorkloadNode>(1000, node_of(1)), {}};
  const DeviceCluster cluster = small_cluster();
  StepSimulator simulator(workload, cluster, halves(1000));
  EXPECT_EQ(simulator.step(), 500);
  EXPECT_EQ(simulator.simulated(), 1000U);
  EXPECT_EQ(simulator.move(500, 0, 500), std::nullopt);
  EXPECT_LT(simulator.simulated(), 1003U);
  EXPECT_EQ(simulator.move(500, 2, 500), 500);
}

TEST(StepSimulator, StopsEarlyWhereTheLimitIsOutOfReach) {
  // A chain of 1000 nodes on a; its first node moves to c.
  const Workload workload = chain_of(1000, 1);
  const DeviceCluster cluster = small_cluster();
  StepSimulator simulator(workload, cluster, std::vector<std::uint32_t>(1000, 0));
  EXPECT_EQ(simulator.simulated(), 1000U);
  EXPECT_EQ(simulator.move(0, 2, 1001), std::nullopt);
  EXPECT_LT(simulator.simulated(), 1005U);
  EXPECT_EQ(simulator.step(), 1000);
  // A move of the last node leaves all others as they are.
  EXPECT_EQ(simulator.move(999, 1), 1002);
  EXPECT_LT(simulator.simulated(), 1010U);
}

TEST(CheckWorkload, NamesTheFirstFault) {
  const auto message = [](const Workload& workload) {
    const auto checked = check_workload(workload, 3);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(message({{node_of(1), node_of(1)}, {{0, 1, {1}}}}), "");
  EXPECT_EQ(message({{{{1, 2}, 0}}, {}}), "node 0 has 2 times for 3 devices");
  EXPECT_EQ(message({{node_of(1), node_of(-1)}, {}}), "node 1 has a time or size that is negative or not finite");
  EXPECT_EQ(message({{node_of(1), node_of(1, kUnlimited)}, {}}), "node 1 has a time or size that is negative or not finite");
  EXPECT_EQ(message({{node_of(1)}, {{1, 1, {}}}}), "tensor 0 has no source, or one before that of the last tensor");
  EXPECT_EQ(message({{node_of(1), node_of(1)}, {{1, 1, {}}, {0, 1, {}}}}), "tensor 1 has no source, or one before that of the last tensor");
  EXPECT_EQ(message({{node_of(1), node_of(1)}, {{0, -1, {}}}}), "tensor 0 has a size that is negative or not finite");
  EXPECT_EQ(message({{node_of(1), node_of(1)}, {{0, 1, {0}}}}), "tensor 0 has readers that do not increase from its source on");
  EXPECT_EQ(message({{node_of(1), node_of(1)}, {{0, 1, {2}}}}), "tensor 0 has readers that do not increase from its source on");
}

}  // namespace
}  // namespace xflow::parallel
