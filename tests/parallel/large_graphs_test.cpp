// Generated graphs of many nodes.
#include "src/parallel/large_graphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace xflow::parallel {
namespace {

TEST(LargeGraphs, AreWorkloadsOfAnyNumberOfNodes) {
  for (const char* name : {"dgx-h100", "slow-16"}) {
    const DeviceCluster cluster = *preset_cluster(name);
    for (const std::uint32_t nodes : {100U, 101U, 137U, 1000U, 4999U, 20'000U, 100'000U}) {
      const LargeGraph graph = large_graph(nodes, nodes, cluster).value();
      ASSERT_TRUE(check_workload(graph.workload, cluster.size())) << nodes;
      ASSERT_TRUE(check_fusions(graph.workload, graph.fusions)) << nodes;
      EXPECT_EQ(graph.workload.nodes.size(), nodes);
      EXPECT_EQ(graph.workload.tensors.size(), nodes);
      EXPECT_GT(graph.fusions.size(), nodes / 4);
      EXPECT_LT(graph.fusions.size(), nodes);
      // A task of fused nodes takes time.
      std::vector<double> seconds;
      for (const WorkloadNode& node : graph.workload.nodes) seconds.push_back(node.seconds[0]);
      for (const FusionChoice& choice : graph.fusions) {
        seconds[choice.into] += seconds[choice.node] - choice.saved;
        ASSERT_GT(seconds[choice.into], 0);
      }
    }
  }
}

TEST(LargeGraphs, DependOnTheirArgumentsAlone) {
  const DeviceCluster cluster = *preset_cluster("dgx-h100");
  const auto times_of = [&](std::uint64_t seed) {
    const LargeGraph graph = large_graph(2000, seed, cluster).value();
    std::vector<double> times;
    for (const WorkloadNode& node : graph.workload.nodes) times.push_back(node.seconds[0]);
    return times;
  };
  const LargeGraph first = large_graph(2000, 1, cluster).value();
  const LargeGraph second = large_graph(2000, 1, cluster).value();
  EXPECT_EQ(first.fusions, second.fusions);
  EXPECT_EQ(times_of(1), times_of(1));
  EXPECT_NE(times_of(1), times_of(2));
  for (std::size_t k = 0; k < first.workload.tensors.size(); ++k) {
    EXPECT_EQ(first.workload.tensors[k].bytes, second.workload.tensors[k].bytes);
    EXPECT_EQ(first.workload.tensors[k].readers, second.workload.tensors[k].readers);
  }
}

// On the device of least work, a step would take as long as all work divided by the number of devices.
TEST(LargeGraphs, HavePathsMuchShorterThanTheirWork) {
  const DeviceCluster cluster = *preset_cluster("dgx-h100");
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const LargeGraph graph = large_graph(10'000, seed, cluster).value();
    double work = 0;
    double longest = 0;
    std::vector<double> path(graph.workload.nodes.size(), 0);
    for (const WorkloadTensor& tensor : graph.workload.tensors) {
      path[tensor.source] += graph.workload.nodes[tensor.source].seconds[0];
      work += graph.workload.nodes[tensor.source].seconds[0];
      longest = std::max(longest, path[tensor.source]);
      for (const std::uint32_t reader : tensor.readers) path[reader] = std::max(path[reader], path[tensor.source]);
    }
    EXPECT_GT(work / longest, 3) << seed;
  }
}

TEST(LargeGraphs, OfOtherSizesOrWithoutRooflinesAreRefused) {
  DeviceCluster cluster = *preset_cluster("dgx-h100");
  EXPECT_FALSE(large_graph(99, 1, cluster));
  EXPECT_FALSE(large_graph(100'001, 1, cluster));
  cluster.devices[7].source = TimeSource::cpu;
  EXPECT_FALSE(large_graph(1000, 1, cluster));
}

}  // namespace
}  // namespace xflow::parallel
