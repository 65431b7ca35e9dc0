#include "src/parallel/split_bound.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace xflow::parallel {
namespace {

// The least time of an operator on one device, and the part of it that a split does not divide.
struct LeastTime {
  double seconds = 0;
  double launches = 0;
};

LeastTime least_time(SplitModel& model, const DeviceCluster& cluster, StepKind kind, std::uint32_t number) {
  const SplitOperator& op = model.operators()[number];
  if (op.outputs.empty()) return {};
  const PartWork* work = model.part(number, model.values()[op.outputs[0]].whole, std::nullopt);
  LeastTime least{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (std::uint32_t device = 0; device < cluster.size(); ++device) {
    const std::uint32_t source = model.source_of(device);
    const bool is_training = kind == StepKind::training;
    // A gradient has at least the launches of its operator.
    const double launches = cluster.devices[device].rates.launch * work->kernels * (is_training ? 2 : 1);
    least.seconds = std::min(least.seconds, work->seconds[source] + (is_training ? work->backward[source] : 0));
    least.launches = std::min(least.launches, launches);
  }
  return least;
}

}  // namespace

std::optional<StepBound> step_bound(SplitModel& model, const DeviceCluster& cluster, StepKind kind) {
  const bool has_rooflines =
      std::ranges::all_of(cluster.devices, [](const ClusterDevice& device) { return device.source == TimeSource::roofline; });
  if (!has_rooflines) return std::nullopt;
  double work = 0;
  double longest = 0;
  std::vector<double> path(model.operators().size(), 0);  // to the end of each operator
  for (std::uint32_t number = 0; number < path.size(); ++number) {
    const LeastTime own = least_time(model, cluster, kind, number);
    work += own.seconds / cluster.size();
    for (const std::uint32_t read : model.operators()[number].reads)
      if (const std::uint32_t maker = model.values()[read].maker; maker != kNoOperator) path[number] = std::max(path[number], path[maker]);
    // A path of one micro-batch may have hardly more than launches.
    path[number] += own.launches;
    if (kind == StepKind::inference) path[number] += (own.seconds - own.launches) / cluster.size();
    longest = std::max(longest, path[number]);
  }
  return StepBound{std::max(work, longest), longest > work};
}

}  // namespace xflow::parallel
