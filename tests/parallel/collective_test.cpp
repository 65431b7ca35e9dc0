// Collective operations take the times of their formulas, and send the bytes that they should.
#include "src/parallel/collective.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "src/parallel/step_simulator.h"
#include "src/parallel/step_use.h"

namespace xflow::parallel {
namespace {

constexpr double kBytes = 840;  // divisible by all numbers of devices below
constexpr double kLatency = 3;
constexpr double kBandwidth = 2;

double transfer(double bytes) { return kLatency + bytes / kBandwidth; }

// Devices on one host, or on a host each.
DeviceCluster cluster_of(std::uint32_t devices, bool is_one_host) {
  DeviceCluster cluster{"c", {}, is_one_host ? 1 : devices, {kLatency, kBandwidth}, {kLatency, kBandwidth}};
  for (std::uint32_t k = 0; k < devices; ++k) {
    ClusterDevice device;
    device.name = std::to_string(k);
    device.host = is_one_host ? 0 : k;
    cluster.devices.push_back(device);
  }
  return cluster;
}

Collective of(CollectiveAlgorithm algorithm, std::uint32_t ranks) {
  Collective collective{algorithm, kBytes, {}, {}};
  for (std::uint32_t k = 0; k < ranks; ++k) collective.devices.push_back(k);
  return collective;
}

struct CollectiveRun {
  double time = 0;
  double bytes = 0;  // of all transfers
  double least = 0;  // that a device sends
};

CollectiveRun run_of(CollectiveAlgorithm algorithm, std::uint32_t ranks, bool is_one_host) {
  const DeviceCluster cluster = cluster_of(ranks, is_one_host);
  Workload workload;
  std::vector<std::uint32_t> placement;
  EXPECT_EQ(add_collective(of(algorithm, ranks), ranks, workload, placement).size(), ranks);
  const auto sound = check_workload(workload, ranks);
  EXPECT_TRUE(sound) << sound.error().message;
  const StepSimulator simulator(workload, cluster, placement);
  const StepUse use = use_of(workload, cluster, simulator);
  CollectiveRun run{simulator.step(), 0, 0};
  std::vector<double> sent(ranks, 0);
  for (const LinkUse& link : use.links) sent[link.from] += link.bytes;
  for (const double bytes : sent) run.bytes += bytes;
  run.least = *std::min_element(sent.begin(), sent.end());
  return run;
}

TEST(Collective, RingsTakeAStepForEachPart) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 5U, 8U}) {
    for (const bool is_one_host : {true, false}) {
      const double part = kBytes / ranks;
      const CollectiveRun reduce = run_of(CollectiveAlgorithm::ring_all_reduce, ranks, is_one_host);
      EXPECT_NEAR(reduce.time, 2 * (ranks - 1) * transfer(part), 1e-9) << ranks;
      EXPECT_NEAR(reduce.bytes, 2 * (ranks - 1) * kBytes, 1e-9) << ranks;
      EXPECT_NEAR(reduce.least, 2. * (ranks - 1) / ranks * kBytes, 1e-9) << ranks;
      for (const auto half : {CollectiveAlgorithm::ring_all_gather, CollectiveAlgorithm::ring_reduce_scatter}) {
        const CollectiveRun run = run_of(half, ranks, is_one_host);
        EXPECT_NEAR(run.time, (ranks - 1) * transfer(part), 1e-9) << ranks;
        EXPECT_NEAR(run.bytes, (ranks - 1) * kBytes, 1e-9) << ranks;
      }
    }
  }
}

TEST(Collective, TreesTakeTwoStepsForEachLevel) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 5U, 8U}) {
    const CollectiveRun run = run_of(CollectiveAlgorithm::tree_all_reduce, ranks, true);
    // Devices above a power of two need no more levels: they send at once, over links of their own.
    EXPECT_NEAR(run.time, 2 * std::floor(std::log2(ranks)) * transfer(kBytes), 1e-9) << ranks;
    // Each device but the root sends its tensor up and gets one back.
    EXPECT_NEAR(run.bytes, 2 * (ranks - 1) * kBytes, 1e-9) << ranks;
  }
}

TEST(Collective, AllToAllSharesThePortsOfHosts) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 5U, 8U}) {
    const double part = kBytes / ranks;
    const CollectiveRun inside = run_of(CollectiveAlgorithm::all_to_all, ranks, true);
    EXPECT_NEAR(inside.time, ranks > 1 ? transfer(part) : 0, 1e-9) << ranks;
    EXPECT_NEAR(inside.bytes, ranks * (ranks - 1) * part, 1e-9) << ranks;
    EXPECT_NEAR(run_of(CollectiveAlgorithm::all_to_all, ranks, false).time, (ranks - 1) * transfer(part), 1e-9) << ranks;
  }
}

TEST(Collective, WaitsForWhatDevicesContribute) {
  // The second device has its tensor after 50 seconds.
  Workload workload{{{{0, 0}, 0}, {{50, 50}, 0}}, {{0, kBytes, {}}, {1, kBytes, {}}}};
  std::vector<std::uint32_t> placement = {0, 1};
  for (const auto algorithm : {CollectiveAlgorithm::ring_all_reduce, CollectiveAlgorithm::tree_all_reduce}) {
    Workload own = workload;
    std::vector<std::uint32_t> devices = placement;
    Collective collective = of(algorithm, 2);
    collective.inputs = {0, 1};
    const auto ends = add_collective(collective, 2, own, devices);
    ASSERT_TRUE(check_workload(own, 2));
    const DeviceCluster cluster = cluster_of(2, true);
    const StepSimulator simulator(own, cluster, devices);
    const double part = algorithm == CollectiveAlgorithm::ring_all_reduce ? kBytes / 2 : kBytes;
    for (const TaskRun& run : simulator.runs()) {
      if (!run.is_transfer && run.item == ends[0]) {
        EXPECT_GE(run.end, 50 + transfer(part));
      }
    }
    EXPECT_NEAR(simulator.step(), 50 + 2 * transfer(part), 1e-9);
  }
}

}  // namespace
}  // namespace xflow::parallel
