#include "src/parallel/ordered_starts.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "src/parallel/fused_workload.h"
#include "src/parallel/interval_program.h"
#include "src/parallel/ordering.h"

namespace xflow::parallel {
namespace {

// Means over pairs of devices.
class MeanTransfer {
 public:
  explicit MeanTransfer(const DeviceCluster& cluster) {
    double pairs = 0;
    for (std::uint32_t from = 0; from < cluster.size(); ++from)
      for (std::uint32_t to = 0; to < cluster.size(); ++to) {
        if (from == to) continue;
        const LinkRates& link = cluster.link(from, to);
        latency_ += link.latency;
        seconds_of_byte_ += 1 / link.bandwidth;
        ++pairs;
      }
    if (pairs == 0) return;
    latency_ /= pairs;
    seconds_of_byte_ /= pairs;
  }
  double seconds(double bytes) const { return latency_ + bytes * seconds_of_byte_; }

 private:
  double latency_ = 0;
  double seconds_of_byte_ = 0;
};

double mean_seconds(const WorkloadNode& node) {
  return std::accumulate(node.seconds.begin(), node.seconds.end(), 0.0) / static_cast<double>(node.seconds.size());
}

// The plan of the nodes, from the devices of tasks.
OrderedPlan plan_of_tasks(const FusedWorkload& tasks, const DeviceCluster& cluster, const std::vector<std::uint32_t>& devices,
                          const std::vector<bool>& fused) {
  const std::vector<double> ranks = upward_ranks(tasks.workload, cluster);
  OrderedPlan plan{{}, {}, fused};
  for (const std::uint32_t task : tasks.task_of) {
    plan.devices.push_back(devices[task]);
    plan.priorities.push_back(static_cast<float>(ranks[task]));
  }
  return plan;
}

class HeftScheduler {
 public:
  HeftScheduler(const Workload& workload, const DeviceCluster& cluster)
      : workload_(workload),
        cluster_(cluster),
        devices_(workload.nodes.size(), 0),
        reads_(workload.nodes.size()),
        end_(workload.nodes.size(), 0),
        arrival_(workload.tensors.size() * cluster.size(), -1),
        free_(cluster.resources(), 0),
        held_(cluster.size(), 0) {
    for (std::uint32_t tensor = 0; tensor < workload.tensors.size(); ++tensor)
      for (const std::uint32_t reader : workload.tensors[tensor].readers) reads_[reader].push_back(tensor);
  }

  std::vector<std::uint32_t> run() {
    const std::vector<double> ranks = upward_ranks(workload_, cluster_);
    std::vector<std::uint32_t> order(ranks.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return ranks[a] > ranks[b]; });
    for (const std::uint32_t node : order) {
      std::uint32_t best = 0;
      for (std::uint32_t device = 1; device < cluster_.size(); ++device)
        if (is_better(node, device, best)) best = device;
      put(node, best);
    }
    return devices_;
  }

 private:
  bool fits(std::uint32_t node, std::uint32_t device) const {
    return held_[device] + workload_.nodes[node].bytes <= cluster_.devices[device].memory;
  }
  bool is_better(std::uint32_t node, std::uint32_t device, std::uint32_t other) const {
    if (fits(node, device) != fits(node, other)) return fits(node, device);
    return end(node, device) < end(node, other);
  }
  double end(std::uint32_t node, std::uint32_t device) const {
    double start = free_[device];
    for (const std::uint32_t tensor : reads_[node]) start = std::max(start, arrival(tensor, device));
    return start + workload_.nodes[node].seconds[device];
  }
  // When a tensor is on a device, if it is sent to it next.
  double arrival(std::uint32_t tensor, std::uint32_t device) const {
    const std::uint32_t source = workload_.tensors[tensor].source;
    const std::uint32_t from = devices_[source];
    if (from == device) return end_[source];
    const double sent = arrival_[std::size_t{tensor} * cluster_.size() + device];
    if (sent >= 0) return sent;
    return std::max(end_[source], free_[cluster_.link_resource(from, device)]) +
           cluster_.link(from, device).seconds(workload_.tensors[tensor].bytes);
  }
  void put(std::uint32_t node, std::uint32_t device) {
    double start = free_[device];
    for (const std::uint32_t tensor : reads_[node]) {
      const double time = arrival(tensor, device);
      start = std::max(start, time);
      const std::uint32_t from = devices_[workload_.tensors[tensor].source];
      double& sent = arrival_[std::size_t{tensor} * cluster_.size() + device];
      if (from == device || sent >= 0) continue;
      sent = time;
      free_[cluster_.link_resource(from, device)] = time;
    }
    devices_[node] = device;
    end_[node] = start + workload_.nodes[node].seconds[device];
    free_[device] = end_[node];
    held_[device] += workload_.nodes[node].bytes;
  }

  const Workload& workload_;
  const DeviceCluster& cluster_;
  std::vector<std::uint32_t> devices_;             // of nodes
  std::vector<std::vector<std::uint32_t>> reads_;  // tensors that a node reads
  std::vector<double> end_;                        // of nodes
  std::vector<double> arrival_;                    // of each tensor on each device, or -1
  std::vector<double> free_;                       // by resource
  std::vector<double> held_;                       // bytes, by device
};

std::vector<std::uint32_t> depth_first_order(const Workload& workload, RandomNumbers& random) {
  std::vector<PlacementEdge> edges;
  for (const WorkloadTensor& tensor : workload.tensors)
    for (const std::uint32_t reader : tensor.readers) edges.push_back({tensor.source, reader});
  return random_order(Adjacency(static_cast<std::uint32_t>(workload.nodes.size()), edges, false), random);
}

// Matches clusters of nodes until none has a neighbour, and concatenates what is matched.
class ClusteredOrder {
 public:
  ClusteredOrder(const Workload& workload, RandomNumbers& random) : random_(random), members_(workload.nodes.size()) {
    for (std::uint32_t node = 0; node < members_.size(); ++node) members_[node] = {node};
    for (const WorkloadTensor& tensor : workload.tensors)
      for (const std::uint32_t reader : tensor.readers) links_.push_back({tensor.source, reader, tensor.bytes + 1});
  }

  std::vector<std::uint32_t> make() {
    while (!links_.empty()) match();
    std::vector<std::uint32_t> order;
    for (const std::vector<std::uint32_t>& part : members_) order.insert(order.end(), part.begin(), part.end());
    return order;
  }

 private:
  struct ClusterLink {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    double weight = 0;
  };

  // Heavy links between small clusters first, so that clusters grow evenly.
  double affinity(const ClusterLink& link) const {
    return link.weight / (static_cast<double>(members_[link.from].size()) * static_cast<double>(members_[link.to].size()));
  }

  void match() {
    random_.shuffle(std::span(links_));
    std::vector<std::pair<double, std::uint32_t>> order;
    order.reserve(links_.size());
    for (std::uint32_t k = 0; k < links_.size(); ++k) order.push_back({-affinity(links_[k]), k});
    std::ranges::sort(order);
    constexpr std::uint32_t kNone = UINT32_MAX;
    std::vector<std::uint32_t> part(members_.size(), kNone);
    std::vector<std::vector<std::uint32_t>> merged;
    for (const auto& entry : order) {
      const ClusterLink& link = links_[entry.second];
      if (part[link.from] != kNone || part[link.to] != kNone) continue;
      part[link.from] = part[link.to] = static_cast<std::uint32_t>(merged.size());
      merged.push_back(std::move(members_[link.from]));
      merged.back().insert(merged.back().end(), members_[link.to].begin(), members_[link.to].end());
    }
    for (std::uint32_t k = 0; k < members_.size(); ++k) {
      if (part[k] != kNone) continue;
      part[k] = static_cast<std::uint32_t>(merged.size());
      merged.push_back(std::move(members_[k]));
    }
    members_ = std::move(merged);
    join_links(part);
  }

  // Links between the new clusters; parallel ones are added.
  void join_links(const std::vector<std::uint32_t>& part) {
    std::vector<ClusterLink> moved;
    for (const ClusterLink& link : links_) {
      const auto [from, to] = std::minmax(part[link.from], part[link.to]);
      if (from != to) moved.push_back({from, to, link.weight});
    }
    std::ranges::stable_sort(moved,
                             [](const ClusterLink& a, const ClusterLink& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); });
    links_.clear();
    for (const ClusterLink& link : moved) {
      if (!links_.empty() && links_.back().from == link.from && links_.back().to == link.to)
        links_.back().weight += link.weight;
      else
        links_.push_back(link);
    }
  }

  RandomNumbers& random_;
  std::vector<std::vector<std::uint32_t>> members_;  // nodes of each cluster
  std::vector<ClusterLink> links_;
};

constexpr std::uint32_t kMostBlocks = 3000;

// The problem of placing blocks of consecutive tasks of an order.
PlacementProblem problem_of_blocks(const Workload& workload, const DeviceCluster& cluster, const std::vector<std::uint32_t>& block_of,
                                   std::uint32_t blocks) {
  PlacementProblem problem;
  problem.accelerators = cluster.size();
  problem.memory = kInfinity;
  for (const ClusterDevice& device : cluster.devices) problem.memory = std::min(problem.memory, device.memory);
  problem.groups.resize(blocks);
  problem.tensors_of.resize(blocks);
  for (std::size_t task = 0; task < block_of.size(); ++task) {
    problem.groups[block_of[task]].accelerator_time += mean_seconds(workload.nodes[task]);
    problem.groups[block_of[task]].bytes += workload.nodes[task].bytes;
  }
  const MeanTransfer transfer(cluster);
  for (const WorkloadTensor& tensor : workload.tensors) {
    GroupTensor own{{block_of[tensor.source]}, transfer.seconds(tensor.bytes)};
    for (const std::uint32_t reader : tensor.readers) own.groups.push_back(block_of[reader]);
    std::ranges::sort(own.groups);
    const auto repeated = std::unique(own.groups.begin(), own.groups.end());
    own.groups.erase(repeated, own.groups.end());
    if (own.groups.size() < 2) continue;
    for (const std::uint32_t block : own.groups) problem.tensors_of[block].push_back(static_cast<std::uint32_t>(problem.tensors.size()));
    problem.tensors.push_back(std::move(own));
  }
  return problem;
}

}  // namespace

std::vector<double> upward_ranks(const Workload& workload, const DeviceCluster& cluster) {
  const MeanTransfer transfer(cluster);
  std::vector<double> ranks(workload.nodes.size(), 0);
  auto tensor = workload.tensors.rbegin();
  for (auto node = static_cast<std::uint32_t>(ranks.size()); node-- > 0;) {
    for (; tensor != workload.tensors.rend() && tensor->source == node; ++tensor) {
      const double sent = transfer.seconds(tensor->bytes);
      for (const std::uint32_t reader : tensor->readers) ranks[node] = std::max(ranks[node], sent + ranks[reader]);
    }
    ranks[node] += mean_seconds(workload.nodes[node]);
  }
  return ranks;
}

OrderedPlan one_device_plan(const OrderedProblem& problem, const std::vector<bool>& fused, std::uint32_t device) {
  const FusedWorkload tasks = fused_workload(problem, fused);
  return plan_of_tasks(tasks, problem.cluster, std::vector(tasks.workload.nodes.size(), device), fused);
}

OrderedPlan heft_plan(const OrderedProblem& problem, const std::vector<bool>& fused) {
  const FusedWorkload tasks = fused_workload(problem, fused);
  return plan_of_tasks(tasks, problem.cluster, HeftScheduler(tasks.workload, problem.cluster).run(), fused);
}

OrderedPlan interval_plan(const OrderedProblem& problem, const std::vector<bool>& fused, IntervalOrder kind, RandomNumbers& random) {
  const FusedWorkload tasks = fused_workload(problem, fused);
  const std::size_t count = tasks.workload.nodes.size();
  const std::vector<std::uint32_t> order =
      kind == IntervalOrder::depth_first ? depth_first_order(tasks.workload, random) : ClusteredOrder(tasks.workload, random).make();
  const auto blocks = static_cast<std::uint32_t>(std::min<std::size_t>(count, kMostBlocks));
  std::vector<std::uint32_t> block_of(count);
  for (std::size_t k = 0; k < count; ++k) block_of[order[k]] = static_cast<std::uint32_t>(k * blocks / count);
  const PlacementProblem of_blocks = problem_of_blocks(tasks.workload, problem.cluster, block_of, blocks);
  std::vector<std::uint32_t> by_number(blocks);
  std::iota(by_number.begin(), by_number.end(), 0);
  // The program is short enough to end without limits.
  SearchBudget unlimited;
  std::vector<std::uint32_t> of_block(blocks, 0);
  if (auto best = best_intervals(of_blocks, by_number, kInfinity, unlimited))
    of_block = std::move(best->devices);
  else
    for (std::uint32_t block = 0; block < blocks; ++block) of_block[block] = block * problem.cluster.size() / blocks;
  std::vector<std::uint32_t> devices(count);
  for (std::size_t task = 0; task < count; ++task) devices[task] = of_block[block_of[task]];
  return plan_of_tasks(tasks, problem.cluster, devices, fused);
}

}  // namespace xflow::parallel
