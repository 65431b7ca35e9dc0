// Seeded graphs like those of networks, on which policies are trained and judged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/instance.h"

namespace xflow::policy {

// The names of the families:
// - "cells": convolutional networks of equal cells, whose blocks read random earlier blocks of the cell, as
//   in searches of architectures (Pham et al., Efficient Neural Architecture Search, 2018)
// - "transformers": layers of attention heads and perceptrons
// - "layers": random layers with skips and branches
// - "recurrent": unrolled recurrent networks of several layers, with attention over the steps of the last
//   one
// - "inception": modules of parallel branches of different depth, which a concatenation joins
// - "large": unrolled networks of many chains, whose nodes may be fused (parallel/large_graphs.h)
std::vector<std::string> graph_families();

// A graph of 40 to 350 nodes of the family, or of 1,000 or 2,000 large ones, on the first accelerators of
// the cluster and one CPU that takes 20 times as long. Times of nodes are rooflines of the first device, and
// costs of outputs transfers between devices of one host. The memory of an accelerator is that of the
// device, or 1.5 times an even share of all nodes if that is less. Equal arguments give equal graphs.
// Errors: invalid_argument for another name or a device without a roofline.
Result<parallel::PlacementInstance> family_graph(std::string_view family, std::uint64_t seed, const parallel::DeviceCluster& cluster);

}  // namespace xflow::policy
