#include "src/execution/simulated_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "src/parallel/cluster.h"
#include "src/parallel/step_simulator.h"
#include "src/parallel/workload.h"
#include "src/support/printable.h"

namespace xflow::execution {

namespace {

// Nodes of a workload, which are what a part computes between two of its times. The first node and the last
// one take no time.
class Spans {
 public:
  Spans(std::vector<double> times, std::uint32_t first) : times_(std::move(times)), first_(first) {
    std::ranges::sort(times_);
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(times_.size()) + 1; }
  double seconds(std::uint32_t span) const { return span == 0 || span == times_.size() ? 0 : times_[span] - times_[span - 1]; }
  // The node that ends at a time, and the one that begins there. They are one at the beginning.
  std::uint32_t ending(double time) const { return first_ + position(time); }
  std::uint32_t beginning(double time) const { return time == times_[0] ? first_ : first_ + position(time) + 1; }

 private:
  std::uint32_t position(double time) const { return static_cast<std::uint32_t>(std::ranges::lower_bound(times_, time) - times_.begin()); }

  std::vector<double> times_;  // 0, increasing, the part's
  std::uint32_t first_;
};

}  // namespace

Result<Seconds> simulated_step(const std::string& cluster, const PartManifest& manifest, std::span<const RunPart> parts,
                               const SentTensors& sent) {
  XFLOW_TRY(const parallel::DeviceCluster devices, parallel::open_cluster(cluster));
  std::vector<std::uint32_t> positions;
  for (const std::string& name : manifest.devices) {
    const auto found = std::ranges::find(devices.devices, name, &parallel::ClusterDevice::name);
    if (found == devices.devices.end())
      return fail(ErrorCode::unreadable, fmt::format("the cluster has no device '{}'", onnx_io::printable(name)), cluster);
    positions.push_back(static_cast<std::uint32_t>(found - devices.devices.begin()));
  }
  std::vector<std::vector<double>> times(parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) times[k] = {0, parts[k].predicted.count()};
  for (std::size_t k = 0; k < sent.tensors.size(); ++k) {
    times[sent.tensors[k].source].push_back(sent.complete[k]);
    times[sent.tensors[k].reader].push_back(sent.needed[k]);
  }
  parallel::Workload workload;
  std::vector<std::uint32_t> placed;
  std::vector<Spans> spans;
  // Tensors of one device take no time, but order what it computes.
  std::map<std::uint32_t, std::uint32_t> last;  // node of a device
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Spans& own = spans.emplace_back(std::move(times[k]), static_cast<std::uint32_t>(workload.nodes.size()));
    const std::uint32_t device = positions[parts[k].device];
    for (std::uint32_t span = 0; span < own.size(); ++span) {
      const auto node = static_cast<std::uint32_t>(workload.nodes.size());
      if (const auto before = last.find(device); before != last.end()) workload.tensors.push_back({before->second, 0, {node}});
      last[device] = node;
      workload.nodes.push_back({std::vector<double>(devices.size(), own.seconds(span)), 0});
      placed.push_back(device);
    }
  }
  std::map<std::pair<std::size_t, std::string_view>, parallel::WorkloadTensor> tensors;
  for (std::size_t k = 0; k < sent.tensors.size(); ++k) {
    const SentTensor& one = sent.tensors[k];
    parallel::WorkloadTensor& tensor = tensors[{one.source, one.name}];
    tensor.source = spans[one.source].ending(sent.complete[k]);
    tensor.bytes = std::max(sent.bytes[k], 0.0);
    tensor.readers.push_back(spans[one.reader].beginning(sent.needed[k]));
  }
  for (auto& [key, tensor] : tensors) {
    std::ranges::sort(tensor.readers);
    workload.tensors.push_back(std::move(tensor));
  }
  std::ranges::stable_sort(workload.tensors, {}, &parallel::WorkloadTensor::source);
  XFLOW_CHECK(parallel::check_workload(workload, devices.size()));
  return Seconds(parallel::StepSimulator(workload, devices, std::move(placed)).step());
}

}  // namespace xflow::execution
