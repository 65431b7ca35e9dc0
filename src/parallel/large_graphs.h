// Seeded graphs of many nodes in the manner of unrolled networks, for methods that plan a whole step.
#pragma once

#include <cstdint>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/ordered_step.h"
#include "src/parallel/workload.h"

namespace xflow::parallel {

struct LargeGraph {
  Workload workload;
  std::vector<FusionChoice> fusions;
};

constexpr std::uint32_t kLeastLargeGraph = 100;     // nodes
constexpr std::uint32_t kMostLargeGraph = 100'000;  // nodes

// A graph of so many nodes: towers of layers that are unrolled, up to 48 chains of cells beside each other.
// A cell reads the state of its chain and of the layer below. It has one to four products, with chains of
// pointwise nodes after them, branches that a node joins, and now and then a skip from an earlier cell.
// Towers exchange states at some steps.
//
// Times are rooflines of the cluster's devices. A node has one tensor. If its only reader is pointwise, a
// fusion of the two saves the launch, and the bytes of the tensor written and read once at the bandwidth of
// the first device. Cells of eight steps share weights, which are the bytes of the first of them. Equal
// arguments give equal graphs. Errors: invalid_argument for fewer nodes than kLeastLargeGraph or more than
// kMostLargeGraph, and for a device without a roofline.
Result<LargeGraph> large_graph(std::uint32_t nodes, std::uint64_t seed, const DeviceCluster& cluster);

}  // namespace xflow::parallel
