// Measures the links between processes. See <xflow/run.h>.
#pragma once

#include <xflow/run.h>

#include <span>
#include <utility>

namespace xflow::execution {

// Latency and seconds per byte that fit the samples with the least sum of squared relative errors, neither
// of them negative.
std::pair<double, double> fit_link(std::span<const MeasuredCluster::Sample> samples);

// Implements xflow::measure_cluster.
Result<MeasuredCluster> measure_cluster(RunMessages& messages);

}  // namespace xflow::execution
