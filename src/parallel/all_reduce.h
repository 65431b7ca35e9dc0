// All-reduces of parts and of gradients in a step: how much goes to the next device, and which gradients go
// together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/split_model.h"

namespace xflow::parallel {

// What each of r devices sends to the next one, for a tensor of n bytes. A ring sends 2 (r - 1) / r n bytes
// with 2 (r - 1) latencies. Two trees send 2 n bytes with 2 ceil(log2 r) latencies (Sanders, Speck and
// Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel Computing 2009). The
// faster one over the slowest link is taken.
struct AllReduceStep {
  double bytes = 0;
  double latencies = 0;
};
AllReduceStep all_reduce_step(const DeviceCluster& cluster, std::span<const std::uint32_t> devices, double bytes);

// The seconds of additions in an all-reduce of so many bytes on a device: CPUs add by kernels, other devices
// while they receive.
double seconds_of_sum(SplitModel& model, const DeviceCluster& cluster, std::uint32_t device, double bytes, std::uint32_t ranks);

// Gradients that the same devices add at once.
struct GradientBucket {
  std::uint32_t op = 0;  // the first
  std::vector<std::uint32_t> devices;
  std::vector<std::vector<std::uint32_t>> nodes;  // that compute them, by position in `devices`
  double count = 0;                               // elements
  double bytes = 0;
};

// Collects gradients of the same devices until they have 25 MB, as PyTorch does (Li et al., PyTorch
// Distributed: Experiences on Accelerating Data Parallel Training, VLDB 2020), so that small ones do not
// wait for the latencies of an all-reduce each.
class GradientBuckets {
 public:
  // `nodes` has one for each device. Returns a bucket that is full now.
  std::optional<GradientBucket> add(std::uint32_t op, std::vector<std::uint32_t> devices, const std::vector<std::uint32_t>& nodes,
                                    double count, double bytes);
  // Those that are not full.
  std::vector<GradientBucket> rest() { return std::exchange(open_, {}); }

 private:
  std::vector<GradientBucket> open_;
};

}  // namespace xflow::parallel
