#include "src/execution/simulated_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/step_simulator.h"
#include "src/parallel/workload.h"
#include "src/support/printable.h"

namespace xflow::execution {

namespace {

// What a part does beside computing: it copies a tensor that it sends, or one that it needs.
struct Copy {
  double time = 0;  // seconds that the part has computed before
  bool is_received = false;
  std::size_t tensor = 0;

  // Of the same time, what was computed is sent first.
  friend auto operator<=>(const Copy&, const Copy&) = default;
};

// The tasks of devices in their order.
class DeviceTasks {
 public:
  explicit DeviceTasks(std::uint32_t devices) : devices_(devices) {}

  std::uint32_t add(std::uint32_t device, double seconds) {
    const auto node = static_cast<std::uint32_t>(workload_.nodes.size());
    // A tensor of one device takes no time, but orders its tasks.
    if (const auto before = last_.find(device); before != last_.end()) add_tensor(before->second, 0, node);
    last_[device] = node;
    workload_.nodes.push_back({std::vector<double>(devices_, seconds), 0});
    placed_.push_back(device);
    return node;
  }
  void add_tensor(std::uint32_t source, double bytes, std::uint32_t reader) { workload_.tensors.push_back({source, bytes, {reader}}); }

  Result<double> step(const parallel::DeviceCluster& cluster) {
    std::ranges::stable_sort(workload_.tensors, {}, &parallel::WorkloadTensor::source);
    XFLOW_CHECK(parallel::check_workload(workload_, devices_));
    return parallel::StepSimulator(workload_, cluster, placed_).step();
  }

 private:
  std::uint32_t devices_;
  parallel::Workload workload_;
  std::vector<std::uint32_t> placed_;
  std::map<std::uint32_t, std::uint32_t> last_;  // task of a device
};

}  // namespace

Result<Seconds> simulated_step(const std::string& cluster, const PartManifest& manifest, std::span<const RunPart> parts,
                               const SentTensors& sent) {
  XFLOW_TRY(parallel::DeviceCluster devices, parallel::open_cluster(cluster));
  std::vector<std::uint32_t> positions;
  for (const std::string& name : manifest.devices) {
    const auto found = std::ranges::find(devices.devices, name, &parallel::ClusterDevice::name);
    if (found == devices.devices.end())
      return fail(ErrorCode::unreadable, fmt::format("the cluster has no device '{}'", onnx_io::printable(name)), cluster);
    positions.push_back(static_cast<std::uint32_t>(found - devices.devices.begin()));
  }
  const parallel::LinkRates inside = devices.inside;
  const bool copy_themselves =
      std::ranges::all_of(positions, [&](std::uint32_t device) { return devices.devices[device].source == parallel::TimeSource::cpu; });
  if (copy_themselves) devices.inside = {0, std::numeric_limits<double>::max()};
  std::vector<std::vector<Copy>> copies(parts.size());
  for (std::size_t k = 0; k < sent.tensors.size(); ++k) {
    copies[sent.tensors[k].source].push_back({sent.complete[k], false, k});
    copies[sent.tensors[k].reader].push_back({sent.needed[k], true, k});
  }
  DeviceTasks tasks(devices.size());
  std::vector<std::uint32_t> leaves(sent.tensors.size());
  std::vector<std::uint32_t> arrives(sent.tensors.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::uint32_t device = positions[parts[part].device];
    std::ranges::sort(copies[part]);
    double computed = 0;
    for (const Copy& copy : copies[part]) {
      if (copy.time > computed) tasks.add(device, copy.time - computed);
      computed = copy.time;
      const SentTensor& tensor = sent.tensors[copy.tensor];
      const bool is_copied = copy_themselves && devices.same_host(positions[tensor.from], positions[tensor.to]);
      const double seconds = is_copied ? inside.seconds(std::max(sent.bytes[copy.tensor], 0.0)) / 2 : 0;
      (copy.is_received ? arrives : leaves)[copy.tensor] = tasks.add(device, seconds);
    }
    if (parts[part].predicted.count() > computed) tasks.add(device, parts[part].predicted.count() - computed);
  }
  for (std::size_t k = 0; k < sent.tensors.size(); ++k) tasks.add_tensor(leaves[k], std::max(sent.bytes[k], 0.0), arrives[k]);
  XFLOW_TRY(const double step, tasks.step(devices));
  return Seconds(step);
}

}  // namespace xflow::execution
