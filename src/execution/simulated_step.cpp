#include "src/execution/simulated_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/parallel/cluster.h"
#include "src/parallel/step_simulator.h"
#include "src/parallel/workload.h"
#include "src/support/printable.h"

namespace xflow::execution {

Result<Seconds> simulated_step(const std::string& cluster, const PartManifest& manifest, std::span<const RunPart> parts,
                               std::span<const SentTensor> sent, std::span<const double> bytes) {
  XFLOW_TRY(const parallel::DeviceCluster devices, parallel::open_cluster(cluster));
  std::vector<std::uint32_t> positions;
  for (const std::string& name : manifest.devices) {
    const auto found = std::ranges::find(devices.devices, name, &parallel::ClusterDevice::name);
    if (found == devices.devices.end())
      return fail(ErrorCode::unreadable, fmt::format("the cluster has no device '{}'", onnx_io::printable(name)), cluster);
    positions.push_back(static_cast<std::uint32_t>(found - devices.devices.begin()));
  }
  parallel::Workload workload;
  std::vector<std::uint32_t> placed;
  for (const RunPart& part : parts) {
    workload.nodes.push_back({std::vector<double>(devices.size(), part.predicted.count()), 0});
    placed.push_back(positions[part.device]);
  }
  // Tensors of one device take no time, but order its parts.
  std::map<std::pair<std::size_t, std::string>, parallel::WorkloadTensor> tensors;
  for (std::size_t reader = 0; reader < manifest.parts.size(); ++reader) {
    for (const PartTensor& tensor : manifest.parts[reader].inputs) {
      if (!tensor.part) continue;
      auto& readers =
          tensors.try_emplace({*tensor.part, tensor.name}, parallel::WorkloadTensor{static_cast<std::uint32_t>(*tensor.part), 0, {}})
              .first->second.readers;
      if (readers.empty() || readers.back() != reader) readers.push_back(static_cast<std::uint32_t>(reader));
    }
  }
  for (std::size_t k = 0; k < sent.size(); ++k) tensors.at({sent[k].source, sent[k].name}).bytes = std::max(bytes[k], 0.0);
  for (auto& [key, tensor] : tensors) workload.tensors.push_back(std::move(tensor));
  XFLOW_CHECK(parallel::check_workload(workload, devices.size()));
  return Seconds(parallel::StepSimulator(workload, devices, std::move(placed)).step());
}

}  // namespace xflow::execution
