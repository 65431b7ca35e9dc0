#include "src/parallel/step_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace xflow::parallel {
namespace {

struct MemoryEvent {
  double time = 0;
  double bytes = 0;  // negative where memory is released
  // What ends at a time is released before something else starts.
  friend bool operator<(const MemoryEvent& a, const MemoryEvent& b) { return a.time < b.time || (a.time == b.time && a.bytes < b.bytes); }
};

// Events of each device.
using MemoryEvents = std::vector<std::vector<MemoryEvent>>;

void hold(std::vector<MemoryEvent>& events, double from, double to, double bytes) {
  // A tensor that lives for no time has no order of its two events.
  if (to <= from || bytes == 0) return;
  events.push_back({from, bytes});
  events.push_back({to, -bytes});
}

MemoryEvents memory_events(const Workload& workload, const StepSimulator& simulator, std::uint32_t devices) {
  std::vector<const TaskRun*> of_node(workload.nodes.size());
  // Of each tensor.
  std::vector<double> sent(workload.tensors.size());
  std::vector<std::vector<const TaskRun*>> received(workload.tensors.size());
  for (const TaskRun& run : simulator.runs()) {
    if (!run.is_transfer) {
      of_node[run.item] = &run;
      continue;
    }
    sent[run.item] = std::max(sent[run.item], run.end);
    received[run.item].push_back(&run);
  }
  MemoryEvents events(devices);
  for (std::size_t k = 0; k < workload.tensors.size(); ++k) {
    const WorkloadTensor& tensor = workload.tensors[k];
    const auto last_read = [&](std::uint32_t device, double last) {
      for (const std::uint32_t reader : tensor.readers) {
        if (of_node[reader]->device == device) last = std::max(last, of_node[reader]->end);
      }
      return last;
    };
    const TaskRun& source = *of_node[tensor.source];
    const double last = tensor.readers.empty() ? simulator.step() : last_read(source.device, std::max(source.end, sent[k]));
    hold(events[source.device], source.start, last, tensor.bytes);
    for (const TaskRun* run : received[k]) hold(events[run->device], run->start, last_read(run->device, run->end), tensor.bytes);
  }
  return events;
}

double most_bytes(std::vector<MemoryEvent>& events) {
  std::sort(events.begin(), events.end());
  double now = 0;
  double most = 0;
  for (const MemoryEvent& event : events) {
    now += event.bytes;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

StepUse use_of(const Workload& workload, const DeviceCluster& cluster, const StepSimulator& simulator) {
  StepUse use;
  use.step = simulator.step();
  use.devices.resize(cluster.size());
  use.ports.assign(cluster.hosts, 0);
  for (std::size_t node = 0; node < workload.nodes.size(); ++node)
    use.devices[simulator.devices()[node]].resident += workload.nodes[node].bytes;
  std::map<std::pair<std::uint32_t, std::uint32_t>, LinkUse> links;
  for (const TaskRun& run : simulator.runs()) {
    const double busy = run.end - run.start;
    if (!run.is_transfer) {
      use.devices[run.device].busy += busy;
      continue;
    }
    const WorkloadTensor& tensor = workload.tensors[run.item];
    const std::uint32_t from = simulator.devices()[tensor.source];
    LinkUse& link = links.try_emplace({from, run.device}, LinkUse{from, run.device, 0, 0, 0}).first->second;
    ++link.transfers;
    link.bytes += tensor.bytes;
    link.busy += busy;
    if (!cluster.same_host(from, run.device)) use.ports[cluster.devices[from].host] += busy;
  }
  for (const auto& [ends, link] : links) use.links.push_back(link);
  MemoryEvents events = memory_events(workload, simulator, cluster.size());
  for (std::uint32_t device = 0; device < cluster.size(); ++device)
    use.devices[device].peak = use.devices[device].resident + most_bytes(events[device]);
  return use;
}

Result<void> check_memory(const StepUse& use, const DeviceCluster& cluster) {
  for (std::uint32_t k = 0; k < cluster.size(); ++k) {
    const ClusterDevice& device = cluster.devices[k];
    const double needed = use.devices[k].peak;
    if (needed <= device.memory) continue;
    return fail(ErrorCode::unsupported,
                fmt::format("device '{}' lacks {:.0f} bytes: it has {:.0f} and needs {:.0f}, {:.0f} of them for its nodes", device.name,
                            std::ceil(needed - device.memory), device.memory, needed, use.devices[k].resident));
  }
  return {};
}

}  // namespace xflow::parallel
