#include "src/parallel/all_reduce.h"

#include <algorithm>
#include <bit>

namespace xflow::parallel {

AllReduceStep all_reduce_step(const DeviceCluster& cluster, std::span<const std::uint32_t> devices, double bytes) {
  const auto ranks = static_cast<std::uint32_t>(devices.size());
  LinkRates slowest = cluster.link(devices.back(), devices.front());
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    const LinkRates& own = cluster.link(devices[rank - 1], devices[rank]);
    slowest.latency = std::max(slowest.latency, own.latency);
    slowest.bandwidth = std::min(slowest.bandwidth, own.bandwidth);
  }
  const AllReduceStep ring{2.0 * (ranks - 1) / ranks * bytes, 2.0 * (ranks - 1)};
  const AllReduceStep trees{2.0 * bytes, 2.0 * std::bit_width(ranks - 1)};
  const auto seconds = [&](const AllReduceStep& step) { return step.latencies * slowest.latency + step.bytes / slowest.bandwidth; };
  return seconds(trees) < seconds(ring) ? trees : ring;
}

double seconds_of_sum(SplitModel& model, const DeviceCluster& cluster, std::uint32_t device, double bytes, std::uint32_t ranks) {
  if (cluster.devices[device].source != TimeSource::cpu) return 0;
  return model.sum_seconds(model.source_of(device), bytes, ranks);
}

std::optional<GradientBucket> GradientBuckets::add(std::uint32_t op, std::vector<std::uint32_t> devices,
                                                   const std::vector<std::uint32_t>& nodes, double count, double bytes) {
  constexpr double kFull = 25e6;  // bytes
  auto bucket = std::ranges::find(open_, devices, &GradientBucket::devices);
  if (bucket == open_.end()) {
    GradientBucket made;
    made.op = op;
    made.nodes.resize(devices.size());
    made.devices = std::move(devices);
    bucket = open_.insert(open_.end(), std::move(made));
  }
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) bucket->nodes[rank].push_back(nodes[rank]);
  bucket->count += count;
  bucket->bytes += bytes;
  if (bucket->bytes < kFull) return std::nullopt;
  GradientBucket full = std::move(*bucket);
  open_.erase(bucket);
  return full;
}

}  // namespace xflow::parallel
